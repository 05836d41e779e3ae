"""What an installer was asked for and did not get: package, index, Python and platform."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.explanation.reported_machine import ReportedMachine
from gpuenv.model.wheel import Platform
from gpuenv.signatures.reported import PackageFailure, Reported

Tool = Literal["pip", "uv pip", "uv project", "poetry", "pixi"]

PYPI = "pypi"
ALL = "all"  # the page of PyTorch's that lists the builds of every variant
_LOCAL = re.compile(r"\+([A-Za-z]\w{0,20}(?:\.\w{1,10}){0,2})")
_CPYTHON = re.compile(r"cp3\d{1,2}t?")
_PAGE = re.compile(r"/whl/(cu\d{2,3}|cpu)(?=[/\s'\"`,)]|$)")
_ANY_PAGE = re.compile(r"/whl/(?:torch_stable\.html|torch/?|torchvision/?)?(?=[\s'\"`,)]|$)")
_FOREIGN = re.compile(
    r"/whl/(?:nightly|test|rocm|xpu|lts)|developer\.download\.nvidia|jetson-ai-lab|/redist/jp"
)
_OF_UV_PIP = re.compile(
    r"\[tool\.uv\.pip\](?:\n(?!\[)[^\n]*){0,40}"
)  # which `uv sync` and `uv lock` do not read
_BESIDE = re.compile(r"--extra-index-url|Looking in indexes: https?://\S+, ")
_OF_PYTHON = {"abi", "python"}  # tags of a wheel that tell its Pythons
_OLDEST = Version("0.4")  # PyPI has sources of torch 0.1.2 that only say that there is no wheel
_PLATFORMS: tuple[tuple[str, Platform], ...] = (
    (r"(?:linux|manylinux\w*)_aarch64", "linux-aarch64"),
    (r"(?:linux|manylinux\w*)_x86_64", "linux-64"),
    (r"win_amd64|win-amd64", "win-64"),
)


class WheelQuestion(Struct, frozen=True):
    """A package that was asked for, where, and for what; `python` is a wheel's tag.

    `pages` are those that were looked at: PYPI, ALL, or variants whose index of PyTorch's it is. `offered`
    are the releases that were there instead, None where nothing is said of them. `exact` is the one version.
    `is_other_python`: the files are for other Pythons than the one that is there, whichever that is.
    """

    project: str
    specifier: SpecifierSet
    exact: Version | None
    local: str | None
    pages: tuple[str, ...]
    python: str | None
    platform: Platform | None
    offered: tuple[Version, ...] | None
    tool: Tool
    is_other_python: bool = False


def question_of(
    failure: PackageFailure, reported: Reported, machine: ReportedMachine, text: str
) -> WheelQuestion | None:
    """Return what was asked for, None where it is not plain, or is nothing for Linux or Windows."""
    facts = failure.facts
    asked = facts.get("asked") or facts.get("asked_poetry") or ""
    if "asked_version" in facts:
        asked = f"=={facts['asked_version']}"
    elif asked and asked[0] not in "<>=!~":
        asked = f"=={asked}"
    local = _LOCAL.search(asked)
    try:
        specifier = SpecifierSet(_LOCAL.sub("", asked).rstrip(".,;:"))
    except InvalidSpecifier:
        return None
    wanted_tag = facts.get("wanted_tag", "")
    tags = f"{facts.get('missing_platform', '')} {wanted_tag}"
    is_mac = machine.is_mac or "macosx" in tags
    intel = reported.value("mac_intel") or re.search(r"macosx_\d+_\d+_x86_64", tags)
    if (is_mac and (local or intel)) or reported.value("jetson") or _FOREIGN.search(text):
        return None
    tool = tool_of(text)
    looked_at = _OF_UV_PIP.sub("", text) if reads_other_table(tool, text) else text
    pages = (PYPI,) if is_mac else _pages(facts.get("asked_index"), looked_at)
    return WheelQuestion(
        project=failure.package,
        specifier=specifier,
        exact=_exact(specifier),
        local=local[1] if local else None,
        pages=pages,
        python=_python(facts, machine),
        platform=None if is_mac else _platform(tags, machine, reported),
        offered=_offered(facts.get("offered")),
        tool=tool,
        is_other_python=facts.get("skipped_for") in _OF_PYTHON,
    )


def _exact(specifier: SpecifierSet) -> Version | None:
    """Return the one version that is asked for."""
    only = next(iter(specifier), None) if len(specifier) == 1 else None
    if only is None or only.operator not in {"==", "==="} or only.version.endswith("*"):
        return None
    try:
        return Version(only.version)
    except InvalidVersion:
        return None


def _pages(asked: str | None, text: str) -> tuple[str, ...]:
    """Return the pages that were looked at, by what is said of the package or else by all that are named."""
    source = asked or text
    pages = list(dict.fromkeys(match[1] for match in _PAGE.finditer(source)))
    if not pages and "download.pytorch.org" in source and _ANY_PAGE.search(source):
        pages = [ALL]
    if not pages:
        return (PYPI,)
    only = asked or not _BESIDE.search(text)
    links = re.search(r"Looking in links:|(?:^|\s)(?:-f|--find-links)\s", text)
    return tuple(pages) if only and (asked or not links) else (PYPI, *pages)


def _python(facts: Mapping[str, str], machine: ReportedMachine) -> str | None:
    if _CPYTHON.fullmatch(facts.get("wanted_tag", "")):
        return facts["wanted_tag"]
    python = facts.get("missing_python") or machine.python
    return f"cp{python.replace('.', '')}" if python else None


def _platform(tags: str, machine: ReportedMachine, reported: Reported) -> Platform | None:
    for pattern, platform in _PLATFORMS:
        if re.search(pattern, tags):
            return platform
    return machine.platform or ("linux-64" if reported.value("wsl") or reported.value("colab") else None)


def _offered(text: str | None) -> tuple[Version, ...] | None:
    """Read `2.0.0, 2.0.1+cu118`, or `none`."""
    if text is None:
        return None
    versions = []
    for word in re.split(r"[,\s]+", text):
        try:
            version = Version(word)
        except InvalidVersion:
            continue
        if not version.is_prerelease and version >= _OLDEST:
            versions.append(version)
    return tuple(sorted(versions))


def reads_other_table(tool: Tool, text: str) -> bool:
    """Whether a text names indexes in a table that its command does not read."""
    return tool == "uv project" and _OF_UV_PIP.search(text) is not None


def tool_of(text: str) -> Tool:
    """Return the tool whose words a text has."""
    if re.search(r"\bpixi (?:add|install|run|shell)\b", text):  # which prints what uv in it says
        return "pixi"
    if re.search(r"\buv (?:sync|add|lock|run)\b", text):
        return "uv project"
    if re.search(r"\buv pip\b|╰─▶", text):
        return "uv pip"
    if re.search(r"\bpoetry\b|installation candidates", text, re.IGNORECASE):
        return "poetry"
    return "uv pip" if "│" in text else "pip"
