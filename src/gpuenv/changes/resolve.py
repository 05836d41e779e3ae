"""Resolve a change together with all installed packages, the torch stack held."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.changes.open_environment import Opened, requirements_of, texts_of
from gpuenv.formats.json import render_package
from gpuenv.http import HttpClient, fetch_sizes
from gpuenv.indexes.urls import is_remote
from gpuenv.installers.changes import ChangeQuestion, ask_changes
from gpuenv.installers.dry_run import PackageChange
from gpuenv.installers.uv_compile import CompileInput, Resolved, ResolvedFile, compile_requirements
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import GpuenvError
from gpuenv.model.installed import Installed
from gpuenv.model.plan import Plan, PlanWarning, Sources
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.resolve_others import planned_file
from gpuenv.resolution.request import STACK
from gpuenv.secrets.url_credentials import without_userinfo


class ChangeRequest(Struct, frozen=True):
    """What is to hold: `pins` by name (the torch stack above all), `requirements` by name, the sources.

    `upgrade` are names to bring to the newest version; `plan` is one that some of the pins are from.
    """

    pins: dict[str, str]
    requirements: dict[str, str]
    sources: Sources
    offline: bool = False
    upgrade: tuple[str, ...] = ()
    plan: Plan | None = None
    constraints: tuple[str, ...] = ()


class PlannedChange(Struct, frozen=True):
    """A change that was decided. `moved` is the plan of another torch, where it is one."""

    opened: Opened
    request: ChangeRequest
    changes: tuple[PackageChange, ...]
    requested: tuple[str, ...]  # what the environment is made of afterwards
    files: tuple[ResolvedFile, ...] = ()
    moved: Plan | None = None
    warnings: tuple[PlanWarning, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def fetched(self) -> int:
        """How many bytes are to be downloaded, as far as indexes tell."""
        return sum(change.size or 0 for change in self.changes if change.after)


def special_names(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the projects whose builds are for one torch: the torch stack, and those of ecosystem.json."""
    return frozenset((*STACK, *load_knowledge(environ).ecosystem.made_for_torch))


def held_pins(opened: Opened, special: Iterable[str]) -> dict[str, str]:
    """Return the exact versions of what may not change: the torch stack, what is made for it, and conda's."""
    held = set(special)
    return {
        package.name: _exactly(package)
        for package in opened.installed
        if package.name in held or package.is_condas or package.direct
    }


def _exactly(package: Installed) -> str:
    """`===` keeps a build without a local version from standing for one that has it: `2.15.0+cpu`."""
    exact = package.name in STACK and "+" not in package.version
    return f"{package.name}{'===' if exact else '=='}{package.version}"


def decide_changes(
    opened: Opened, request: ChangeRequest, environ: Mapping[str, str], *, narrow: bool = False
) -> tuple[PackageChange, ...] | Unresolvable:
    """Return what the request changes; `narrow` ignores installed packages that nobody asked for."""
    there = {} if narrow else {package.name: package.name for package in opened.installed}
    texts = {**there, **request.requirements, **request.pins}
    question = ChangeQuestion(
        python=str(opened.python),
        requirements=tuple(texts[name] for name in sorted(texts)),
        constraints=(*opened.constraints, *request.constraints),
        sources=request.sources,
        offline=request.offline,
        upgrade=request.upgrade,
        again=_unseen(opened, request.pins),
    )
    return ask_changes(question, environ)


def _unseen(opened: Opened, pins: dict[str, str]) -> tuple[str, ...]:
    """Return what the installer would treat as installed: 2.7.1+cpu satisfies `==2.7.1` as well."""
    there = opened.versions
    bare = ((name, Requirement(pin)) for name, pin in pins.items() if "+" not in pin and "@" not in pin)
    return tuple(
        name
        for name, pin in bare
        if "+" in there.get(name, "")
        and any(specifier.version == there[name].partition("+")[0] for specifier in pin.specifier)
    )


