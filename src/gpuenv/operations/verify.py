"""`gpuenv verify`: run real work in an environment, judge it, remember it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.environments.listing import Environment, find_environment, list_environments, place_of
from gpuenv.environments.record import Record, read_record, write_record
from gpuenv.environments.store import find_store
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError, VerificationFailed
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import PlanWarning
from gpuenv.operations.find import foreign, refuse_interrupted
from gpuenv.operations.interrupted_change import place_meant
from gpuenv.operations.proof_age import proven
from gpuenv.verification.describe_verdict import describe_failure, describe_verdict
from gpuenv.verification.judge_code import judge_architectures
from gpuenv.verification.locate import LocatedPython, Lookup, locate
from gpuenv.verification.owner import refuse_other_owner
from gpuenv.verification.parse_report import read_outcome
from gpuenv.verification.report import ChildOutcome, Report, Stop, render_report
from gpuenv.verification.run import TIMEOUT_S, run_verification
from gpuenv.verification.verdict import Planned, VerificationVerdict, expect, judge

Remember = Callable[[LocatedPython, dict[str, Any], bool], PlanWarning | None]
"""Keeps the data of a verification, and whether it held, with its environment; a warning where it can't."""


class VerifyOptions(Struct, frozen=True):
    """The options of verify: indices as torch counts (None: every GPU), the limit in seconds.

    `trust`: an environment of another user may be run.
    """

    devices: tuple[int, ...] | None = None
    compile: bool = False
    nccl: bool = False
    timeout_s: float = TIMEOUT_S
    trust: bool = False


