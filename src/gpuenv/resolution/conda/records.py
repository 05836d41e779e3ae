"""The torch stack in a conda channel's repodata, as files that the rules can judge."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.tags import Tag
from packaging.utils import NormalizedName
from packaging.version import InvalidVersion, Version

from gpuenv.model.conda import CondaRecord
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.match_spec import MatchSpec, as_specifier
from gpuenv.model.variant import CPU, Variant
from gpuenv.model.wheel import WheelFile
from gpuenv.resolution.conda.builds import platform_tag, python_tag

_TORCH = "pytorch"  # what conda calls it
_ANYWHERE = "noarch"
# `cuda126_mkl_py312_h5d1f_306`, `cuda112py39h5d1f_1`, `py3.12_cuda12.4_cudnn9.1.0_0`, `py312_cu124`
_CUDA = re.compile(r"(?:^|_)cu(?:da)?(?P<major>\d{1,2})(?:\.(?P<point>\d{1,2})|(?P<minor>\d))(?![0-9])")
_CPU = re.compile(r"(?:^|_)cpu(?:[_*\d]|$|py|mkl|generic)")
# `python >=3.12,<3.13.0a0`, `python 3.6.*`
_PYTHON = re.compile(r"python (?P<asked>\D*(?P<major>\d)\.(?P<minor>\d{1,2})\S*)")
# `python_abi 3.12.* *_cp312`, `*_cp37m`, free-threaded `*_cp313t`, PyPy's `*_pypy39_pp73`
_ABI = re.compile(r"python_abi \S+ \*_(?P<abi>\w+)")
_OF_PYPY = re.compile(r"pypy(?P<python>\d{2,3})_pp\d+")
_OF_CPYTHON = re.compile(r"(?P<python>cp\d{2,3})m?(?P<threads>t?)")
_GLIBC = re.compile(r"__glibc >=(?P<version>\d+\.\d+)")


def conda_name(project: str) -> str:
    """Return what conda calls a project of the torch stack."""
    return _TORCH if project == "torch" else project


def listings_of_channel(
    source: IndexSource,
    projects: tuple[NormalizedName, ...],
    records: Iterable[CondaRecord],
) -> tuple[Listing, ...]:
    """Return what a channel lists of each project; packages that no rule can judge are listed as unparsed."""
    files: dict[str, list[WheelFile]] = {project: [] for project in projects}
    unparsed: dict[str, list[str]] = {project: [] for project in projects}
    by_name = {conda_name(project): project for project in projects}
    for record in records:
        project = by_name.get(record.name)
        if project is None:
            continue
        file = file_of(record, project)
        if file is None:
            unparsed[project].append(record.filename)
        else:
            files[project].append(file)
    return tuple(
        Listing(
            source, project, tuple(files[project]), source.url, unparsed=tuple(unparsed[project])
        )
        for project in projects
    )  # fmt: skip


def file_of(record: CondaRecord, project: NormalizedName) -> WheelFile | None:
    """Return a package with the tags of a wheel of its Python and platform; None for one without a Python."""
    tag = _tag_of(record)
    try:
        version = Version(record.version)
    except InvalidVersion:
        return None
    if tag is None:
        return None
    return WheelFile(
        name=project,
        version=version,
        tags=frozenset({tag}),
        filename=record.filename,
        url=record.url,
        variant=variant_of(record.build),
        sha256=record.sha256,
        size=record.size,
        requires_python=_requires_of(record),
        build=record.build,
    )


def variant_of(build: str) -> Variant | None:
    """Read the variant in a build string; None where it names none."""
    match = _CUDA.search(build)
    if match:
        return Variant(f"cu{match['major']}{match['point'] or match['minor']}")
    return CPU if _CPU.search(build) else None


def _tag_of(record: CondaRecord) -> Tag | None:
    """The tag that a wheel of its Python and platform has; None without a Python."""
    python, abi = _first(_PYTHON, record), _first(_ABI, record)
    if python and record.subdir == _ANYWHERE:
        return Tag("py3", "none", "any")
    name = abi["abi"] if abi else f"cp{python['major']}{python['minor']}" if python else ""
    if other := _OF_PYPY.fullmatch(name):
        return Tag(f"pp{other['python']}", name, _platform_of(record))
    known = _OF_CPYTHON.fullmatch(name)
    return python_tag(known["python"] + known["threads"], _platform_of(record)) if known else None


def _requires_of(record: CondaRecord) -> str | None:
    """What a package for any platform asks of Python."""
    python = _first(_PYTHON, record)
    if python is None or record.subdir != _ANYWHERE:
        return None
    try:
        return as_specifier(MatchSpec("python", python["asked"]))
    except ValueError:
        return None


def _platform_of(record: CondaRecord) -> str:
    glibc = _first(_GLIBC, record)
    return platform_tag(record.subdir, glibc["version"] if glibc else None)


def _first(pattern: re.Pattern[str], record: CondaRecord) -> re.Match[str] | None:
    return next((match for text in record.depends if (match := pattern.match(text))), None)


def pattern_of(build: str) -> str:
    """Return a pattern for the builds of one variant and Python: what comes before the digest or the number.

    `cuda126_mkl_py312_h5d1f_306` gives `cuda126*`, `py3.12_cuda12.4_cudnn9.1.0_0` gives `py3.12_cuda12.4*`.
    """
    match = _CUDA.search(build) or _CPU.search(build)
    if match is None:
        return build
    end = match.end() if match.re is _CUDA else match.start() + match[0].index("cpu") + len("cpu")
    return f"{build[:end]}*"
