"""An index with what the adapted sets of papers name: their releases, for the Pythons that the matrices know.

The torch stack is that of `index_server`, with what the rows say that its builds require. Of another project
it has the releases that rows know, each for its Pythons, else those at the ends of what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

from index_server import IndexServer, PublishedFile
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv import matrices
from gpuenv.knowledge.version_ranges import turning_points

_Release = tuple[tuple[str, ...], tuple[str, ...]]  # the tags of its wheels, and what it requires
_ANY = ("py3-none-any",)
_PLAIN = Version("1.0")  # of what is asked for whatever it is
_LINUX = "manylinux_2_17_x86_64.manylinux2014_x86_64"
_STACK = ("torch", "torchvision", "torchaudio")


def stock(server: IndexServer, requirements: Iterable[str]) -> None:
    """Put on the server what requirements name, and what these require in turn."""
    server.makes_wheels = True
    server.files = {path: _with_demands(file) for path, file in server.files.items()}
    asked = [Requirement(text) for text in (*requirements, *_of_torch(), *_workarounds())]
    specifiers: dict[str, list[SpecifierSet]] = {}
    for item in asked:
        specifiers.setdefault(canonicalize_name(item.name), []).append(item.specifier)
    for name, wanted in specifiers.items():
        if name not in _STACK:
            for version, (tags, requires) in _releases(name, wanted).items():
                for tag in tags:
                    server.list_release(name, version, None, *requires, tag=tag)


def counting(requirements: Iterable[str], python: str) -> Iterator[str]:
    """Yield the requirements that count on Linux with a Python, without their markers; no addresses."""
    there = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
    there |= {"platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix", "extra": ""}
    environment = {**{name: str(value) for name, value in default_environment().items()}, **there}
    for item in map(Requirement, requirements):
        if item.url is None and (item.marker is None or item.marker.evaluate(environment)):
            item.marker = None
            yield str(item)


@cache
def _rows(table: str, kind: str) -> tuple[dict[str, Any], ...]:
    return tuple(row for row in matrices.load(table) if row["kind"] == kind)


@cache
def _of_torch() -> tuple[str, ...]:
    """All that rows know builds of torch for Linux to require."""
    rows = (row for row in _rows("dependencies", "build") if row["platform"] == "linux-64")
    return tuple(dict.fromkeys(text for row in rows for text in row["requires"]))


@cache
def _workarounds() -> tuple[str, ...]:
    """What known-bad rows have installed or bounded."""
    return tuple(text for row in matrices.load("known-bad") for text in (*row["add"], *row["constrain"]))


@cache
def _demands() -> dict[tuple[str, str, str], tuple[str, ...]]:
    """What builds of torch and its companions require, by project, release and index with variant."""
    named = {
        ("torch", row["torch"], _where(row)): tuple(row["requires"])
        for row in _rows("dependencies", "build")
        if row["platform"] == "linux-64"
    }
    for row in _rows("companions", "release"):
        if row["requires_torch"]:
            wanted = row["requires_torch"]
            text = f"torch{wanted if wanted[0] in '<>=!~' else '==' + wanted}"
            named[row["project"], row["version"], ""] = (text,)
    return named


def _where(row: dict[str, Any]) -> str:
    return f"pytorch {row['variant']}" if row["index"] == "pytorch" else "pypi"


def _with_demands(file: PublishedFile) -> PublishedFile:
    version, _, local = file.filename.split("-")[1].partition("+")
    where = f"{file.kind} {file.subdir if file.kind == 'pytorch' else local}"
    known = _demands()
    if file.project == "torch" and file.kind == "pypi":
        own = next((needs for (name, release, at), needs in known.items()
                    if (name, release) == ("torch", version) and at.startswith("pypi ")), ())  # fmt: skip
        return replace(file, requires=own)
    return replace(
        file, requires=known.get((file.project, version, where), known.get((file.project, version, ""), ()))
    )


def _releases(name: str, specifiers: list[SpecifierSet]) -> dict[str, _Release]:
    """Return the releases of a project: the tags of their wheels, and what they require."""
    known = {
        version: (tuple(f"{python}-{_abi(python)}-{_LINUX}" for python in row["pythons"]), ())
        for row in _rows("releases", "pythons")
        if row["project"] == name
        for version in row["versions"]
    }
    if known:
        return known
    ends = chain.from_iterable(map(_ends, specifiers))
    releases: dict[str, _Release] = {str(version.public): (_ANY, ()) for version in (_PLAIN, *ends)}
    for row in _rows("ecosystem", "requires"):  # of the newest release alone
        if row["project"] == name and not row["yanked"] and row["requires_torch"]:
            releases[row["version"]] = (_ANY, (f"torch{row['requires_torch']}",))
    return releases


def _ends(wanted: SpecifierSet) -> Iterator[Version]:
    return (version for version in turning_points(wanted) if wanted.contains(version, prereleases=True))


def _abi(python: str) -> str:
    """`cp37m`: up to Python 3.7 the ABI says how memory is allocated."""
    return f"{python}m" if int(python.removeprefix("cp3")) < 8 else python
