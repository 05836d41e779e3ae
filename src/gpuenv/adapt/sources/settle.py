"""Which of the facts count: those of the file that is adapted, then of others as far as they agree with it.

The sources stand in the order in which they bind. A fact counts where nothing is said of its project so far,
or where it is a pin that lies within what is said. A source whose torch contradicts what counts is set aside
with all that belongs to its torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from gpuenv.adapt.model import DeclaredRequirement, ProjectSource, SourceFact
from gpuenv.adapt.nearest.agreement import contradict, pins_of
from gpuenv.adapt.nearest.request import public, python_of, requirement_of
from gpuenv.adapt.parsers.readme import FACTS
from gpuenv.adapt.sources.names import SourceRank
from gpuenv.adapt.sources.readers import ReadSource
from gpuenv.resolution.request import COMPANIONS, STACK

_WITH_TORCH = (*COMPANIONS, "cuda", "index")  # what a source says with its torch in mind


class CountingFacts(Struct, frozen=True):
    """The facts that count beside the adapted file, what each source says, and two that collide as equals."""

    counting: tuple[DeclaredRequirement, ...]
    sources: tuple[ProjectSource, ...]
    colliding: tuple[ReadSource, ...] = ()


def settle(own: Iterable[DeclaredRequirement], others: Sequence[ReadSource]) -> CountingFacts:
    """Return what counts of other sources, which stand in their order, beside the adapted file's lines."""
    state = _State(tuple(own))
    taken = [_taken(state, source) for source in others]
    if not state.own and not state.names("torch"):  # commands of something else
        state.counting = [item for item in state.counting if item.project in FACTS]
    sources = (
        replace(item, facts=tuple(_judged(state, fact, item) for fact in item.facts)) for item in taken
    )
    return CountingFacts(tuple(state.counting), tuple(sources), tuple(state.colliding))


def _judged(state: _State, fact: SourceFact, source: ProjectSource) -> SourceFact:
    """Say whether a fact is another thing than what counts in the end."""
    if fact.used:
        return fact
    if fact.declared.project in ("cuda", "index"):
        torch = (other.declared for other in source.facts if other.declared.project == "torch")
        judged = [releases_of(item) for item in torch]
    else:
        judged = [releases_of(fact.declared)]
    project = "torch" if fact.declared.project in ("cuda", "index") else fact.declared.project
    said = state.said_of(project)
    return replace(fact, contradicts=any(item is not None and contradict(said, item) for item in judged))


def releases_of(declared: DeclaredRequirement) -> SpecifierSet | None:
    """Return the releases that a line asks for; None for what is no project, or was not understood."""
    if declared.project == "python":
        return python_of(declared)
    requirement = requirement_of(declared)
    return public(requirement.specifier) if requirement and requirement.url is None else None


class _State(Struct):
    own: tuple[DeclaredRequirement, ...]
    counting: list[DeclaredRequirement] = field(default_factory=list)
    colliding: list[ReadSource] = field(default_factory=list)
    by_torch: ReadSource | None = None  # the source whose torch counts, beside the adapted file
    ranks: dict[str, SourceRank] = field(default_factory=dict)

    def said_of(self, project: str) -> SpecifierSet:
        """What counts so far of a project."""
        wanted = SpecifierSet()
        for item in (*self.own, *self.counting):
            releases = releases_of(item) if item.project == project else None
            wanted = wanted & releases if releases is not None else wanted
        return wanted

    def count(self, facts: Sequence[DeclaredRequirement]) -> None:
        """Let facts count; a name without releases gives way to one with them."""
        named = {item.project for item in facts} - {"cuda", "index"}
        self.counting = [item for item in self.counting if item.project not in named]
        self.counting += {(item.project, item.start): item for item in facts}.values()

    def names(self, project: str) -> bool:
        """Whether anything that counts is about a project."""
        return any(item.project == project for item in (*self.own, *self.counting))

    def has(self, project: str) -> bool:
        """Whether anything but an open name counts of a project."""
        items = (item for item in (*self.own, *self.counting) if item.project == project)
        return any(item.project in ("cuda", "index") or releases_of(item) for item in items)


def _taken(state: _State, source: ReadSource) -> ProjectSource:
    torch = next((item for item in source.declared if item.project == "torch"), None)
    wanted = releases_of(torch) if torch else None
    contradicts = wanted is not None and contradict(state.said_of("torch"), wanted)
    if contradicts and state.by_torch is not None and source.rank == state.by_torch.rank:
        state.colliding += (state.by_torch, source)
    decides = torch is not None and not contradicts and _narrows(state, torch, source)
    facts = []
    for item in source.declared:
        if item.project == "torch":
            used = decides and item is torch
        elif item.project in ("cuda", "index"):
            used = decides
        elif item.project not in FACTS:  # what stands beside the torch that counts was installed with it
            is_whole = decides or (torch is None and not state.own and _is_at_the_root(source))
            used = is_whole and not state.names(item.project)
        elif item.project in _WITH_TORCH and contradicts:
            used = False
        else:
            used = _narrows(state, item, source)
        facts.append(SourceFact(item, used))
    state.count([fact.declared for fact in facts if fact.used])
    if decides and wanted:
        state.by_torch = source
    return ProjectSource(source.file.path, source.kind, decides, tuple(facts))


def _is_at_the_root(source: ReadSource) -> bool:
    """Whether it is the project's own README or INSTALL, whose commands are all that there is."""
    return source.kind == "install" and source.rank.depth == 0


def _narrows(state: _State, item: DeclaredRequirement, source: ReadSource) -> bool:
    """Whether a fact says more than what counts already, without contradicting it."""
    releases = releases_of(item)
    if releases is None:
        return False
    if not state.has(item.project):
        return bool(releases) or (item.project in STACK and not state.names(item.project))
    if source.kind == "prose" and item.project in STACK:  # a sentence does not narrow a file's range
        return False
    said = state.said_of(item.project)
    return bool(pins_of(releases)) and not pins_of(said) and not contradict(said, releases)
