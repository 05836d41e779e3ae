"""What is published, as an index like PyPI and one like PyTorch's would list it: made from the matrices.

The files are those that were seen (wheels.json). Of a build that the release matrix knows and nobody saw, the
files that it must have are named; `assumed` in an offline listing, as good as any other in an online one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from msgspec.structs import replace
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from gpuenv import matrices
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, Platform, TorchBuild, WheelFile
from gpuenv.planning.load_knowledge import load_knowledge

State = Literal["up", "down", "absent"]
PROJECTS = ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "xformers")
BASES: dict[IndexKind, str] = {
    "pypi": "https://pypi.example.com/simple",
    "pytorch": "https://torch.example.com/whl",
}
PROBLEM = "connection refused"
_ENDS: dict[Platform, str] = {
    "linux-64": "x86_64",
    "linux-aarch64": "aarch64",
    "win-64": "win_amd64",
    "osx-arm64": "arm64",
    "osx-64": "macosx_x86_64",  # no wheel of the matrix ends so: they name a macOS
}
_Key = tuple[IndexKind, str]


@dataclass(frozen=True)
class Published:
    """What of it a scenario sees: the state of either index, and whether the plan is made offline."""

    pypi: State = "up"
    pytorch: State = "up"
    offline: bool = False
    down: tuple[str, ...] = ()  # projects whose page on the PyTorch index does not answer


def listings(platform: Platform, published: Published | None = None) -> tuple[Listing, ...]:
    """Return a listing for each index and project, PyPI's first, as a plan reads them."""
    wanted = published or Published()
    states: dict[IndexKind, State] = {"pypi": wanted.pypi, "pytorch": wanted.pytorch}
    result = []
    for kind, state in states.items():
        for project in PROJECTS if state != "absent" else ():
            is_down = state == "down" or (kind == "pytorch" and project in wanted.down)
            result.append(_listing(platform, kind, project, is_down=is_down, offline=wanted.offline))
    return tuple(result)


@cache
def _listing(platform: Platform, kind: IndexKind, project: str, *, is_down: bool, offline: bool) -> Listing:
    source = IndexSource("snapshot" if offline else kind, BASES[kind], "the test", kind)
    files = () if is_down else _files(platform)[kind, project]
    if not offline:
        files = tuple(replace(file, assumed=False) if file.assumed else file for file in files)
    page = f"{BASES[kind]}/{project}/"
    return Listing(source, canonicalize_name(project), files, page, PROBLEM if is_down else None)


@cache
def _files(platform: Platform) -> dict[_Key, tuple[WheelFile, ...]]:
    files = _seen(platform)
    for key, named in _named(platform, files).items():
        files[key] += named
    return {(kind, project): tuple(files[kind, project]) for kind in BASES for project in PROJECTS}


def _seen(platform: Platform) -> dict[_Key, list[WheelFile]]:
    files: dict[_Key, list[WheelFile]] = defaultdict(list)
    for row in matrices.load("wheels"):
        stem = row["filename"].removesuffix(".whl")
        if stem.endswith((_ENDS[platform], "-any")):
            files[row["index"], row["project"]].append(_file(row["filename"], row["index"], row))
    return files


def _file(filename: str, kind: str, row: dict[str, str] | None = None) -> WheelFile:
    name, version, _, tags = parse_wheel_filename(filename)
    facts = row or {}
    variant = version.local or facts.get("subdir")
    folder = f"{variant}/" if kind == "pytorch" and variant else ""
    return WheelFile(
        name=name,
        version=version,
        tags=tags,
        filename=filename,
        url=f"{BASES['pytorch' if kind == 'pytorch' else 'pypi']}/files/{folder}{filename}",
        variant=Variant(variant) if variant and kind == "pytorch" else None,
        sha256=facts.get("sha256"),
        requires_python=facts.get("requires_python"),
        yanked=bool(facts.get("yanked")),
        assumed=row is None,
    )


def _named(platform: Platform, seen: dict[_Key, list[WheelFile]]) -> dict[_Key, list[WheelFile]]:
    """Name the files that the release matrix knows of and nobody saw."""
    names: dict[_Key, set[str]] = defaultdict(set)
    for build in load_knowledge().builds_of(platform):
        names[build.index, "torch"] |= set(_names_of_torch(build))
        if build.index == "pytorch":
            for project in ("torchvision", "torchaudio"):
                names["pytorch", project] |= set(_names_of_companion(project, build, seen))
    return {
        (kind, project): [
            _file(name, kind) for name in sorted(those - {file.filename for file in seen[kind, project]})
        ]
        for (kind, project), those in names.items()
    }


def _names_of_torch(build: TorchBuild) -> Iterator[str]:
    local = f"+{build.variant}" if build.index == "pytorch" else ""
    for python in build.pythons:
        for tag in build.tags:
            yield f"torch-{build.torch}{local}-{python.rstrip('t')}-{_abi(python)}-{tag}.whl"


def _abi(python: str) -> str:
    minor = int(python[3:].rstrip("t"))
    if python.startswith("cp2"):
        return f"{python}mu"
    return f"{python}m" if minor < 8 else python


def _names_of_companion(project: str, build: TorchBuild, seen: dict[_Key, list[WheelFile]]) -> Iterator[str]:
    """Name the files of the release that was made for this torch, with the tags of the release's others."""
    version = _made_for(project).get(build.torch)
    others = [file for kind in BASES for file in seen[kind, project] if file.version.public == version]
    for file in others:
        ending = "-".join(file.filename.removesuffix(".whl").split("-")[-3:])
        yield f"{project}-{version}+{build.variant}-{ending}.whl"


@cache
def _made_for(project: str) -> dict[Version, str]:
    """The companion release that came out with each torch; an older torch's may serve several."""
    torches = sorted({build.torch for build in load_knowledge().builds})
    best = ((torch, load_knowledge().companions_of(torch).get(project, ())) for torch in torches)
    first: dict[str, Version] = {}
    for torch, versions in best:
        if versions:
            first.setdefault(str(versions[0]), torch)
    return {torch: version for version, torch in first.items()}


def wheel(filename: str, variant: str | None = None, **facts: object) -> WheelFile:
    """Make one file from its name, for tests of a rule alone."""
    name, version, _, tags = parse_wheel_filename(filename)
    chosen = variant or version.local
    made = WheelFile(
        name,
        version,
        tags,
        filename,
        f"https://files.example.com/{filename}",
        Variant(chosen) if chosen else None,
    )
    return replace(made, **facts)  # type: ignore[arg-type]
