"""`gpuenv export`: what is installed in an environment, as a plan that any format can be made of."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.changes.open_environment import ChangeOptions, Opened, requirements_of, sources_of, texts_of
from gpuenv.environments.conda.meta import installed_names
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.installers import WHEEL_MANAGERS
from gpuenv.installers import uv_compile as resolver
from gpuenv.model.conda import CondaChannel, CondaPlan, CondaRecord
from gpuenv.model.errors import Fix, GpuenvError, UsageError
from gpuenv.model.installed import Installed
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning, Sources
from gpuenv.planning.detect import detect
from gpuenv.planning.resolve_others import planned_file
from gpuenv.planning.steps import with_steps
from gpuenv.resolution.request import STACK
from gpuenv.resolution.target import platform_of

OF_CONDA = ("environment.yml", "text", "json")
_TARGET = ".venv"
_ROUNDS = 20
_INSTALLERS = ("pip", "setuptools", "wheel")  # they come with an environment, as `pip freeze` knows
_FORGE = "conda-forge"


class Exported(Struct, frozen=True):
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
        command = f"gpuenv export {opened.word} --format environment.yml"
        raise UsageError(
            tr("{format} cannot contain conda packages: torch would come from PyPI", format=format_name),
            code="usage",
            fixes=(Fix(tr("choose the format of conda tools"), command),),
        )
    machine = _machine(opened, environ)
    wheels = (package for package in opened.installed if not package.is_condas)
    ours = tuple(package for package in wheels if not _comes_anyway(package, opened))
    sources = _sources(opened, options, environ)
    recorded = requirements_of(opened.record.plan.get("pins"))
    pinned = {*STACK, *(canonicalize_name(Requirement(pin).name) for pin in recorded)}
    stack = tuple(sorted((package for package in ours if package.name in pinned), key=_place))
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
    if package.name not in _INSTALLERS or package.name in opened.requirements:
        return False
    return package.name == "pip" or not any(package.name in wanted for wanted in opened.needs.values())


def _place(package: Installed) -> tuple[int, str]:
    return (STACK.index(package.name) if package.name in STACK else len(STACK)), package.name


def _exactly(package: Installed) -> str:
    return f"{package.name} @ {package.url}" if package.url else f"{package.name}=={package.version}"


def _asking(package: Installed) -> str:
    """Return the requirement that a new plan is made with: its variant is said apart."""
    if package.name in STACK:
        return f"{package.name}=={Version(package.version).public}"
    return _exactly(package)


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
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    known = {(row.get("name"), row.get("version")): row for row in rows}
    packages, unknown = {}, {}
    for package in installed:
        row = known.get((package.name, package.version), {})
        planned = packages[package.name] = _of_row(package, row) if row.get("url") else _bare(package)
        if planned.filename is None and not package.direct:
            unknown[package.name] = package
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
            text = tr("URLs and hashes are missing: {why}", why=error.message)
            return {}, (PlanWarning("not-looked-up", text),)
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
    url = package.url or ""
    filename = url.partition("#")[0].rpartition("/")[2] if url.startswith("http") else None
    row = {"filename": filename, "url": package.url, "sha256": url.partition("#sha256=")[2] or None}
    return _of_row(package, row)


def _of_row(package: Installed, row: dict[str, Any]) -> PlannedPackage:
    names = ("variant", "index", "filename", "url", "sha256")
    values = (value if isinstance(value, str) else None for value in map(row.get, names))
    variant, index, filename, url, sha256 = values
    size, evidence = row.get("size"), row.get("evidence")
    return PlannedPackage(
        *(package.name, package.version, variant, index, filename, url, sha256),
        size=size if isinstance(size, int) else None,
        evidence=evidence if evidence in {"wheel", "matrix", "assumed"} else "assumed",
    )


def _on_this_machine(installed: tuple[Installed, ...]) -> tuple[PlanWarning, ...]:
    """Say what was installed from a folder: nobody else has that."""
    local = [package.name for package in installed if package.direct and package.url is None]
    if not local:
        return ()
    template = N_("{names}: installed from a directory on this machine; an index may have something else")
    return (PlanWarning("from-a-folder", tr(template, names=series(local))),)


def in_conda(plan: Plan, opened: Opened, machine: Machine, *, mixed: bool) -> Plan:
    """Return the plan with what conda installed, each by its version and build; of wheels, conda's Python."""
    recorded = opened.record.plan.get("conda")
    facts = recorded if isinstance(recorded, dict) else {}
    names = texts_of(facts.get("channels")) or (_FORGE,)
    records = installed_names(opened.paths.path).values() if opened.is_condas else ()
    exact = tuple(f"{record.name} {record.version} {record.build}" for record in records)
    cuda = facts.get("cuda")
    part = CondaPlan(
        channels=tuple(CondaChannel(name, ()) for name in names),
        specs=exact or (f"python {plan.python}.*", "pip"),
        pins=(),
        subdir=platform_of(machine),
        cuda=cuda if isinstance(cuda, str) else None,
        mixed=mixed,
    )
    condas = () if mixed else tuple(map(_planned, records))
    return replace(plan, conda=part, packages=(*condas, *plan.packages))


def _planned(record: CondaRecord) -> PlannedPackage:
    return PlannedPackage(
        record.name,
        record.version,
        *(None, None, None, None, None, None),  # of files, which conda's solver chooses
        evidence="wheel",
        channel=record.channel or _FORGE,
        build=record.build,
        subdir=record.subdir or None,
    )
