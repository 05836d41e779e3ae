"""Parse what machines answered: a machine, a verdict or a failure, whatever they sent."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.fleet.node_messages import translate_node_message
from gpuenv.formats.shell import one_line
from gpuenv.host.remote import completed_of, parse_told
from gpuenv.i18n.messages import tr
from gpuenv.model.json_fields import Fields, wrong
from gpuenv.model.locked import Locked
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import Plan
from gpuenv.operations.verify import read_report
from gpuenv.planning.detect import hardware_knowledge
from gpuenv.signatures.log_pages import readable_lines
from gpuenv.verification.report import ChildOutcome, Report
from gpuenv.verification.run import stop_of
from gpuenv.verification.verdict import Planned, VerificationVerdict, expect, judge

_SCHEMA_VERSION = 1
_LONGEST_LOG = 20_000  # letters


class NodeFailure(Struct, frozen=True):
    """Why a machine could not do what it was asked; `log` are the last lines of its installer."""

    code: str
    message: str
    because: tuple[str, ...]
    log: str


class NodeCreated(Struct, frozen=True):
    """The result of `create`: `state` is made, unchanged, replaced, would-make or would-replace."""

    state: str
    changed: bool
    environment: str


class NodeVerified(Struct, frozen=True):
    """What the tests on a machine proved, held against its plan."""

    report: Report
    verdict: VerificationVerdict
    environment: str


def parse_detected(answer: object) -> Machine | NodeFailure:
    """Parse the answer to `detect`, {"schema_version": 1, "ok": true, "told": {...}}; raise ValueError."""
    fields = _opened(answer)
    if isinstance(fields, NodeFailure):
        return fields
    return parse_told(fields.data.get("told"), hardware_knowledge)


def parse_created(answer: object) -> NodeCreated | NodeFailure:
    """Parse the answer to `create`; raise ValueError.

    {"schema_version": 1, "ok": true, "changed": true, "state": "made", "environment": "/home/me/.../paper"}
    """
    fields = _opened(answer)
    if isinstance(fields, NodeFailure):
        return fields
    changed = fields.optional_flag("changed")
    if changed is None:
        raise ValueError(wrong("changed", tr("true or false"), None))
    return NodeCreated(one_line(fields.text("state")), changed, one_line(fields.text("environment")))


def parse_verified(
    answer: object, made: Locked | Plan | None, machine: Machine | None
) -> NodeVerified | NodeFailure:
    """Parse the answer to `verify`, and hold it against the plan and the machine; raise ValueError.

    {"schema_version": 1, "ok": true, "environment": "/...", "report": {...}, "printed": ["..."],
     "ended": {"returncode": 0, "timed_out": false, "error": null, "limit_s": 300.0},
     "planned": {"torch": "2.14.1+cu126", "variant": "cu126", "machines": [{...}]}}

    `planned` is what gpuenv.json has on the machine, which counts where no plan is at hand.
    """
    fields = _opened(answer)
    if isinstance(fields, NodeFailure):
        return fields
    ended = fields.required_child("ended")
    stop = stop_of(completed_of(ended), ended.seconds("limit_s"))
    printed = fields.words("printed")
    report = read_report(ChildOutcome(stop, fields.data.get("report"), printed))
    planned = _planned(made, fields.child("planned"))
    expected = expect(planned, machine, report)
    if machine and machine.without_gpu:  # it goes with a group of machines that have one
        expected = replace(expected, gpu=False)
    verdict = judge(report, expected)
    return NodeVerified(report, verdict, one_line(fields.text("environment")))


def _planned(made: Locked | Plan | None, fields: Fields | None) -> Planned | None:
    plan = made.plan if isinstance(made, Locked) else made
    if plan is not None:
        cuda = plan.asked.cuda if plan.asked else None
        return _planned_for(plan.packages[0].version, plan.variant, cuda, plan.machines)
    if fields is None:
        return None
    machines: tuple[Machine, ...] = ()
    with suppress(ValueError):  # of another gpuenv's: then the record does not say
        machines = tuple(parse_machine(item.data) for item in fields.children("machines"))
    cuda = fields.optional_text("cuda")
    return _planned_for(fields.optional_text("torch"), fields.optional_text("variant"), cuda, machines)


def _planned_for(
    torch: str | None, variant: str | None, cuda: str | None, machines: tuple[Machine, ...]
) -> Planned:
    """Return what was planned: a CPU build beside a GPU was requested, nothing else plans that."""
    beside_gpu = any(not machine.without_gpu for machine in machines)
    requested = cuda == "cpu" or (variant == "cpu" and beside_gpu)
    return Planned(torch, variant, requested, bool(machines) and not beside_gpu)


def _opened(answer: object) -> Fields | NodeFailure:
    fields = Fields(_printable(answer))
    if fields.data.get("schema_version") != _SCHEMA_VERSION:
        raise ValueError(wrong("schema_version", str(_SCHEMA_VERSION), fields.data.get("schema_version")))
    ok = fields.optional_flag("ok")
    if ok is None:
        raise ValueError(wrong("ok", tr("true or false"), None))
    return fields if ok else _failure(fields)


def _failure(fields: Fields) -> NodeFailure:
    error = fields.required_child("error")
    log = "\n".join(readable_lines((fields.optional_text("log") or "")[-_LONGEST_LOG:]))
    return NodeFailure(
        code=one_line(error.text("code")),
        message=translate_node_message(one_line(error.text("message"))),
        because=tuple(map(one_line, error.words("because"))),
        log=log,
    )


def _printable(value: object) -> object:
    """Replace halves of surrogate pairs, which JSON can name and no encoder takes."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_printable(item) for item in value]
        case dict():
            return {_printable(name): _printable(item) for name, item in value.items()}
    return value
