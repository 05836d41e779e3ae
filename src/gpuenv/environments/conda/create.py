"""Let a conda tool create an environment, follow its progress, and check the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.environments.conda.explicit_list import record_as_solved, to_list, written_list
from gpuenv.environments.conda.meta import problem_in
from gpuenv.environments.conda.package_cache import Downloads
from gpuenv.files.disk_space import free_bytes
from gpuenv.i18n.amounts import render_size
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.failure import CondaFailure, explain
from gpuenv.installers.conda.json_output import last_document
from gpuenv.installers.conda.solve import Solved, error_of
from gpuenv.installers.conda.tool import (
    Calling,
    CondaTool,
    create_argv,
    failure_words,
    listed_environments,
    run_variables,
)
from gpuenv.model.conda import CondaPin, CondaRecord
from gpuenv.model.errors import Because, Fix, GpuenvError, InstallFailed, UsageError
from gpuenv.on_disk.directories import remove_tree
from gpuenv.process import subprocesses as process

_LOOK_EVERY_S = 0.3
_FULL_BELOW = 4_000_000  # bytes


class CondaRunning(Struct, frozen=True):
    """How a conda tool is run and followed.

    `caches` are its package caches. `progress` gets the bytes downloaded and their total, `made` is called as
    soon as the environment's directory exists (a journal marks it then). `phase` gets what the tool does once
    all is downloaded, with the packages that are done and all of them. With `lists` the tool gets a list of
    the packages that it solved, where one can be written; else it solves again, `detail` gets the reason.
    """

    calling: Calling
    log: Path
    caches: tuple[str, ...] = ()
    keep_open: tuple[int, ...] = ()
    progress: Callable[[int, int], None] = lambda _, __: None
    made: Callable[[], None] = lambda: None
    every_s: float = _LOOK_EVERY_S
    phase: Callable[[str, int, int], None] = lambda _, __, ___: None
    lists: bool = False
    detail: Callable[[str], None] = lambda _: None


def create_environment(tool: CondaTool, solved: Solved, running: CondaRunning, system: str) -> None:
    """Make the environment that was solved; it is there whole, or its path is free.

    The path must be free or an empty directory: UsageError else, as conda tools install into an existing
    directory, or delete it. Raises InstallFailed, Unreachable and the like where the tool fails, or differs
    from its plan whatever its exit status; Ctrl-C ends it and removes what it has created.
    """
    prefix = Path(solved.wanted.prefix)
    make_way(prefix)
    follower = _Follower(solved, running, prefix)
    try:
        with _listed(tool, solved, running) as file:
            done = process.attend(
                create_argv(tool, solved.wanted, file),
                log=running.log,
                environ=run_variables(solved.wanted, running.calling),
                tick=follower.look,
                every_s=running.every_s,
                keep_open=running.keep_open,
            )
        follower.look()
        _check(tool, solved, done, running, system, follower.full())
        if file:
            _put_right(solved, running)
    except BaseException:  # conda tools leave what they began, and list it ever after
        remove_tree(prefix)
        raise
    running.progress(solved.size, solved.size)
    running.made()


@contextmanager
def _listed(tool: CondaTool, solved: Solved, running: CondaRunning) -> Iterator[Path | None]:
    """Write the list of packages where the tool is to have one; None where it solves again."""
    with ExitStack() as stack:
        file = None
        if running.lists:
            try:
                records = to_list(tool.tool, solved, tuple(map(Path, running.caches)))
                file = stack.enter_context(written_list(records, solved.wanted.subdir))
            except (OSError, ValueError) as error:
                facts = {"tool": tool.tool, "reason": reason_of(error)}
                running.detail(tr("{tool} selects the packages once more: {reason}", **facts))
        yield file


def _put_right(solved: Solved, running: CondaRunning) -> None:
    try:
        record_as_solved(solved, tuple(map(Path, running.caches)))
    except (OSError, ValueError) as error:
        prefix, problem = Path(solved.wanted.prefix), reason_of(error)
        message = tr("the records of the environment could not be completed: {problem}", problem=problem)
        raise _not_as_planned(message, problem, prefix, running.log) from None


def make_way(prefix: Path) -> None:
    """Take away the empty directory that gpuenv made: micromamba refuses any that it did not make itself."""
    if not os.path.lexists(prefix):
        prefix.parent.mkdir(parents=True, exist_ok=True)
        return
    if prefix.is_symlink() or not prefix.is_dir() or any(prefix.iterdir()):
        raise UsageError(
            tr("`{path}` already exists: a conda tool would install into it or delete it", path=prefix),
            code="environment-exists",
            fixes=(Fix(tr("choose another name")),),
        )
    prefix.rmdir()


class _Follower:
    """What is done every moment while a tool works."""

    def __init__(self, solved: Solved, running: CondaRunning, prefix: Path) -> None:
        self._solved, self._running, self._prefix = solved, running, prefix
        self._downloads = Downloads(solved.fetch, tuple(map(Path, running.caches)))
        self._lowest: dict[Path, int] = {}

    def look(self) -> None:
        """Show how far it is; note how full the disks are, as tools remove what they could not finish."""
        solved, running = self._solved, self._running
        if self._prefix.is_dir():
            running.made()
        for path in (self._prefix, *map(Path, running.caches)):
            free = free_bytes(path)
            if free is not None:
                self._lowest[path] = min(free, self._lowest.get(path, free))
        received = self._downloads.received() if solved.size else 0
        if received < solved.size:
            running.progress(received, solved.size)
        else:
            running.phase(tr("installing packages"), linked(self._prefix), len(solved.records))

    def full(self) -> str | None:
        """Return the disk on which hardly anything was free at some moment, in words."""
        worst = min(self._lowest.items(), key=lambda item: item[1], default=None)
        if worst is None or worst[1] >= _FULL_BELOW:
            return None
        return tr("{free} were free on the disk of {path}", free=render_size(worst[1]), path=worst[0])


def linked(prefix: Path) -> int:
    """Return how many packages have their record in an environment already."""
    try:
        return sum(path.suffix == ".json" for path in (prefix / "conda-meta").iterdir())
    except OSError:
        return 0


def _check(
    tool: CondaTool,
    solved: Solved,
    done: process.Completed,
    running: CondaRunning,
    system: str,
    full: str | None,
) -> None:
    prefix, log = Path(solved.wanted.prefix), running.log
    if done.returncode is None:
        raise _not_started(tool, done, log)
    if not done.ok or _says_failure(done.stdout):
        failure = explain(done.stdout, done.stderr, failure_words())
        if full and failure.kind in {
            "other",
            "corrupt",
        }:  # mamba's words tell little
            failure = replace(failure, kind="disk-full", reason=f"{failure.reason}\n{full}")
        raise _failed(tool, failure, done.returncode, log)
    problem = problem_in(prefix, solved.records, solved.wanted.pins, system)
    if problem is None:
        return
    failure = explain("", done.stderr, failure_words())
    if failure.kind != "other":
        raise _failed(tool, failure, done.returncode, log)
    message = tr("{tool} reported success, but {problem}", tool=tool.tool, problem=problem)
    if not prefix.exists():
        for path in map(Path, listed_environments(tool, running.calling.environ)):
            if path.name == prefix.name and problem_in(path, solved.records, (), system) is None:
                facts = {"tool": tool.tool, "path": path, "prefix": prefix}
                message = tr("{tool} created the environment at {path}, not at {prefix}", **facts)
    raise _not_as_planned(message, problem, prefix, log)


def check_conda_meta(
    prefix: Path, records: tuple[CondaRecord, ...], pins: tuple[CondaPin, ...], system: str, log: Path
) -> None:
    """Raise InstallFailed `not-as-planned` unless an environment has every planned package and each pin."""
    problem = problem_in(prefix, records, pins, system)
    if problem:
        message = tr("the environment differs from the plan: {problem}", problem=problem)
        raise _not_as_planned(message, problem, prefix, log)


def _says_failure(stdout: str) -> bool:
    try:
        return last_document(stdout).get("success") is False
    except ValueError:
        return False  # it prints something else; conda-meta tells


def _failed(tool: CondaTool, failure: CondaFailure, returncode: int, log: Path) -> GpuenvError:
    error = error_of(tool, failure, returncode)
    error.fixes = (*error.fixes, Fix(tr("the full log is in {log}", log=log)))
    if failure.kind == "lock":
        error.fixes = (
            Fix(tr("the package cache is in use by another conda tool: wait for it")),
            *error.fixes,
        )
    error.data = {**(error.data or {}), "log": str(log)}
    return error


def _not_started(tool: CondaTool, done: process.Completed, log: Path) -> InstallFailed:
    return InstallFailed(
        tr("`{program}` could not be started", program=tool.path),
        code="install-failed",
        because=(Because(done.error or "", tool.path),),
        data={"log": str(log)},
    )


def _not_as_planned(message: str, problem: str, where: Path, log: Path) -> InstallFailed:
    return InstallFailed(
        message,
        code="not-as-planned",
        because=(Because(problem, str(where)),),
        fixes=(Fix(tr("see in {log} what it did", log=log)),),
        data={"log": str(log)},
    )