def with_files(planned: PlannedChange, environ: Mapping[str, str]) -> PlannedChange:
    """Return the change with the URLs, hashes and sizes of its files, as far as indexes tell them."""
    coming = tuple(exact(change, planned.request) for change in planned.changes if change.after)
    if not coming:
        return planned
    files = _looked_up(planned, coming, environ)
    sizes = {file.name: file.size for file in files}
    own = {package.name: package.size for package in planned.opened.installed}
    changes = tuple(
        replace(change, size=sizes.get(change.name) if change.after else own.get(change.name))
        for change in planned.changes
    )
    return replace(planned, files=files, changes=changes)


def _looked_up(
    planned: PlannedChange, coming: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[ResolvedFile, ...]:
    request = planned.request
    question = CompileInput(
        pins=coming,
        requirements=(),
        constraints=(),
        sources=request.sources,
        python=planned.opened.minor,
        offline=request.offline,
        interpreter=str(planned.opened.python) or sys.executable,
        no_deps=True,
    )
    try:
        resolved = compile_requirements(question, environ)
    except GpuenvError:  # only sizes are shown
        return ()
    files = resolved.files if isinstance(resolved, Resolved) else ()
    unknown = tuple(file.url for file in files if file.size is None and file.url and is_remote(file.url))
    if not unknown or request.offline:
        return files
    with HttpClient(environ, access=request.sources.access) as client:
        sizes = dict(zip(unknown, fetch_sizes(client, unknown), strict=True))
    return tuple(replace(file, size=file.size or sizes.get(file.url or "")) for file in files)


def exact(change: PackageChange, request: ChangeRequest) -> str:
    """Return the requirement that is installed for a change: its pin, its address, or its version."""
    pin = request.pins.get(change.name)
    if pin is not None:
        return pin
    requested = request.requirements.get(change.name)
    if requested is not None and Requirement(requested).url:
        return requested
    return f"{change.name} @ {change.url}" if change.url else f"{change.name}=={change.after}"


def changed_plan(planned: PlannedChange, base: dict[str, Any]) -> dict[str, Any]:
    """Return the data of the environment's plan after the change; `base` is the plan before."""
    coming = {file.name: render_package(planned_file(file)) for file in planned.files}
    after = {change.name: change.after for change in planned.changes}
    kept = [
        row
        for row in package_rows(base)
        if after.get(str(row.get("name")), row.get("version")) == row.get("version")
    ]
    there = {row.get("name") for row in kept}
    new = [row for name, row in coming.items() if name not in there]
    pins = _pins_after(planned, base)
    stack = [row for name in pins for row in (*kept, *new) if row.get("name") == name]
    others = [row for row in (*kept, *new) if row.get("name") not in pins]
    named = ((canonicalize_name(Requirement(text).name), text) for text in planned.requested)
    asked = to_builtins(replace(planned.opened.original, requirements=planned.requested))
    return {
        **base,
        "packages": [*stack, *others],
        "pins": list(pins.values()),
        "requirements": [text for name, text in named if name not in pins and name not in STACK],
        "asked": {key: list(value) if isinstance(value, tuple) else value for key, value in asked.items()},
        "sources": _sources_after(planned, base),
    }


def package_rows(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages of a recorded plan."""
    rows = plan.get("packages")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _pins_after(planned: PlannedChange, base: dict[str, Any]) -> dict[str, str]:
    """Return the pins by name, torch's first: those of before that stay, and those of builds that come."""
    before = {canonicalize_name(Requirement(pin).name): pin for pin in requirements_of(base.get("pins"))}
    come = {change.name for change in planned.changes if change.after}
    gone = {change.name for change in planned.changes if change.after is None}
    planned_pins = planned.request.plan.pins if planned.request.plan else ()
    new = {canonicalize_name(Requirement(pin).name): pin for pin in planned_pins}
    pins = {**before, **{name: pin for name, pin in new.items() if name in come}}
    ordered = sorted(pins, key=lambda name: STACK.index(name) if name in STACK else len(STACK))
    return {name: pins[name] for name in ordered if name not in gone}


def _sources_after(planned: PlannedChange, base: dict[str, Any]) -> Any:
    """Return the sources with the pages of the builds that came."""
    sources = base.get("sources")
    if not isinstance(sources, dict):
        return sources
    new = tuple(map(without_userinfo, planned.request.sources.find_links)) if planned.changes else ()
    return {**sources, "find_links": list(dict.fromkeys((*texts_of(sources.get("find_links")), *new)))}
