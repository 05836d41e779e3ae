"""Which file of a folder is adapted: the one that binds most of those that can be changed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, SourceKind
from gpuenv.adapt.nearest.agreement import contradict, pins_of
from gpuenv.adapt.sources.names import rank_of
from gpuenv.adapt.sources.settle import releases_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

_LISTS = ("requirements", "environment")  # what is installed as it stands


class Choice(Struct, frozen=True):
    """Files that are adapted together, as paths in the folder, and what they and those they name say."""

    paths: tuple[str, ...]
    files: tuple[DependencyFile, ...]
    declared: tuple[DeclaredRequirement, ...]
    warnings: tuple[str, ...]

    @property
    def torch(self) -> tuple[DeclaredRequirement, ...]:
        """The lines that require torch."""
        lines = (item for item in self.declared if item.project == "torch" and not item.constraint)
        return tuple(item for item in lines if item.requirement is not None)

    @property
    def requires_something(self) -> bool:
        """Whether anything but a Python is required."""
        nothing = ("index", "python")
        return any(item.project not in nothing and item.requirement is not None for item in self.declared)

    @property
    def rank(self) -> tuple[object, ...]:
        """How likely it is the file to adapt; the least is the likeliest.

        A list that leaves torch to the README counts before one of a folder below that names it, and both
        before a project that requires something else.
        """
        is_list = any(file.kind in _LISTS for file in self.files[:1])
        kind: SourceKind = "environment" if is_list else "project"
        place = rank_of(self.paths[0], kind)
        if self.torch:
            tier = 0 if place.depth == 0 else 2
        else:
            tier = 1 if is_list and place.depth == 0 else 3 if place.depth == 0 else 4
        return (tier, place.aside, place.depth, place.kind, self._openness, place.other_name)

    @property
    def _openness(self) -> int:
        """0 where torch is pinned, 1 for a range, 2 for its name alone."""
        releases = [releases for item in self.torch if (releases := releases_of(item))]
        return 0 if any(map(pins_of, releases)) else 1 if releases else 2


def choose(choices: Sequence[Choice], *, ask: bool = True) -> Choice | None:
    """Return the one to adapt, of equals the first; None where none requires anything.

    Raises UsageError where an equal requires another torch.
    """
    ranked = sorted((item for item in choices if item.requires_something), key=lambda item: item.rank)
    if not ranked:
        return None
    best = ranked[0]
    others = [item for item in ranked[1:] if item.rank == best.rank and _collide(best, item)]
    if others and ask:
        raise collision(tuple((item.paths[0], item.torch[0]) for item in (best, *others)))
    return best


def _collide(first: Choice, second: Choice) -> bool:
    pairs = ((releases_of(one), releases_of(other)) for one in first.torch for other in second.torch)
    return any(one is not None and other is not None and contradict(one, other) for one, other in pairs)


def collision(said: Sequence[tuple[str, DeclaredRequirement]]) -> UsageError:
    """Return the question which of several equal files is to be followed."""
    because = (
        Because(
            tr("{place} requires `{text}`", place=f"{item.file}:{item.line}", text=item.text.strip()),
            item.file,
        )
        for _, item in said
    )
    fixes = (
        Fix(tr("follow {file} with `--source {file}`", file=path))
        for path in dict.fromkeys(path for path, _ in said)
    )
    return UsageError(
        tr("several files require different releases of torch, and none comes before the other"),
        code="several-sources",
        because=tuple(because),
        fixes=tuple(fixes),
    )