class VerifyResult(Struct, frozen=True):
    """What verify found; `lines` are for people."""

    located: LocatedPython
    report: Report
    verdict: VerificationVerdict
    warnings: tuple[PlanWarning, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the environment works."""
        return self.verdict.ok

    @property
    def data(self) -> dict[str, Any]:
        """The data of `gpuenv verify --json`."""
        return render_report(self.report, self.located.label)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to print."""
        return describe_verdict(self.report, self.verdict)

    @property
    def error(self) -> VerificationFailed | None:
        """The error to raise where the environment does not work (exit 6); it carries the data."""
        return None if self.ok else describe_failure(self.verdict, self.located.label, self.data)


def record_verification(located: LocatedPython, data: dict[str, Any], ok: bool) -> PlanWarning | None:
    """Write a verification into gpuenv.json, where gpuenv made the environment."""
    record = read_record(located.root) if located.root else None
    if record is None or record.problem or located.root is None:
        return None
    try:
        write_record(located.root, proven(record, data, ok=ok))
    except OSError as error:
        text = tr(
            "the result could not be saved in `{path}`: {error}", path=located.root, error=reason_of(error)
        )
        return PlanWarning("not-recorded", text)
    return None


def verify(
    env: str | None,
    environ: Mapping[str, str],
    *,
    lookup: Lookup | None = None,
    machine: Machine | None = None,
    remember: Remember = record_verification,
    options: VerifyOptions | None = None,
) -> VerifyResult:
    """Verify ENV (a name, a directory, a Python; None: see `locate`) on every GPU.

    `lookup` finds an environment by name (None: among those gpuenv made). Raises UsageError where ENV does
    not exist, or is another user's. A failed verification is a result, not an exception.
    """
    located = locate(
        env,
        environ,
        lookup or (lambda name: find_by_name(name, environ)),
        choose=lambda: only_environment(environ, "verify"),
    )
    if env is None and located.root is not None:  # a name is refused where it is looked up
        environment = place_meant(str(located.root), environ)
        if environment is not None:
            refuse_interrupted(environment)
    verify_options = options or VerifyOptions()
    if env is not None and not verify_options.trust:  # what is active, or first on PATH, runs anyway
        refuse_other_owner(located)
    outcome = run_verification(
        str(located.python),
        environ=environ,
        timeout_s=verify_options.timeout_s,
        devices=verify_options.devices,
        compile=verify_options.compile,
        nccl=verify_options.nccl,
    )
    report = read_report(outcome)
    record = read_record(located.root) if located.root else None
    result = VerifyResult(located, report, judge(report, expect(planned_of(record), machine, report)))
    warning = remember(located, result.data, result.ok)
    return replace(result, warnings=(warning,)) if warning else result


def find_by_name(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the directory of an environment that gpuenv or a conda tool made."""
    environment = find_environment(name, environ)
    refuse_interrupted(environment.paths if environment else place_of(name, environ))
    return environment.paths.path if environment else foreign(name, environ)


def read_report(outcome: ChildOutcome) -> Report:
    """Read what the child proved, and whether its build has code for the GPUs; no report is a crash."""
    return judge_architectures(_read(outcome))


def _read(outcome: ChildOutcome) -> Report:
    try:
        return read_outcome(outcome)
    except ValueError as error:
        # torch, or what shadows a module of the standard library, wrote into the child's file
        stop = Stop("crashed", tr("its report cannot be read: {error}", error=reason_of(error)))
        return read_outcome(replace(outcome, document=None, stop=stop))


def planned_of(record: Record | None) -> Planned | None:
    """Return what an environment's record promises, None without a record.

    A CPU build on a machine with a GPU was requested: nothing else plans it.
    """
    if record is None:
        return None
    version = (record.package("torch") or {}).get("version")
    variant = record.planned("variant")
    without_gpu = _without_gpu(record)
    return Planned(
        torch=version if isinstance(version, str) else None,
        variant=variant,
        cpu_requested=_requested_cuda(record) == "cpu" or (variant == "cpu" and without_gpu is False),
        without_gpu=without_gpu is True,
    )


def _requested_cuda(record: Record) -> object:
    requested = record.plan.get("asked")
    return requested.get("cuda") if isinstance(requested, dict) else None


def _without_gpu(record: Record) -> bool | None:
    """Whether the machine that was planned for had no GPU, None where the record does not show it."""
    try:
        return parse_machine(record.machine).without_gpu if record.machine is not None else None
    except ValueError:
        return None


def verify_created(
    python: Path, machine: Machine, environ: Mapping[str, str], devices: tuple[int, ...]
) -> VerifyResult:
    """Verify an environment that gpuenv has just made, on these GPUs as nvidia-smi counts (none: on all)."""
    return verify(
        str(python),
        only_devices(environ, machine, devices),
        machine=machine,
        remember=lambda *_: None,
        options=VerifyOptions(trust=True),  # gpuenv made it, whoever it belongs to on a network disk
    )


def only_devices(environ: Mapping[str, str], machine: Machine, devices: tuple[int, ...]) -> dict[str, str]:
    """Return the variables with which CUDA sees these GPUs alone, in nvidia-smi's order; none: all."""
    gpus = tuple(gpu for gpu in machine.gpus if gpu.index in devices)
    variables = dict(environ)
    if gpus:
        variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(gpu.uuid or str(gpu.index) for gpu in gpus)
    return variables


_MOST_COMMANDS = 5


def only_environment(environ: Mapping[str, str], command: str) -> Path | None:
    """Return the environment that gpuenv made, None where it made none; raise UsageError for several.

    `command` is the one to name an environment to, such as `verify`.
    """
    try:
        made = list_environments(find_store(environ))
    except UsageError:  # nowhere to keep any
        return None
    if len(made) > 1:
        raise _several(made, command)
    return made[0].paths.path if made else None


def _several(made: tuple[Environment, ...], command: str) -> UsageError:
    commands = tuple(
        f"gpuenv {command} {shlex.quote(environment.paths.name)}" for environment in made[:_MOST_COMMANDS]
    )
    return UsageError(
        tr("no environment is active, and there are {count}: name one", count=len(made)),
        code="environment-not-named",
        because=tuple(Because(_described(environment), str(environment.paths.path)) for environment in made),
        fixes=tuple(Fix(tr("specify it"), command) for command in commands),
        data={
            "environments": [
                {"name": environment.paths.name, "path": str(environment.paths.path)} for environment in made
            ]
        },
    )


def _described(environment: Environment) -> str:
    torch = (environment.record.package("torch") or {}).get("version")
    parts = (environment.paths.name, f"torch {torch}" if torch else None, str(environment.paths.path))
    return " · ".join(part for part in parts if part)
