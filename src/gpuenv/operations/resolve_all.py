"""All files of a plan before confirmation: what an installer would resolve, resolved once, and uv held to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments.os_errors import ways_out
from gpuenv.environments.wheel_cache import kept_wheel
from gpuenv.files.disk_space import check_download, check_minimum, existing_part, free_bytes
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.urls import is_remote
from gpuenv.installers import WHEEL_MANAGERS, uv
from gpuenv.installers import uv_compile as resolver
from gpuenv.installers.uv_cache import cache_directory, cached_wheels
from gpuenv.installers.uv_compile import CompileInput, Resolved
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Fix, GpuenvError
from gpuenv.model.plan import Plan
from gpuenv.planning.complete_wheelhouses import compile_requirements, from_wheelhouses
from gpuenv.planning.download_size import load_dependencies
from gpuenv.planning.machines import is_here
from gpuenv.planning.mirrors.sources import is_mirror
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.direct_urls import with_direct_urls
from gpuenv.planning.resolve_others import held_files, packages_of
from gpuenv.planning.steps import resolver_question, with_steps
from gpuenv.planning.warnings import with_shadow_warnings
from gpuenv.process.surroundings import cache_root
from gpuenv.resolution.download_size import estimate


def with_all_files(
    plan: Plan, options: PlanOptions, mirrors: Mirrors, environ: Mapping[str, str], target: Path
) -> Plan:
    """Return the plan with how much all its files are; by the matrix where they can't be known beforehand."""
    if plan.conda is not None or plan.manager not in WHEEL_MANAGERS or not is_here(options, plan.machines):
        return plan
    kept = _kept_stack(plan, environ)
    whole = plan if plan.is_whole else _resolved(plan, options, mirrors, environ, kept)
    local = from_wheelhouses(whole) if whole and plan.hashed is None else None
    if local is not None and local is not whole:
        plan = with_steps(replace(plan, sources=local.sources), str(target))
    planned = whole or plan
    fetched_here = {file.filename for file in plan.stack}
    names = {package.filename for package in planned.packages if package.filename} - fetched_here
    cached = kept.keys() | (cached_wheels(names, environ) if plan.manager == uv.NAME else frozenset())
    known = load_dependencies(environ)
    free = free_bytes(target)
    download = estimate(planned, known, whole=whole is not None, free=free, cached=frozenset(cached))
    return replace(plan, download=download, warnings=planned.warnings, held=planned.held)


def _kept_stack(plan: Plan, environ: Mapping[str, str]) -> dict[str, Path]:
    """Map the files of the stack that gpuenv has in its cache, and uv unpacked in its own, to their paths."""
    if plan.manager != uv.NAME:
        return {}
    places = ((file.filename, file.places[0]) for file in plan.stack if file.places)
    found = ((name, kept_wheel(cache_root(environ), place.sha256, name)) for name, place in places)
    stored = {name: path for name, path in found if path}
    unpacked = cached_wheels(stored, environ) if stored else frozenset()
    return {name: path for name, path in stored.items() if name in unpacked}


def _resolved(
    plan: Plan,
    options: PlanOptions,
    mirrors: Mirrors,
    environ: Mapping[str, str],
    kept: Mapping[str, Path],
) -> Plan | None:
    """Return the plan with all files; None where gpuenv fetches the stack, or resolving fails."""
    if any(is_mirror(file.places[0].index, options, mirrors) for file in plan.stack if file.places):
        return None  # some mirrors serve whole files only: uv would download a wheel to read its METADATA
    try:
        question = resolver_question(with_direct_urls(plan, mirrors), options)
        outcome = _compile(question, plan, kept, environ)
    except GpuenvError:
        return None  # the installer will report it, with all attempts
    if isinstance(outcome, Unresolvable):
        return None
    stack = {package.name for package in plan.packages}
    others = (package for package in packages_of(outcome) if package.name not in stack)
    whole = replace(plan, packages=(*plan.packages, *others))
    held = held_files(outcome, plan)
    return with_shadow_warnings(replace(whole, held=held), environ, offline=options.offline)


def _compile(
    question: CompileInput, plan: Plan, kept: Mapping[str, Path], environ: Mapping[str, str]
) -> Resolved | Unresolvable:
    """Resolve; of the files that are kept no page is read, which would take longer than all the rest."""
    links = question.sources.find_links
    if not kept or not all(map(is_remote, links)):
        return compile_requirements(question, environ)
    needed = {place.page for file in plan.stack if file.filename not in kept for place in file.places[:1]}
    pages = {place.page for file in plan.stack for place in file.places[:1]} - needed
    folders = (str(path.parent) for path in kept.values())
    links = (*folders, *(link for link in links if link not in pages))
    question = replace(question, sources=replace(question.sources, find_links=links))
    return resolver.compile_requirements(question, environ)


def check_least_room(manager: str, environ: Mapping[str, str], target: Path) -> None:
    """Raise InstallFailed `disk-full` where nothing fits where an environment goes, or where uv unpacks."""
    check_minimum(target, *ways_out())
    cache = cache_directory(environ) if manager == uv.NAME else None
    if cache is not None:
        check_minimum(cache, Fix(tr("free disk space, or set UV_CACHE_DIR to a directory on a larger disk")))


def check_disk(plan: Plan, environ: Mapping[str, str], target: Path) -> None:
    """Raise InstallFailed `disk-full` where the plan does not fit on the disk."""
    if plan.download is None:
        return
    needed = plan.download.installed + plan.download.size  # pip keeps what it fetched beside what it unpacks
    if plan.manager == uv.NAME:  # it unpacks while it fetches, and links to what its cache has
        needed = plan.download.fresh if _on_one_disk(environ, target) else plan.download.installed
    check_download(target, plan.download, needed)


def _on_one_disk(environ: Mapping[str, str], target: Path) -> bool:
    cache = cache_directory(environ)
    try:
        devices = {os.stat(existing_part(path)).st_dev for path in (cache, target) if path}  # noqa: PTH116
    except OSError:
        return False
    return cache is not None and len(devices) == 1
