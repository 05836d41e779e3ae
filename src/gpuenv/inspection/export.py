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
from gpuenv.environments.conda.meta import installed_names
from gpuenv.i18n.messages import tr
from gpuenv.installers import WHEEL_MANAGERS
from gpuenv.installers import uv_compile as resolver
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.errors import Fix, GpuenvError, UsageError
from gpuenv.model.installed import Installed
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning, Sources
from gpuenv.planning.detect import detect
from gpuenv.planning.make_plan import with_steps
from gpuenv.planning.resolve_others import planned_file
from gpuenv.resolution.request import STACK
from gpuenv.resolution.target import platform_of

OF_CONDA = ("environment.yml", "text", "json")
_TARGET = ".venv"
_ROUNDS = 20
_INSTALLERS = ("pip", "setuptools", "wheel")  # they come with an environment, as `pip freeze` knows
_FORGE = "conda-forge"


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
            tr("`{name}` no longer has torch", name=opened.place.name),
            code="no-torch",
            fixes=(Fix(tr("recreate it"), f"gpuenv create {opened.word} --force"),),
        )
    condas_torch = any(one.name == "torch" and one.is_condas for one in opened.installed)
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
    ours = tuple(one for one in opened.installed if not one.is_condas and not _comes_anyway(one, opened))
    sources = _sources(opened, options, environ)
    stack = tuple(sorted((one for one in ours if one.name in _pinned(opened)), key=_place))
    others = tuple(one for one in ours if one not in stack)
    found, told = _described((*stack, *others), opened, sources, options, environ)
    manager = format_name if format_name in WHEEL_MANAGERS else opened.record.manager
    plan = Plan(
        machines=(machine,),
        python=opened.minor,
        python_path=None,
        variant=opened.variant or "cpu",
        manager=manager,
        packages=tuple(found[one.name] for one in (*stack, *others)),
        pins=tuple(_exactly(one) for one in stack),
        requirements=tuple(_exactly(one) for one in others),
        constraints=(),
        sources=sources,
        steps=(),
        why=(),
        rejected=(),
        advice=(),
        warnings=(*told, *_on_this_machine(ours)),
    )
    if format_name == "environment.yml" or opened.is_condas:
        plan = _in_conda(plan, opened, machine, mixed=not condas_torch)
    if plan.conda is None:
        plan = with_steps(plan, _TARGET)
    return Exported(plan, tuple(_asking(one) for one in (*stack, *others)))


def _machine(opened: Opened, environ: Mapping[str, str]) -> Machine:
    """Return the machine that the environment was made for, this one where that is not known."""
    try:
        return parse_machine(opened.record.machine)
    except ValueError:
        return detect(environ)


def _comes_anyway(one: Installed, opened: Opened) -> bool:
    """Whether a package comes with any environment, and nobody here asks for it."""
    needed = any(one.name in wanted for wanted in opened.needs.values())
    return (
        one.name in _INSTALLERS and one.name not in opened.requirements and (one.name == "pip" or not needed)
    )


def _pinned(opened: Opened) -> frozenset[str]:
    pins = (
        canonicalize_name(Requirement(pin).name) for pin in requirements_of(opened.record.plan.get("pins"))
    )
    return frozenset((*STACK, *pins))


def _place(one: Installed) -> tuple[int, str]:
    return (STACK.index(one.name) if one.name in STACK else len(STACK)), one.name


def _exactly(one: Installed) -> str:
    return f"{one.name} @ {one.url}" if one.url else f"{one.name}=={one.version}"


def _asking(one: Installed) -> str:
    """Return the requirement that a new plan is made with: its variant is said apart."""
    return f"{one.name}=={Version(one.version).public}" if one.name in STACK else _exactly(one)


def _sources(opened: Opened, options: ChangeOptions, environ: Mapping[str, str]) -> Sources:
    """Return where from, with the pages of the torch stack: from old records, as its commands name them."""
    sources = sources_of(opened, options, environ)
    recorded = opened.record.plan.get("sources")
    pages = texts_of(recorded.get("find_links")) if isinstance(recorded, dict) else ()
    pages = pages or _pages_of_steps(opened.record.plan.get("steps"))
    return replace(sources, find_links=tuple(dict.fromkeys((*pages, *sources.find_links))))


def _pages_of_steps(steps: Any) -> tuple[str, ...]:
    found = []
    for step in steps if isinstance(steps, list) else ():
        argv = texts_of(step.get("argv")) if isinstance(step, dict) else ()
        found += [value for word, value in pairwise(argv) if word == "--find-links"]
    return tuple(found)


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
    found = {one.name: _bare(one) for one in installed}
    found |= {
        one.name: _of_row(one, row)
        for one in installed
        if (row := known.get((one.name, one.version))) and row.get("url")
    }
    unknown = {one.name: one for one in installed if found[one.name].filename is None and not one.direct}
    looked_up, told = _looked_up(unknown, opened, sources, options, environ)
    return {**found, **looked_up}, told


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
            pins=tuple(f"{one.name}=={one.version}" for one in left.values()),
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
        left = {name: one for name, one in left.items() if name not in missing}
    return {}, ()


def _bare(one: Installed) -> PlannedPackage:
    name = one.url.partition("#")[0].rpartition("/")[2] if one.url and one.url.startswith("http") else None
    digest = one.url.partition("#sha256=")[2] if one.url else ""
    return PlannedPackage(one.name, one.version, None, None, name, one.url, digest or None, None, "assumed")


def _of_row(one: Installed, row: dict[str, Any]) -> PlannedPackage:
    size, evidence = row.get("size"), row.get("evidence")
    return PlannedPackage(
        name=one.name,
        version=one.version,
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
    local = [one.name for one in installed if one.direct and one.url is None]
    if not local:
        return ()
    text = tr(
        "{names}: installed from a directory on this machine; an index may have something else",
        names=", ".join(local),
    )
    return (PlanWarning("from-a-folder", text),)


def _in_conda(plan: Plan, opened: Opened, machine: Machine, *, mixed: bool) -> Plan:
    """Return the plan with what conda installed, each by its version and build; of wheels, conda's Python."""
    recorded = opened.record.plan.get("conda")
    told = recorded if isinstance(recorded, dict) else {}
    names = texts_of(told.get("channels")) or (_FORGE,)
    records = installed_names(opened.place.path).values() if opened.is_condas else ()
    exact = tuple(f"{one.name} {one.version} {one.build}" for one in records)
    cuda = told.get("cuda")
    part = CondaPlan(
        channels=tuple(CondaChannel(name, ()) for name in names),
        specs=exact or (f"python {plan.python}.*", "pip"),
        pins=(),
        subdir=platform_of(machine),
        cuda=cuda if isinstance(cuda, str) else None,
        mixed=mixed,
    )
    return replace(
        plan, conda=part, packages=plan.packages if mixed else _with_condas(plan, records), pins=plan.pins
    )


def _with_condas(plan: Plan, records: Any) -> tuple[PlannedPackage, ...]:
    condas = (
        PlannedPackage(
            one.name,
            one.version,
            None,
            None,
            None,
            None,
            None,
            None,
            "wheel",
            one.channel or _FORGE,
            one.build,
            one.subdir or None,
        )
        for one in records
    )
    return (*condas, *plan.packages)
