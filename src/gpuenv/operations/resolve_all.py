"""All files of a plan before confirmation: what the installer would resolve, resolved now.

The installer's own resolution finds in uv's cache what this one read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments.os_errors import ways_out
from gpuenv.files.disk_space import check_download, check_minimum, existing_part, free_bytes
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.installers import WHEEL_MANAGERS, uv
from gpuenv.installers.uv_cache import cache_directory, cached_wheels
from gpuenv.installers.uv_failure import Unresolvable
from gpuenv.model.errors import Fix, GpuenvError
from gpuenv.model.plan import Plan
from gpuenv.planning.complete_wheelhouses import compile_requirements, from_wheelhouses
from gpuenv.planning.download_size import load_dependencies
from gpuenv.planning.machines import is_here
from gpuenv.planning.mirrors.sources import is_mirror
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.direct_urls import with_direct_urls
from gpuenv.planning.resolve_others import packages_of
from gpuenv.planning.steps import resolver_question, with_steps
from gpuenv.planning.warnings import with_shadow_warnings
from gpuenv.resolution.download_size import estimate
from gpuenv.resolution.target import choose_target


def with_all_files(
    plan: Plan, options: PlanOptions, mirrors: Mirrors, environ: Mapping[str, str], target: Path
) -> Plan:
    """Return the plan with how much all its files are; by the matrix where they can't be known beforehand."""
    if plan.conda is not None or plan.manager not in WHEEL_MANAGERS or not is_here(options, plan.machines):
        return plan
    whole = plan if plan.is_whole else _resolved(plan, options, mirrors, environ)
    local = from_wheelhouses(whole) if whole and plan.hashed is None else None
    if local is not None and local is not whole:
        plan = with_steps(replace(plan, sources=local.sources), str(target))
    planned = whole or plan
    names = tuple(package.filename for package in planned.packages if package.filename)
    cached = cached_wheels(names, environ) if plan.manager == uv.NAME else frozenset()
    known = load_dependencies(environ)
    download = estimate(planned, known, whole=whole is not None, free=free_bytes(target), cached=cached)
    return replace(plan, download=download, warnings=planned.warnings)


def _resolved(plan: Plan, options: PlanOptions, mirrors: Mirrors, environ: Mapping[str, str]) -> Plan | None:
    """Return the plan with all files; None where gpuenv fetches the stack, or resolving fails."""
    if any(is_mirror(file.places[0].index, options, mirrors) for file in plan.stack if file.places):
        return None  # some mirrors serve whole files only: uv would download a wheel to read its METADATA
    try:
        target = choose_target(plan.machines, options.devices, cpu=plan.variant == "cpu")
        outcome = compile_requirements(
            resolver_question(with_direct_urls(plan, mirrors), target, options), environ
        )
    except GpuenvError:
        return None  # the installer will report it, with all attempts
    if isinstance(outcome, Unresolvable):
        return None
    stack = {package.name for package in plan.packages}
    others = (package for package in packages_of(outcome) if package.name not in stack)
    whole = replace(plan, packages=(*plan.packages, *others))
    return with_shadow_warnings(whole, environ, offline=options.offline)


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
