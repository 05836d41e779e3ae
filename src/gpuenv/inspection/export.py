"""`gpuenv export`: what is installed in an environment, as a plan that any format can be made of."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.changes.open_environment import ChangeOptions, Opened, requirements_of, sources_of, texts_of
from gpuenv.i18n.messages import tr
from gpuenv.inspection.export_conda import in_conda
from gpuenv.installers import WHEEL_MANAGERS
from gpuenv.installers import uv_compile as resolver
from gpuenv.model.errors import Fix, GpuenvError, UsageError
from gpuenv.model.installed import Installed
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning, Sources
from gpuenv.planning.detect import detect
from gpuenv.planning.resolve_others import planned_file
from gpuenv.planning.steps import with_steps
from gpuenv.resolution.request import STACK

OF_CONDA = ("environment.yml", "text", "json")
_TARGET = ".venv"
_ROUNDS = 20
_INSTALLERS = ("pip", "setuptools", "wheel")  # they come with an environment, as `pip freeze` knows


@dataclass(frozen=True, slots=True)
class Exported:
    """What is installed: a plan, and the requirements that ask for exactly that."""

    plan: Plan
    requirements: tuple[str, ...]


def default_format(opened: Opened) -> str:
    """Return the format of the tool that made the environment."""
    return "environment.yml" if opened.is_condas else "requirements.txt"


def export_environment(
    opened: Opened, format_name: str, options: ChangeOptions, environ: Mapping[str, str]
) -> Exported:
    """Return what is installed, every version as it is, with addresses and hashes where they are known.

    Raises UsageError for a format that can't say what conda installed, and where there is no torch.
    """
    if "torch" not in opened.stack:
        raise UsageError(
            tr("`{name}` no longer has torch", name=opened.paths.name),
            code="no-torch",
            fixes=(Fix(tr("recreate it"), f"gpuenv create {opened.word} --force"),),
        )
    condas_torch = any(package.name == "torch" and package.is_condas for package in opened.installed)
    if condas_torch and format_name not in OF_CONDA:
        raise UsageError(
            tr("{format} cannot contain conda packages: torch would come from PyPI", format=format_name),
            code="usage",
            fixes=(
                Fix(
                    tr("choose the format of conda tools"),
                    f"gpuenv export {opened.word} --format environment.yml",
                ),
            ),
        )
    machine = _machine(opened, environ)
    ours = tuple(
        package
        for package in opened.installed
        if not package.is_condas and not _comes_anyway(package, opened)
    )
    sources = _sources(opened, options, environ)
    stack = tuple(sorted((package for package in ours if package.name in _pinned(opened)), key=_place))
    others = tuple(package for package in ours if package not in stack)
    packages, warnings = _described((*stack, *others), opened, sources, options, environ)
    manager = format_name if format_name in WHEEL_MANAGERS else opened.record.manager
    plan = Plan(
        machines=(machine,),
        python=opened.minor,
        python_path=None,
        variant=opened.variant or "cpu",
        manager=manager,
        packages=tuple(packages[package.name] for package in (*stack, *others)),
        pins=tuple(_exactly(package) for package in stack),
        requirements=tuple(_exactly(package) for package in others),
        constraints=(),
        sources=sources,
        steps=(),
        why=(),
        rejected=(),
        advice=(),
        warnings=(*warnings, *_on_this_machine(ours)),
    )
    if format_name == "environment.yml" or opened.is_condas:
        plan = in_conda(plan, opened, machine, mixed=not condas_torch)
    if plan.conda is None:
        plan = with_steps(plan, _TARGET)
    return Exported(plan, tuple(_asking(package) for package in (*stack, *others)))


def _machine(opened: Opened, environ: Mapping[str, str]) -> Machine:
    """Return the machine that the environment was made for, this one where that is not known."""
    try:
        return parse_machine(opened.record.machine)
    except ValueError:
        return detect(environ)


def _comes_anyway(package: Installed, opened: Opened) -> bool:
    """Whether a package comes with any environment, and nobody here asks for it."""
    needed = any(package.name in wanted for wanted in opened.needs.values())
    return (
        package.name in _INSTALLERS
        and package.name not in opened.requirements
        and (package.name == "pip" or not needed)
    )


def _pinned(opened: Opened) -> frozenset[str]:
    pins = (
        canonicalize_name(Requirement(pin).name) for pin in requirements_of(opened.record.plan.get("pins"))
    )
    return frozenset((*STACK, *pins))


def _place(package: Installed) -> tuple[int, str]:
    return (STACK.index(package.name) if package.name in STACK else len(STACK)), package.name


def _exactly(package: Installed) -> str:
    return f"{package.name} @ {package.url}" if package.url else f"{package.name}=={package.version}"


def _asking(package: Installed) -> str:
    """Return the requirement that a new plan is made with: its variant is said apart."""
    return (
        f"{package.name}=={Version(package.version).public}" if package.name in STACK else _exactly(package)
    )


def _sources(opened: Opened, options: ChangeOptions, environ: Mapping[str, str]) -> Sources:
    """Return where from, with the pages of the torch stack: from old records, as its commands name them."""
    sources = sources_of(opened, options, environ)
    recorded = opened.record.plan.get("sources")
    pages = texts_of(recorded.get("find_links")) if isinstance(recorded, dict) else ()
    pages = pages or _pages_of_steps(opened.record.plan.get("steps"))
    return replace(sources, find_links=tuple(dict.fromkeys((*pages, *sources.find_links))))


def _pages_of_steps(steps: Any) -> tuple[str, ...]:
    values = []
    for step in steps if isinstance(steps, list) else ():
        argv = texts_of(step.get("argv")) if isinstance(step, dict) else ()
        values += [value for word, value in pairwise(argv) if word == "--find-links"]
    return tuple(values)


def _described(
    installed: tuple[Installed, ...],
    opened: Opened,
    sources: Sources,
    options: ChangeOptions,
    environ: Mapping[str, str],
) -> tuple[dict[str, PlannedPackage], tuple[PlanWarning, ...]]:
    """Return what is known of the files of all that is installed: from the record, else from the indexes."""
    rows = opened.record.plan.get("packages")
    known = (
        {(row.get("name"), row.get("version")): row for row in rows if isinstance(row, dict)}
        if isinstance(rows, list)
        else {}
    )
    packages = {package.name: _bare(package) for package in installed}
    packages |= {
        package.name: _of_row(package, row)
        for package in installed
        if (row := known.get((package.name, package.version))) and row.get("url")
    }
    unknown = {
        package.name: package
        for package in installed
        if packages[package.name].filename is None and not package.direct
    }
    looked_up, warnings = _looked_up(unknown, opened, sources, options, environ)
    return {**packages, **looked_up}, warnings


def _looked_up(
    unknown: dict[str, Installed],
    opened: Opened,
    sources: Sources,
    options: ChangeOptions,
    environ: Mapping[str, str],
) -> tuple[dict[str, PlannedPackage], tuple[PlanWarning, ...]]:
    left = dict(unknown)
    for _ in range(_ROUNDS):
        if not left:
            return {}, ()
        question = resolver.CompileInput(
            pins=tuple(f"{package.name}=={package.version}" for package in left.values()),
            requirements=(),
            constraints=(),
            sources=sources,
            python=opened.minor,
            offline=options.offline,
            interpreter=str(opened.python) or sys.executable,
            no_deps=True,
        )
        try:
            outcome = resolver.compile_requirements(question, environ)
        except GpuenvError as error:
            return {}, (
                PlanWarning("not-looked-up", tr("URLs and hashes are missing: {why}", why=error.message)),
            )
        if isinstance(outcome, resolver.Resolved):
            return {file.name: planned_file(file) for file in outcome.files}, ()
        missing = [
            name for name in left if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", outcome.message)
        ]
        if not missing:
            break
        left = {name: package for name, package in left.items() if name not in missing}
    return {}, ()


def _bare(package: Installed) -> PlannedPackage:
    name = (
        package.url.partition("#")[0].rpartition("/")[2]
        if package.url and package.url.startswith("http")
        else None
    )
    digest = package.url.partition("#sha256=")[2] if package.url else ""
    return PlannedPackage(
        package.name, package.version, None, None, name, package.url, digest or None, None, "assumed"
    )


def _of_row(package: Installed, row: dict[str, Any]) -> PlannedPackage:
    size, evidence = row.get("size"), row.get("evidence")
    return PlannedPackage(
        name=package.name,
        version=package.version,
        variant=_text(row, "variant"),
        index=_text(row, "index"),
        filename=_text(row, "filename"),
        url=_text(row, "url"),
        sha256=_text(row, "sha256"),
        size=size if isinstance(size, int) else None,
        evidence=evidence if evidence in {"wheel", "matrix", "assumed"} else "assumed",
    )


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) else None


def _on_this_machine(installed: tuple[Installed, ...]) -> tuple[PlanWarning, ...]:
    """Say what was installed from a folder: nobody else has that."""
    local = [package.name for package in installed if package.direct and package.url is None]
    if not local:
        return ()
    text = tr(
        "{names}: installed from a directory on this machine; an index may have something else",
        names=", ".join(local),
    )
    return (PlanWarning("from-a-folder", text),)
