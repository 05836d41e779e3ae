"""Known-bad combinations among what is installed; the rows are those that plans are judged by."""

from __future__ import annotations

from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.checks import queries
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import KnownBad
from gpuenv.model.findings import Findings


def applying(findings: Findings, knowledge: Knowledge, *, about: str) -> KnownBad | None:
    """Return the first row that names `about` and applies to what is installed."""
    versions, words = _versions(findings), _words(findings)
    for row in knowledge.known_bad:
        named = any(name == about for item in row.when for name, _ in item)
        if named and not versions.keys() & set(row.unless) and _applies(row, versions, words):
            return row
    return None


def _applies(row: KnownBad, versions: dict[str, Version], words: dict[str, str]) -> bool:
    return any(all(_holds(name, wanted, versions, words) for name, wanted in item) for item in row.when)


def _holds(
    name: str, wanted: SpecifierSet | str, versions: dict[str, Version], words: dict[str, str]
) -> bool:
    if isinstance(wanted, str):
        return words.get(name) == wanted
    alike = (version for item, version in versions.items() if fnmatchcase(item, name))
    return any(wanted.contains(version, prereleases=True) for version in alike)


def _versions(findings: Findings) -> dict[str, Version]:
    versions = {item.name: queries.version_of(item.version) for item in findings.conda}
    versions |= {dist.name: queries.version_of(dist.version) for dist in reversed(findings.dists)}
    torch, python = queries.torch_version(findings), queries.version_of(findings.python.version)
    versions |= {"torch": torch, "python": python}
    cuda = queries.cuda_of(findings)
    versions |= {"cuda": Version(str(cuda))} if cuda else {}
    public = {name: Version(version.public) for name, version in versions.items() if version is not None}
    conda = queries.conda_of(findings, "pytorch")
    release = queries.version_of(conda.version) if conda else None
    return {**public, "torch": release} if release and "torch" not in public else public


def _words(findings: Findings) -> dict[str, str]:
    system, conda = findings.machine.system, queries.conda_of(findings, "pytorch")
    words = {"os": system.os, "arch": system.arch, "platform": queries.platform_of(findings) or ""}
    if conda and conda.build.startswith("py3"):  # conda-forge's begin with cuda or cpu
        words["channel"] = "pytorch"
    return words
