"""Which wheels a refresh reads: one of each release, variant and platform that the matrices do not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import series, tr
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.serialise import python_order
from gpuenv.model.index import Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import CUDA_PLATFORMS, PLATFORM_TAGS, PLATFORMS, IndexKind, Platform, WheelFile

TORCH = "torch"
PROJECTS = (TORCH, "torchvision", "torchaudio")


class WheelTarget(Struct, frozen=True):
    """A wheel to read, and what the names of its siblings tell.

    The wheels of one release, variant and platform differ by Python alone, so one speaks for all. `variant`
    is None where neither its name nor its place tells: PyPI's.
    """

    project: str
    version: Version  # public
    platform: Platform
    index: IndexKind
    variant: Variant | None
    file: WheelFile
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    yanked: bool

    @property
    def label(self) -> str:
        """The target in words."""
        return f"{self.project} {self.version}{f'+{self.variant}' if self.variant else ''} {self.platform}"


def parse_only(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Parse what a refresh is restricted to: `torch>=2.12`; raise ValueError for other projects."""
    return tuple(_parse_only(text) for text in texts)


def _parse_only(text: str) -> Requirement:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        raise ValueError(
            tr("`{text}` is not a valid requirement (example: torch>=2.12)", text=text)
        ) from None
    if canonicalize_name(wanted.name) not in PROJECTS:
        raise ValueError(tr("`{name}` is not one of {projects}", name=wanted.name, projects=series(PROJECTS)))
    return wanted


def find_targets(
    listings: Iterable[Listing], only: Sequence[Requirement], known: Iterable[Row], *, reread: bool
) -> tuple[WheelTarget, ...]:
    """Return what is to be read of these listings, newest release first.

    `known` are the rows of torch.json and companions.json. With `reread`, what is known counts only where it
    was read from the very file that is listed.
    """
    wanted = [target for target in _targets(listings) if is_wanted(target, only)]
    sources = {_key_of_row(row): str(row["source"]) for row in known}
    # a release of PyPI's is known whatever its variant, which its files' names do not tell
    fresh = [target for target in wanted if _is_unread(target, sources, reread=reread)]
    return tuple(sorted(fresh, key=_newest_first, reverse=True))


def is_read_from(source: str, file: WheelFile) -> bool:
    """Whether a row's source names this file, with its digest where that is known."""
    return file.filename in source and (file.sha256 is None or file.sha256 in source)


def _is_unread(target: WheelTarget, sources: Mapping[tuple[str, ...], str], *, reread: bool) -> bool:
    source = sources.get(_key(target))
    return source is None or (reread and not is_read_from(source, target.file))


def _newest_first(target: WheelTarget) -> tuple[bool, Version, str, str]:
    return target.project == TORCH, target.version, target.platform, str(target.variant)


def is_wanted(target: WheelTarget, only: Sequence[Requirement]) -> bool:
    """Whether a target is among what a refresh is restricted to."""
    return not only or any(
        canonicalize_name(item.name) == target.project and item.specifier.contains(target.version)
        for item in only
    )


def _key(target: WheelTarget) -> tuple[str, ...]:
    if target.project != TORCH:
        return target.project, str(target.version)
    return TORCH, str(target.version), target.platform, target.index, _variant_in_key(target)


def _variant_in_key(target: WheelTarget) -> str:
    return "" if target.index == "pypi" else str(target.variant)


def _key_of_row(row: Row) -> tuple[str, ...]:
    if row.get("kind") == "release":
        return row["project"], row["version"]
    if "kind" in row:
        return ("pair", row["torch"], row["project"])
    variant = "" if row["index"] == "pypi" else row["variant"]
    return TORCH, row["torch"], row["platform"], row["index"], variant


def _targets(listings: Iterable[Listing]) -> Iterator[WheelTarget]:
    groups: dict[tuple[Any, ...], dict[str, WheelFile]] = {}
    for listing in listings:
        for file in listing.files:
            for key in _groups_of(file):
                groups.setdefault(key, {}).setdefault(file.filename, file)  # the first source speaks
    companions: dict[tuple[str, Version], WheelTarget] = {}
    for key, files in groups.items():
        target = target_of(key, tuple(files.values()))
        if target.project == TORCH:
            yield target
        else:
            _keep_best(companions, target)
    yield from companions.values()


def _groups_of(file: WheelFile) -> Iterator[tuple[Any, ...]]:
    foreign = file.variant is not None and not file.variant.is_cuda_or_cpu
    platform = platform_of(file)
    planned = platform in CUDA_PLATFORMS and not foreign
    if file.name in PROJECTS and platform and planned and not file.version.is_prerelease:
        index = "pypi" if file.variant is None else "pytorch"
        yield str(file.name), Version(file.version.public), platform, index, file.variant


def _keep_best(companions: dict[tuple[str, Version], WheelTarget], target: WheelTarget) -> None:
    """Keep the wheel that speaks for a companion's release: PyPI's for linux-64, if there is one."""
    key = target.project, target.version
    if key not in companions or _companion_rank(target) < _companion_rank(companions[key]):
        companions[key] = target


def _companion_rank(target: WheelTarget) -> tuple[bool, int, bool]:
    cpu = target.variant is not None and target.variant.is_cpu
    return target.index != "pypi", CUDA_PLATFORMS.index(target.platform), cpu


def target_of(key: tuple[Any, ...], files: tuple[WheelFile, ...]) -> WheelTarget:
    """Return the target of wheels that differ by Python alone; `key` is what they share."""
    kept = [file for file in files if not file.yanked] or list(files)
    pythons = {python for file in files for python in pythons_of(file)}
    tags = {file.filename.removesuffix(".whl").rpartition("-")[2] for file in files}
    project, version, platform, index, variant = key
    return WheelTarget(
        project,
        version,
        platform,
        index,
        variant,
        file=max(kept, key=_python_rank),
        pythons=tuple(sorted(pythons, key=_tag_order)),
        tags=tuple(sorted(tags)),
        yanked=all(file.yanked for file in files),
    )


def platform_of(file: WheelFile) -> Platform | None:
    """Tell which of gpuenv's platforms a wheel is for."""
    tags = [tag.platform for tag in file.tags]
    for platform in PLATFORMS:
        system, _, machine = PLATFORM_TAGS[platform].partition("_")
        if any(tag.endswith(machine) and system in tag and "musl" not in tag for tag in tags):
            return platform
    return None


def pythons_of(file: WheelFile) -> set[str]:
    """Tell a wheel's Pythons as the matrices do: `cp312`, `cp313t`, `py3`."""
    return {tag.interpreter + ("t" if tag.abi == f"{tag.interpreter}t" else "") for tag in file.tags}


def _python_rank(file: WheelFile) -> tuple[bool, tuple[int, int, bool], str]:
    """Prefer the newest Python, and no free-threaded one."""
    newest = max(map(_tag_order, pythons_of(file)))
    return not newest[2], newest, file.filename


def _tag_order(tag: str) -> tuple[int, int, bool]:
    try:
        return python_order(tag)
    except ValueError:
        return 0, 0, False
