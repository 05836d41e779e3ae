"""The user's other requirements, resolved with the torch stack fixed: the next torch where that fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement

from gpuenv.core.resolve import Choice
from gpuenv.managers.resolver import Resolved, ResolvedFile, Unresolvable
from gpuenv.values.errors import Because, Fix, Refused
from gpuenv.values.locked import LockedFile
from gpuenv.values.plan import Plan, PlannedPackage, Rejection
from gpuenv.values.text import tr

_MOST_TRIES = 25
_WORD = re.compile(r"[\w.-]+")
_STACK_NAMES = ("torch", "torchvision", "torchaudio", "torchtext", "torchdata")


@dataclass(frozen=True, slots=True)
class Failed:
    """A choice with which the other requirements can't be resolved."""

    choice: Choice
    outcome: Unresolvable


def resolve_jointly(
    choices: tuple[Choice, ...],
    plan_for: Callable[[Choice, tuple[PlannedPackage, ...]], Plan],
    compile_plan: Callable[[Plan], Resolved | Unresolvable],
) -> Plan:
    """Return the plan of the first choice with which everything can be resolved.

    Choices that fail for the same reason are passed over. Raises Refused when none is left, or none can help.
    """
    failures: list[Failed] = []
    for choice in _worth_trying(choices, failures):
        plan = plan_for(choice, ())
        outcome = compile_plan(plan)
        if isinstance(outcome, Resolved):
            return _with_failures(plan_for(choice, packages_of(outcome)), failures)
        failures.append(Failed(choice, outcome))
        if not _may_depend_on_torch(outcome):
            break
    raise _refuse(failures)


def _worth_trying(choices: tuple[Choice, ...], failures: list[Failed]) -> Iterator[Choice]:
    """Yield one choice a torch release and Python, as long as no demand that was learned rules it out."""
    seen = set()
    for choice in choices:
        key = (choice.case.torch, choice.python.short)
        if key in seen or any(not _meets(choice, failed) for failed in failures):
            continue
        if len(failures) >= _MOST_TRIES:
            return
        seen.add(key)
        yield choice


def _may_depend_on_torch(outcome: Unresolvable) -> bool:
    """Whether another torch or Python may help: uv's explanation names one of them.

    A requirement that no index has, or two that contradict each other, fail with every torch.
    """
    words = {word.lower() for word in _WORD.findall(outcome.message)}
    return not words.isdisjoint((*_STACK_NAMES, "python"))


def _meets(choice: Choice, failed: Failed) -> bool:
    """Whether the choice meets what other packages demand of torch, as far as a failure told it."""
    demands = (_parse(demand.needs) for demand in failed.outcome.demands_on(("torch",)))
    return all(demand is None or demand.specifier.contains(choice.case.torch) for demand in demands)


def _parse(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def packages_of(resolved: Resolved) -> tuple[PlannedPackage, ...]:
    """Return the files that the resolver chose, as the plan names them."""
    return tuple(planned_file(file) for file in resolved.files)


def planned_file(file: ResolvedFile | LockedFile) -> PlannedPackage:
    """Return a file beside the torch stack as the plan names it."""
    return PlannedPackage(
        name=file.name,
        version=file.version,
        variant=None,
        index=file.index,
        filename=file.filename,
        url=file.url,
        sha256=file.sha256,
        size=file.size,
        evidence="wheel",
    )


def _with_failures(plan: Plan, failures: list[Failed]) -> Plan:
    rejected = tuple(_rejection(failed) for failed in failures)
    return replace(plan, rejected=rejected + plan.rejected)


def _rejection(failed: Failed) -> Rejection:
    case = failed.choice.case
    return Rejection(
        "torch", str(case.torch), str(case.variant), "request", _reason(failed), "uv pip compile"
    )


def _reason(failed: Failed) -> str:
    demands = failed.outcome.demands_on(_STACK_NAMES) or failed.outcome.demands
    if demands:
        return "; ".join(
            tr("{package} needs {needs}", package=one.package, needs=one.needs) for one in demands
        )
    return failed.outcome.message


def _refuse(failures: list[Failed]) -> Refused:
    texts = dict.fromkeys(
        tr("with torch {torch}: {reason}", torch=failed.choice.case.torch, reason=_reason(failed))
        for failed in failures[:3]
    )
    return Refused(
        tr("no torch that runs here goes with the other requirements"),
        code="requirements-conflict",
        because=tuple(Because(text, "uv pip compile") for text in texts),
        fixes=(Fix(tr("loosen or leave out the requirement named above")),),
        data={"message": failures[0].outcome.message if failures else None},
    )
