"""Choose among the locks of a folder the one whose torch this machine is to have, by the plan's own rules."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import clauses, tr
from gpuenv.locks.judge_lock import JudgedLock, judge_lock
from gpuenv.locks.plan_from_lock import for_lock
from gpuenv.locks.read import read_lock
from gpuenv.model.errors import Because, Fix, GpuenvError, Unsatisfiable, UsageError
from gpuenv.planning.detect import detect
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.decision import in_order_of_preference

_ABOUT_A_LOCK = ("bad-lock", "lock-unfit")


class PassedOverLock(Struct, frozen=True):
    """A lock that was not chosen, and why."""

    path: Path
    why: str


class ChosenLock(Struct, frozen=True):
    """The lock of a folder that fits a machine best: its build of torch, and those passed over.

    `options` are those of the plan, with the lock and with the machine that was looked at.
    """

    path: Path
    build: str
    passed_over: tuple[PassedOverLock, ...]
    options: PlanOptions


def choose_lock(folder: Path, options: PlanOptions, environ: Mapping[str, str]) -> ChosenLock:
    """Return the lock that fits best: the newest torch, then the newest CUDA, as of any plan.

    Raises UsageError for a folder without locks, Unsatisfiable with the reason of each where none fits.
    """
    paths = locks_in(folder)
    if not (options.machines or options.here):
        options = replace(options, here=detect(environ))
    fitting: list[JudgedLock] = []
    refused: list[tuple[Path, GpuenvError]] = []
    for path in paths:
        outcome = _judged(path, options, environ)
        if isinstance(outcome, JudgedLock):
            fitting.append(outcome)
        else:
            refused.append((path, outcome))
    if not fitting:
        raise _none_fits(folder, refused)
    best, *behind = _in_order(fitting, offline=options.offline)
    chosen = _build_of(best)
    reason = tr("{build} comes before it", build=chosen)
    return ChosenLock(
        best.lock.path,
        chosen,
        (
            *(PassedOverLock(judged.lock.path, reason) for judged in behind),
            *(PassedOverLock(path, _reason(error)) for path, error in refused),
        ),
        for_lock(options, best.lock.path),
    )


def locks_in(folder: Path) -> tuple[Path, ...]:
    """Return the locks in a folder by their names, `pylock.toml` and `pylock.NAME.toml`."""
    from packaging.pylock import is_valid_pylock_path  # noqa: PLC0415 - only where there are locks

    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - the names
    except OSError as error:
        raise _no_locks(
            tr("`{path}` cannot be read: {reason}", path=folder, reason=reason_of(error))
        ) from None
    paths = tuple(path for name in names if is_valid_pylock_path(path := folder / name))
    if not paths:
        raise _no_locks(tr("`{path}` contains no lock (pylock.NAME.toml)", path=folder))
    return paths


def _no_locks(message: str) -> UsageError:
    command = "gpuenv plan --for cpu --for cu126 --format pylock.toml -o DIR"
    return UsageError(message, code="no-locks", fixes=(Fix(tr("write locks"), command),))


def _judged(path: Path, options: PlanOptions, environ: Mapping[str, str]) -> JudgedLock | GpuenvError:
    try:
        return judge_lock(read_lock(path), for_lock(options, path), environ)
    except (Unsatisfiable, UsageError) as error:
        if error.code not in _ABOUT_A_LOCK:  # of the machine or the options: of all locks
            raise
        return error


def _in_order(fitting: list[JudgedLock], *, offline: bool) -> list[JudgedLock]:
    """Return the locks in the order that their builds would have in one plan."""
    by_choice = {id(judged.decision.choices[0]): judged for judged in fitting}
    solutions = [judged.decision.choices[0] for judged in fitting]
    pythons = sorted({choice.python for choice in solutions}, key=lambda offer: offer.minor, reverse=True)
    ordered = in_order_of_preference(solutions, tuple(pythons), offline=offline)
    first = fitting[0].question
    if first.target.is_accelerated:
        from gpuenv.resolution.accelerators.preference import prefer  # noqa: PLC0415 - for such alone

        ordered = prefer(ordered, first.target, first.knowledge)
    best_first = [by_choice[id(choice)] for choice in ordered]
    return sorted(best_first, key=_is_stopgap)


def _is_stopgap(judged: JudgedLock) -> bool:
    """Whether it is a build for GPUs that would run on the CPU, where no build for the CPU is to be had."""
    question = judged.question
    unasked = question.request.variant is None and not question.target.gpus
    return unasked and judged.decision.choices[0].candidate.variant.cuda is not None


def _build_of(judged: JudgedLock) -> str:
    return judged.decision.choices[0].candidate.label


def _reason(error: GpuenvError) -> str:
    return clauses(because.text for because in error.because) or error.message


def _none_fits(folder: Path, refused: list[tuple[Path, GpuenvError]]) -> Unsatisfiable:
    fixes = (fix for _, error in refused for fix in error.fixes)
    return Unsatisfiable(
        tr("no lock in `{path}` fits this machine", path=folder),
        code="lock-unfit",
        because=tuple(Because(f"{path.name}: {_reason(error)}", str(path)) for path, error in refused),
        fixes=tuple(dict.fromkeys(fixes)),
    )
