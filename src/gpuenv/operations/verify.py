"""`gpuenv verify`: run real work in an environment, judge it, remember it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpuenv.environments.listing import find_environment, place_of
from gpuenv.environments.record import Record, read_record, write_record
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import VerificationFailed
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import PlanWarning
from gpuenv.operations.interrupted_change import place_meant
from gpuenv.operations.manage import foreign, refuse_interrupted
from gpuenv.operations.only_environment import only_environment
from gpuenv.operations.proof_age import proven
from gpuenv.verification.describe_verdict import describe_failure, describe_verdict
from gpuenv.verification.locate import LocatedPython, Lookup, locate
from gpuenv.verification.owner import refuse_other_owner
from gpuenv.verification.parse_report import read_outcome
from gpuenv.verification.report import ChildOutcome, Report, Stop, render_report
from gpuenv.verification.run import TIMEOUT_S, run_verification
from gpuenv.verification.verdict import Planned, VerificationVerdict, expect, judge, judge_architectures

Remember = Callable[[LocatedPython, dict[str, Any], bool], PlanWarning | None]
"""Keeps the data of a verification, and whether it held, with its environment; a warning where it can't."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What verify is asked to do: indices as torch counts (None: every GPU), the limit in seconds.

    `trust`: an environment of another user may be run.
    """

    devices: tuple[int, ...] | None = None
    compile: bool = False
    nccl: bool = False
    timeout_s: float = TIMEOUT_S
    trust: bool = False


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What verify found; `lines` are for people."""

    located: LocatedPython
    report: Report
    verdict: VerificationVerdict
    warnings: tuple[PlanWarning, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the environment is proven."""
        return self.verdict.ok

    @property
    def data(self) -> dict[str, Any]:
        """The data of `gpuenv verify --json`."""
        return render_report(self.report, self.located.label)

    @property
    def lines(self) -> tuple[str, ...]:
        """What a person is told, in lines."""
        return describe_verdict(self.report, self.verdict)

    @property
    def error(self) -> VerificationFailed | None:
        """The error to raise where the environment is not proven (exit 6); it carries the data."""
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
    """Prove ENV (a name, a directory, a Python; None: see `locate`) on every GPU, and judge the outcome.

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
    refuse_interrupted(environment.place if environment else place_of(name, environ))
    return environment.place.path if environment else foreign(name, environ)


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
    """Return what an environment's record says of its plan, None without a record.

    An environment with a CPU build that was made beside a GPU was asked for: nothing else plans that.
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
    """Tell whether the machine that was planned for had no GPU, None where the record does not say."""
    try:
        return parse_machine(record.machine).without_gpu if record.machine is not None else None
    except ValueError:
        return None
