"""What all files of a project say together: the adapted one, and of the others what counts beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, ProjectSource, SourceFact, SourceKind
from gpuenv.adapt.nearest.agreement import contradict
from gpuenv.adapt.parsers.collector import shown
from gpuenv.adapt.sources.choice import Choice, collision
from gpuenv.adapt.sources.names import known_name
from gpuenv.adapt.sources.readers import ReadSource
from gpuenv.adapt.sources.settle import releases_of, settle
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.resolution.request import STACK

_OF_TORCH = (*STACK, "cuda", "index")
_FACTS = (*_OF_TORCH, "python")
_MOST_TOLD = 6  # sources that are not followed


class Gathered(Struct, frozen=True):
    """Files beside the adapted one whose facts count, all that counts, all sources, what is told of them."""

    files: tuple[DependencyFile, ...]
    declared: tuple[DeclaredRequirement, ...]
    sources: tuple[ProjectSource, ...]
    warnings: tuple[str, ...]


def gather(
    chosen: Choice | None, others: Sequence[ReadSource], first: str | None, *, ask: bool = True
) -> Gathered:
    """Return what counts; `first` is the file that was named to count before all others.

    Raises UsageError where two sources that bind alike name different releases of torch, unless not to `ask`.
    """
    own = chosen.declared if chosen else ()
    is_first = {id(item): item.file.path == first for item in others}
    ordered = sorted(others, key=lambda item: (not is_first[id(item)], item.rank))
    named = ordered[0] if ordered and is_first[id(ordered[0])] else None
    kept = _beside(own, named) if named else own
    settled = settle(kept, ordered)
    if settled.colliding and ask:
        raise _ask(settled.colliding)
    counting = {id(item) for item in settled.counting}
    files = {
        item.file.path: item.file for item in ordered if any(id(fact) in counting for fact in item.declared)
    }
    warnings = (
        *_passed_over(settled.counting, others),
        *_set_aside([item for item in own if item not in kept], settled.sources, kept + settled.counting),
    )
    sources = (*(_followed(chosen, kept) if chosen else ()), *settled.sources)
    return Gathered(tuple(files.values()), kept + settled.counting, sources, warnings)


def _beside(own: tuple[DeclaredRequirement, ...], named: ReadSource) -> tuple[DeclaredRequirement, ...]:
    """Return the adapted file's lines without those that the named source contradicts."""
    wanted = {item.project: releases_of(item) for item in named.declared}
    projects = {
        item.project
        for item in own
        if (mine := releases_of(item)) is not None
        and (other := wanted.get(item.project)) is not None
        and contradict(mine, other)
    }
    if "torch" in projects:
        projects |= set(_OF_TORCH)
    return tuple(item for item in own if item.project not in projects)


def _ask(colliding: Sequence[ReadSource]) -> UsageError:
    said = (
        (source.file.path, next(item for item in source.declared if item.project == "torch"))
        for source in colliding
    )
    return collision(tuple(dict(said).items()))


def _followed(chosen: Choice, kept: tuple[DeclaredRequirement, ...]) -> Iterator[ProjectSource]:
    counting = {id(item) for item in kept}
    for file in chosen.files:
        facts = tuple(
            SourceFact(item, id(item) in counting)
            for item in chosen.declared
            if item.file == file.path and item.project in _FACTS and item.requirement is not None
        )
        yield ProjectSource(file.path, _kind_of(file), followed=True, facts=facts)


def _kind_of(file: DependencyFile) -> SourceKind:
    name = known_name(file.path.rpartition("/")[2])
    return name.kind if name else "environment"


def _passed_over(counting: Sequence[DeclaredRequirement], others: Sequence[ReadSource]) -> Iterator[str]:
    """Say what the readers of documents passed over where their words count."""
    used = {hint.file for hint in counting if hint.project == "torch"}
    for source in others:
        if source.kind in ("install", "script") and source.file.path in used:
            yield from source.warnings


def _set_aside(
    dropped: Sequence[DeclaredRequirement],
    sources: Sequence[ProjectSource],
    counting: Sequence[DeclaredRequirement],
) -> Iterator[str]:
    """Say which other releases of torch are named and do not count."""
    wanted = [releases for item in counting if item.project == "torch" and (releases := releases_of(item))]
    others = (
        fact.declared
        for source in sources
        for fact in source.facts
        if fact.declared.project == "torch" and not fact.used
        if (releases := releases_of(fact.declared)) and any(contradict(releases, own) for own in wanted)
    )
    for item in [*dropped, *list(others)[:_MOST_TOLD]]:
        place = f"{shown(item.file)}:{item.line}"
        yield tr("{place} has `{text}`, which is not followed", place=place, text=shown(item.text.strip()))
