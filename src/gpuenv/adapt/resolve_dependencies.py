"""Resolves the packages beside a torch stack that was chosen, changing as few of them as need be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.minimal_upgrades import Ask, Moves, Settlement, count_moves, settle_others
from gpuenv.installers.uv_compile import CompileInput, Resolved, compile_requirements
from gpuenv.installers.uv_compile_preferring import compile_preferring
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.index import IndexConfiguration
from gpuenv.planning.pages.project_pages import Pages

_FILTERED = re.compile(r"`([^`\s]+)` was filtered by `exclude-newer`")
_NO_WHEELS = re.compile(r"Wheels are required for `([^`\s=<>!~]+)")
_MOST_EXEMPT = 60  # packages that are let be newer than the day asked for


class Resolver(Struct):
    """Resolves beside a fixed stack; `tell` is called with the number of the run before each.

    `base` has the pins, the sources and the day; what the stack itself needs may be newer than that.
    `foreign` projects are named as conda names them. Raises Unreachable where an index cannot be read,
    InstallFailed where uv fails in another way.
    """

    base: CompileInput
    environ: Mapping[str, str]
    tell: Callable[[int], None] = lambda _: None
    runs: int = 0
    newer: set[str] = field(default_factory=set)
    _last: Resolved = field(default_factory=lambda: Resolved(()))

    def settle(
        self, wanted: tuple[Requirement, ...], configuration: IndexConfiguration, foreign: frozenset[str]
    ) -> Settlement | Unresolvable:
        """Return the settlement with the fewest changes, or why there is none."""
        self._exempt_the_stack(wanted)
        return settle_others(wanted, self._compile, Pages(configuration, self.environ).has_wheels, foreign)

    def count(
        self, wanted: tuple[Requirement, ...], configuration: IndexConfiguration, foreign: frozenset[str]
    ) -> Moves | None:
        """Return how many packages would have to change and how far; None where nothing helps."""
        self._exempt_the_stack(wanted)
        moves = count_moves(wanted, self._compile, Pages(configuration, self.environ).has_wheels, foreign)
        if moves is None:
            return None
        newer = _names(wanted) & self.newer  # what had to be of another day
        return replace(moves, count=moves.count + len(newer))

    def _exempt_the_stack(self, wanted: tuple[Requirement, ...]) -> None:
        """Let be newer what the stack needs: it was chosen for the GPU, not for the day."""
        if self.base.before is None:
            return
        alone = self._run(replace(self.base, before=None, requirements=()), ())
        if isinstance(alone, Resolved):
            self.newer |= {str(canonicalize_name(file.name)) for file in alone.files} - _names(wanted)
        self.newer |= {str(canonicalize_name(Requirement(pin).name)) for pin in self.base.pins}

    def _compile(self, ask: Ask) -> Resolved | Unresolvable:
        requirements = (*ask.requirements, *(self._floors(ask) if ask.lowest else ()))
        question = replace(
            self.base, requirements=requirements, wheels_only=ask.wheels_only, lowest=ask.lowest
        )
        outcome = self._run(question, ask.preferred)
        while isinstance(outcome, Unresolvable) and question.before:
            named = (*_FILTERED.findall(outcome.message), *_NO_WHEELS.findall(outcome.message))
            more = {str(canonicalize_name(name)) for name in named} - self.newer
            if not more or len(self.newer) > _MOST_EXEMPT + len(self.base.pins):
                break
            self.newer |= more  # a release that was asked for, or the first that this Python has
            outcome = self._run(question, ask.preferred)
        return outcome

    def _floors(self, ask: Ask) -> tuple[str, ...]:
        """Keep what only a workaround names (`setuptools<70`) from becoming its first release of all."""
        names = {canonicalize_name(Requirement(text).name) for text in self.base.constraints}
        names -= _names(tuple(map(Requirement, ask.requirements)))
        files = (file for file in self._last.files if canonicalize_name(file.name) in names)
        return tuple(f"{file.name}>={file.version}" for file in files)

    def _run(self, question: CompileInput, preferred: tuple[str, ...]) -> Resolved | Unresolvable:
        self.runs += 1
        self.tell(self.runs)
        question = replace(question, of_any_day=tuple(sorted(self.newer)) if question.before else ())
        if preferred:
            outcome = compile_preferring(question, preferred, self.environ)
        else:
            outcome = compile_requirements(question, self.environ)
        self._last = outcome if isinstance(outcome, Resolved) else self._last
        return outcome


def _names(requirements: tuple[Requirement, ...]) -> set[str]:
    return {str(canonicalize_name(requirement.name)) for requirement in requirements}
