"""Fetch the torch stack of a plan, so that each file is checked before an installer sees it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.environments.fetch_wheel import Fetched, FetchProgress, Missed, NotFetchedError, fetch_file
from gpuenv.environments.os_errors import convert_os_error
from gpuenv.environments.wheel_cache import WheelStore, is_plain, kept_wheel, plain_digest
from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.allowance import MOST
from gpuenv.http.pool import in_turns
from gpuenv.http.timeouts import Watch
from gpuenv.i18n.messages import N_, tr
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.urls import is_remote
from gpuenv.installers import uv
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.model.plan import (
    CheckedFile,
    CheckedStack,
    FilePlace,
    Plan,
    PlannedPackage,
    PlanWarning,
    StackFile,
)
from gpuenv.planning.hashes import keep_hashes
from gpuenv.planning.machines import is_here
from gpuenv.planning.mirrors.sources import is_mirror, label_of
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.steps import with_steps
from gpuenv.process.surroundings import writable_cache
from gpuenv.secrets.url_credentials import redact_credentials


class FetchWatcher(Protocol):
    """Who follows the downloads; called from several threads."""

    def begin(self, files: int, size: int | None) -> None:
        """Files are about to be fetched, of so many bytes if that is known."""

    def file(self, filename: str, location: str) -> None:
        """A file is fetched from a place now."""

    def received(self, count: int) -> None:
        """Bytes were received; fewer than 0: they are fetched again."""

    def tell(self, text: str) -> None:
        """There is a message for the user."""


class Provided(Struct, frozen=True):
    """A plan whose files were fetched: `planned` names their sources, `local` is installed from disk."""

    planned: Plan
    local: Plan


class StackNotFetchedError(Exception):
    """A file of the torch stack could not be fetched from any place that lists it."""

    def __init__(self, file: StackFile, missed: tuple[Missed, ...]) -> None:
        super().__init__(file.filename)
        self.file = file
        self.missed = missed
        self.log: Path | None = None

    def logged(self, log: Path) -> StackNotFetchedError:
        """Return the error with the log of all attempts."""
        self.log = log
        return self

    @property
    def wrong(self) -> bool:
        """Whether some place sent a file other than the one listed."""
        return any(missed.wrong for missed in self.missed)


def fetch_stack(
    plan: Plan,
    options: PlanOptions,
    mirrors: Mirrors,
    environ: Mapping[str, str],
    watcher: FetchWatcher,
    *,
    target: str,
) -> Provided:
    """Fetch and check the files of the torch stack; return the plans to show and to install.

    Files of wheelhouses are checked in place. What an index of the user's does not serve to gpuenv (it may
    require a password that only the installer has) is left to the installer. `target` is where
    the environment goes. Raises StackNotFetchedError, UsageError (the cache can't be written) and
    InstallFailed (the disk is full).
    """
    if options.offline:
        links = tuple(link for link in plan.sources.find_links if not is_remote(link))
        plan = with_steps(
            replace(plan, sources=replace(plan.sources, find_links=links, offline=True)), target
        )
    wanted = tuple(_wanted(plan, offline=options.offline))
    if not wanted:
        return Provided(plan, _held(plan, options, environ, target))
    store = WheelStore(writable_cache(environ))
    store.check_space(tuple((plain_digest(file.places[0].sha256), _size(file, plan)) for file in wanted))
    sizes = tuple(_size(file, plan) for file in wanted if not _is_there(file, store))
    if sizes:  # the others are only checked
        watcher.begin(len(sizes), sum(sizes) if all(sizes) else None)
    try:
        fetched = _fetch_all(store, plan, wanted, options, mirrors, environ, watcher)
    except OSError as error:
        raise convert_os_error(store.root, error) from error
    store.prune()
    local = _local(plan, fetched, environ, target)
    return Provided(_with_sources(plan, fetched, mirrors), _held(local, options, environ, target))


def _wanted(plan: Plan, *, offline: bool) -> Iterator[StackFile]:
    """Yield the files to check; those that the user names by address the installer has from there."""
    named = {
        canonicalize_name(requirement.name) for requirement in map(Requirement, plan.pins) if requirement.url
    }
    for file in plan.stack:
        places = tuple(location for location in file.places if not (offline and is_remote(location.url)))
        if places and is_plain(file.filename) and canonicalize_name(file.name) not in named:
            yield replace(file, places=places)


def _is_there(file: StackFile, store: WheelStore) -> bool:
    place = file.places[0]
    kept = kept_wheel(store.root.parent, place.sha256, file.filename)
    return not is_remote(place.url) or kept is not None


def _size(file: StackFile, plan: Plan) -> int:
    planned = next((item.size for item in plan.packages if item.filename == file.filename), None)
    return file.places[0].size or planned or 0


def _fetch_all(
    store: WheelStore,
    plan: Plan,
    wanted: tuple[StackFile, ...],
    options: PlanOptions,
    mirrors: Mirrors,
    environ: Mapping[str, str],
    watcher: FetchWatcher,
) -> tuple[Fetched, ...]:
    def fetch(file: StackFile) -> Fetched | None:
        try:
            return fetch_file(store, client, file, watch, follow)
        except NotFetchedError as error:
            if any(item.wrong or is_mirror(item.place.index, options, mirrors) for item in error.missed):
                raise
            return None

    watch = Watch(watcher.received, threading.Event())
    follow = _follow(watcher, mirrors)
    fetched: dict[int, Fetched | None] = {}
    with HttpClient(environ, access=plan.sources.access) as client:
        jobs = [partial(fetch, file) for file in wanted]
        try:
            for number, answer in in_turns(jobs, at_a_time=MOST, limit_s=math.inf):
                if isinstance(answer, HttpProblem):  # no limit, so none is given up
                    raise AssertionError(answer.reason)
                fetched[number] = answer
        except NotFetchedError as error:
            raise StackNotFetchedError(error.file, error.missed) from None
        finally:
            if watch.stop is not None:
                watch.stop.set()
    return tuple(item for number in range(len(wanted)) if (item := fetched[number]) is not None)


def _follow(watcher: FetchWatcher, mirrors: Mirrors) -> FetchProgress:
    def begins(file: StackFile, location: FilePlace) -> None:
        watcher.file(file.filename, label_of(location.index, mirrors))

    def missed(file: StackFile, item: Missed) -> None:
        watcher.tell(_missed_text(file, item, mirrors))

    def waits(file: StackFile) -> None:
        watcher.tell(tr("another gpuenv is fetching {file}; waiting for it", file=file.filename))

    return FetchProgress(begins, missed, waits)


def _missed_text(file: StackFile, missed: Missed, mirrors: Mirrors) -> str:
    """Describe what a mirror did wrong."""
    mirror = label_of(missed.place.index, mirrors)
    return tr("mirror {mirror}: {file} {reason}", mirror=mirror, file=file.filename, reason=missed.reason)


def not_fetched(error: StackNotFetchedError, mirrors: Mirrors) -> InstallFailed:
    """Return the error of a command that can't turn to another plan."""
    because = tuple(
        Because(_missed_text(error.file, missed, mirrors), redact_credentials(missed.place.url))
        for missed in error.missed
    )
    fixes = (
        Fix(tr("see which mirrors have it"), "gpuenv mirrors check"),
        Fix(tr("or name another one with --mirror")),
    )
    text = N_("{file} is not available intact from any index that lists it; partial files were removed")
    return InstallFailed(
        tr(text, file=error.file.filename),
        code="file-wrong" if error.wrong else "file-unreachable",
        because=because,
        fixes=fixes,
        data={"log": str(error.log)} if error.log else None,
    )


def _with_sources(plan: Plan, fetched: tuple[Fetched, ...], mirrors: Mirrors) -> Plan:
    """Return the plan with the places that the files really came from."""
    by_name = {item.file.filename: item for item in fetched}
    warnings = tuple(
        PlanWarning("mirror-file-passed-over", _passed_over(item, missed, mirrors))
        for item in fetched
        for missed in item.missed
    )
    packages = tuple(_fetched_package(item, by_name.get(item.filename or "")) for item in plan.packages)
    return replace(plan, packages=packages, warnings=(*plan.warnings, *warnings))


def _passed_over(fetched: Fetched, missed: Missed, mirrors: Mirrors) -> str:
    fault = _missed_text(fetched.file, missed, mirrors)
    return tr("{fault}; using {mirror} instead", fault=fault, mirror=label_of(fetched.place.index, mirrors))


def _fetched_package(package: PlannedPackage, fetched: Fetched | None) -> PlannedPackage:
    if fetched is None:
        return package
    location = fetched.place
    return replace(
        package,
        index=redact_credentials(location.index),
        url=redact_credentials(location.url),
        sha256=fetched.sha256,
        size=fetched.path.stat().st_size,
    )


def _local(plan: Plan, fetched: tuple[Fetched, ...], environ: Mapping[str, str], target: str) -> Plan:
    """Return the plan that installs the files on this disk, whatever index pages list."""
    checked = _checked(fetched, environ)
    names = {item.file.filename for item in fetched}
    left_out = (file for file in plan.stack if file.filename not in names)
    needed = {location.page for file in left_out for location in file.places[:1]}
    pages = {item.file.places[0].page for item in fetched if is_remote(item.file.places[0].page)} - needed
    links = tuple(link for link in plan.sources.find_links if link not in pages)
    folders = checked.folders if checked else ()
    sources = replace(plan.sources, find_links=tuple(dict.fromkeys((*folders, *links))))
    return with_steps(replace(plan, sources=sources, checked=checked), target)


def _held(plan: Plan, options: PlanOptions, environ: Mapping[str, str], target: str) -> Plan:
    """Return the plan that installs what was resolved, by hash, where all of the stack is checked."""
    held = plan.held
    if held is None or plan.manager != uv.NAME:
        return plan
    checked = plan.checked.names if plan.checked else frozenset[str]()
    pinned = {package.name for package in plan.packages[: len(plan.pins)]}
    is_this_machine = is_here(options, plan.machines) and options.glibc is None
    if not (is_this_machine and pinned <= checked):
        return replace(plan, held=None)
    lines = (f"{file.name}==={file.version} --hash=sha256:{file.sha256}\n" for file in held.packages)
    listed = str(keep_hashes("".join(lines), environ))
    return with_steps(replace(plan, held=replace(held, listed=listed)), target)


def _checked(fetched: tuple[Fetched, ...], environ: Mapping[str, str]) -> CheckedStack | None:
    if not fetched:
        return None
    files = tuple(
        CheckedFile(
            item.file.name,
            str(parse_wheel_filename(item.file.filename)[1]),
            str(item.path),
            item.sha256,
        )
        for item in fetched
    )
    lines = (f"{file.name}==={file.version} --hash=sha256:{file.sha256}\n" for file in files)
    return CheckedStack(files, str(keep_hashes("".join(lines), environ)))
