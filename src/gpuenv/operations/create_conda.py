"""Make a conda environment: let the tool plan, compare, let it make, then install the wheels beside it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.environments.conda.create import CondaRunning
from gpuenv.environments.conda.create_rattler import create_with_rattler
from gpuenv.environments.conda.create_somewhere import create_somewhere
from gpuenv.environments.conda.package_cache import busy_cache
from gpuenv.environments.conda.unpacked_size import unpack_factor
from gpuenv.environments.run_steps import StepEnvironment, run_steps
from gpuenv.files.cache_lock import lock_shared
from gpuenv.files.disk_space import check_unpacked_space, first_writable, is_same_disk
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.mirrors.load import Mirrors, load_mirrors
from gpuenv.indexes.mirrors.lookup import mirror_at
from gpuenv.installers import CONDA_MANAGERS, rattler, uv
from gpuenv.installers.conda import tool as conda_tool
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.explicit import takes_lists
from gpuenv.installers.conda.solve import Solved, solve_somewhere
from gpuenv.installers.conda.tool import Calling
from gpuenv.model.conda import CondaPlan, CondaWanted
from gpuenv.model.plan import Plan
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.planning.steps import conda_wanted, has_pip_part
from gpuenv.process.surroundings import cache_root


class CondaCreation(Struct, frozen=True):
    """How it is created: its log and messages, the progress of downloads, and the mark in the journal.

    `phase` gets what the tool is at, with the packages that are done and all of them (0: not known), and
    `settled` is called when it has ended.
    """

    running: StepEnvironment
    progress: Callable[[int, int], None]
    mark: Callable[[], None]
    phase: Callable[[str, int, int], None] = lambda _, __, ___: None
    settled: Callable[[], None] = lambda: None


def environments_home(manager: str, environ: Mapping[str, str]) -> Path | None:
    """Return where a conda tool keeps its environments, so that it knows them by their names.

    As the tools do, it takes the first of their folders that can be written. None where gpuenv keeps them
    itself, as it does where none can. Raises UsageError where the tool is not there or is too old.
    """
    if manager not in CONDA_MANAGERS or manager == rattler.NAME:
        return None
    tool = conda_tool.find(cast("Tool", manager), environ)
    lock_shared(cache_root(environ))
    info = conda_tool.read_info(tool, Calling(environ, cache_root(environ)))
    return first_writable(info.environments)


def activation_command(manager: str, path: Path, environ: Mapping[str, str]) -> str:
    """Return the tool's own command that activates an environment: by its name where it knows that."""
    home = environments_home(manager, environ)
    by_name = home is not None and path.parent == home
    tool = "conda" if manager == rattler.NAME else manager
    return f"{tool} activate {shlex.quote(path.name if by_name else str(path))}"


def make_conda_environment(
    plan: Plan, part: CondaPlan, environment: EnvironmentPaths, making: CondaCreation
) -> None:
    """Make the environment of a plan at a place; raise what the tool's failure means."""
    wanted = conda_wanted(part, str(environment.path))
    try:
        if plan.manager == rattler.NAME:
            _make_with_rattler(plan, wanted, making)
        else:
            _make_with_tool(plan, wanted, making)
    finally:
        making.settled()
    making.mark()
    if has_pip_part(plan):
        # uv is run here, so that a failure is reported as the pip part's, and is rolled back as well
        environ = uv.environment(making.running.environ, plan.sources)
        running = replace(making.running, environ=environ, executables=uv.executables())
        run_steps(plan.steps[1:], running, making.mark)


def _make_with_tool(plan: Plan, wanted: CondaWanted, making: CondaCreation) -> None:
    running = making.running
    calling = _calling_for(plan, running)
    calling = replace(calling, shards=_have_shards(wanted, load_mirrors(running.environ)))
    tool = conda_tool.find(cast("Tool", plan.manager), running.environ)
    info = conda_tool.read_info(tool, calling)
    running.tell(plan.steps[0].why)
    if busy := busy_cache(tuple(map(Path, info.caches))):
        running.tell(tr("waiting for another conda tool, which uses the package cache {cache}", cache=busy))
    making.phase(tr("selecting packages"), 0, 0)
    solved = solve_somewhere(tool, wanted, calling)

    def check(solved: Solved) -> None:
        caches = tuple(map(Path, info.caches))
        _check_room(solved, first_writable(info.caches), caches, "CONDA_PKGS_DIRS")

    check(solved)
    lists = takes_lists(info, conda_tool.tool_versions())
    if not lists:
        facts = {"tool": tool.tool, "version": info.version}
        running.detail(
            tr("{tool} {version} cannot be given a list of packages: it selects them once more", **facts)
        )
    following = CondaRunning(
        calling,
        running.log,
        caches=info.caches,
        keep_open=running.keep_open,
        progress=making.progress,
        made=making.mark,
        phase=making.phase,
        lists=lists,
        detail=running.detail,
    )
    create_somewhere(tool, solved, following, plan.machines[0].system.os, check)


def _make_with_rattler(plan: Plan, wanted: CondaWanted, making: CondaCreation) -> None:
    running = making.running
    calling = _calling_for(plan, running)
    channels = series(channel.name for channel in wanted.channels)
    running.tell(tr("selecting packages from {channels}", channels=channels))
    solved = rattler.solve_somewhere(wanted, calling)
    running.tell(
        tr("{count} packages, {size} to fetch", count=len(solved.records), size=render_size(solved.size))
    )
    _check_room(solved, calling.cache, rattler.package_caches(calling), "GPUENV_CACHE_DIR")
    following = CondaRunning(
        calling, running.log, progress=making.progress, made=making.mark, phase=making.phase
    )
    create_with_rattler(solved, following, plan.machines[0].system.os)


def _have_shards(wanted: CondaWanted, mirrors: Mirrors) -> bool:
    """Whether all mirrors that may be used have sharded repodata."""
    urls = (url for channel in wanted.channels for url in channel.urls)
    result = (mirror_at(url, mirrors.all) for url in urls)
    return all(mirror.conda.shards for mirror in result if mirror and mirror.conda)


def _check_room(solved: Solved, packages: Path | None, caches: tuple[Path, ...], variable: str) -> None:
    """Raise InstallFailed where what is to be fetched does not fit: packed and unpacked, and where it goes.

    The environment's files are links to those of the cache, where both are on one disk.
    """
    prefix = Path(solved.wanted.prefix)
    unpacked = round(solved.size * unpack_factor(caches, solved.wanted.subdir))
    if packages is not None:
        moved = tr("free disk space, or set {variable} to a directory on a larger disk", variable=variable)
        check_unpacked_space(packages, solved.size, solved.size + unpacked, moved)
    elsewhere = tr("free disk space, or give a path on a larger disk instead of NAME")
    linked = packages is not None and is_same_disk(packages, prefix)
    check_unpacked_space(prefix, solved.size, solved.size if linked else unpacked, elsewhere)


def _calling_for(plan: Plan, running: StepEnvironment) -> Calling:
    cache, sources = cache_root(running.environ), plan.sources
    lock_shared(cache)
    return Calling(
        running.environ,
        cache,
        ca_bundle=sources.access.ca_bundle,
        tell=running.tell,
        offline=sources.offline,
    )
