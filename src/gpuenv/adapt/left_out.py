"""The lines of a project that neither a plan nor its changes have, each with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.adapt.model import NO_PROJECTS, DeclaredRequirement, LeftOut, Project, RequirementChange
from gpuenv.adapt.nearest.request import is_condas_pip, is_page_of_torch, python_of, requirement_of
from gpuenv.adapt.parsers.collector import shown
from gpuenv.i18n.messages import series, tr
from gpuenv.model.match_spec import parse_match_spec
from gpuenv.model.plan import Plan
from gpuenv.model.wheel import Platform
from gpuenv.resolution.conda.environment_yml import CUDA_NAMES, WITH_TORCH
from gpuenv.resolution.markers import marker_environment

_MOST_SHOWN = 4  # lines that have a reason in common
_PYPI = re.compile(r"https?://pypi\.(?:python\.)?org(?:/|$)")
_CHANNEL_WORDS = ("nodefaults",)  # no channel


def left_out(
    project: Project, plan: Plan, changes: tuple[RequirementChange, ...], platform: Platform
) -> tuple[LeftOut, ...]:
    """Return the lines that were read and count nowhere, but for those that a warning names already."""
    changed = {id(change.declared) for change in changes}
    there = _There(project, plan, platform)
    results = []
    for line in project.declared:
        told = line.hint or (id(line) in changed and not there.is_condas(line))
        reason = None if told else there.reason(line)
        if reason is not None:
            results.append(LeftOut(line.file, line.line, shown(line.text.strip()), reason))
    return tuple(dict.fromkeys(results))


def warnings_about(lines: tuple[LeftOut, ...]) -> Iterator[str]:
    """Yield a sentence for each reason, with the lines that it holds for."""
    for reason in dict.fromkeys(line.reason for line in lines):
        alike = [line for line in lines if line.reason == reason]
        if reason == _of_conda():
            yield tr("not in the plan: {lines}: {reason}", lines=series(_packages(alike)), reason=reason)
            continue
        own = [f"{shown(line.file)}:{line.line} `{line.text}`" for line in alike]
        named, more = series(own[:_MOST_SHOWN]), len(own) - _MOST_SHOWN
        if more > 0:
            named = tr("{lines} and {count} more", lines=named, count=more)
        yield tr("not in the plan: {lines}: {reason}", lines=named, reason=reason)


def _of_conda() -> str:
    return tr("conda packages, which only a conda tool installs (--manager conda)")


def _packages(lines: list[LeftOut]) -> Iterator[str]:
    """Yield each package by its name alone: an export has many."""
    return (re.split(r"[\s=<>!~\[]", line.text, maxsplit=1)[0] for line in lines)


class _There(Struct):
    """What a plan has, and why a line of a project would not be in it."""

    project: Project
    plan: Plan
    platform: Platform
    _names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        plan = self.plan
        texts = (*plan.pins, *plan.requirements, *plan.constraints)
        names = {canonicalize_name(Requirement(text).name) for text in texts}
        names |= {canonicalize_name(package.name) for package in plan.packages}
        specs = plan.conda.specs if plan.conda else ()
        names |= {canonicalize_name(parse_match_spec(spec).name) for spec in specs}
        self._names = frozenset(map(str, names))

    def reason(self, line: DeclaredRequirement) -> str | None:
        """Return why a line is not in the plan; None where it is, or where that was told."""
        if line.project == "index":
            return self._of_index(line)
        if line.project == "python":
            known = python_of(line) is not None or not line.requirement
            return None if known or self._is_told(line) else tr("it is no version of Python")
        if line.project == "cuda":
            return self._of_cuda(line)
        if self.is_condas(line) and not self._is_of_readme(line):
            return _of_conda()
        there = canonicalize_name(line.project) in self._names and not is_condas_pip(line)
        return None if there or self._is_told(line) else self._of_project(line)

    def is_condas(self, line: DeclaredRequirement) -> bool:
        """Whether a line is of conda's part, where no conda tool installs and PyPI was not asked for it."""
        ours = self.plan.conda is not None or line.project in NO_PROJECTS
        known = canonicalize_name(line.project) in self._names
        return line.notation == "conda" and not ours and not known

    def _of_index(self, line: DeclaredRequirement) -> str | None:
        address = line.requirement or ""
        if line.notation == "conda":
            channels = [channel.name for channel in self.plan.conda.channels] if self.plan.conda else []
            if address.strip() in (*channels, *_CHANNEL_WORDS):
                return None
            if self.plan.conda is None or self.plan.conda.mixed:
                return tr("no conda package is planned")
            return tr("gpuenv takes packages from {channels} alone", channels=series(channels))
        places = (item for package in self.plan.packages for item in (package.index, package.url) if item)
        used = any(item.startswith(address.partition("#")[0].rstrip("/")) for item in places)
        if used or is_page_of_torch(address) or _PYPI.match(address):
            return None
        return tr("it is not read: packages come from the indexes that gpuenv is configured with")

    def _of_cuda(self, line: DeclaredRequirement) -> str | None:
        if self._is_told(line):
            return None
        if self.plan.is_condas:
            named = line.requirement or parse_match_spec(line.text).name in WITH_TORCH - CUDA_NAMES
            return None if named else tr("it names no one CUDA: the build of torch decides")
        return tr("torch wheels bring the CUDA that they need")

    def _is_of_readme(self, line: DeclaredRequirement) -> bool:
        return any(file.path == line.file and file.kind == "readme" for file in self.project.files)

    def _of_project(self, line: DeclaredRequirement) -> str | None:
        if line.constraint:
            return tr("nothing in the files asks for what it bounds")
        if is_condas_pip(line):
            return tr("gpuenv chooses its pip itself")
        requirement = requirement_of(line)
        if line.notation == "conda" and self._is_of_readme(line):
            return tr("conda's packages are taken from an environment.yml alone, not from install lines")
        if requirement is None:
            alone = tr("it is conda's alone: no index of Python packages has it so")
            return alone if line.notation == "conda" else tr("it cannot be asked of an index")
        python = self.plan.python_release or f"{self.plan.python}.0"
        if requirement.marker and not requirement.marker.evaluate(marker_environment(self.platform, python)):
            return None  # its own marker says so
        return tr("the plan has nothing of that name")

    def _is_told(self, line: DeclaredRequirement) -> bool:
        """Whether a reader or the resolution named a line, or its project."""
        place = f"{shown(line.file)}:{line.line}: "
        named = re.compile(rf"(?<![\w.-]){re.escape(line.project)}(?![\w-])")
        told = any(text.startswith(place) for text in self.project.warnings)
        return told or any(named.search(warning.message) for warning in self.plan.warnings)
