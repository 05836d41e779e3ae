"""What `clone` and `rename` have in common: which environment, where to, and what changes in its files."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments import transaction as apply
from gpuenv.environments.contents.constraints_file import CONSTRAINTS
from gpuenv.environments.file_lock import locked
from gpuenv.environments.find_paths import Rewritten, rewritten_files
from gpuenv.environments.listing import Environment, place_of
from gpuenv.environments.pending import is_pending
from gpuenv.environments.record import LARGEST, Record, parse_record, render_record
from gpuenv.environments.rewrite_paths import Move, replaced
from gpuenv.files.read_limited import read_regular
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.on_disk.places import RECORD, EnvironmentPaths
from gpuenv.operations.find import existing, foreign, unreadable
from gpuenv.operations.manage import existing_to_change
from gpuenv.operations.settle import word_for
from gpuenv.untrusted.printable import printable

_UNSAFE = re.compile(r"[\x00-\x1f'\"`$\\!%&|;<>^*?]")  # what some shell's activation script would read


def source_environment(
    name: str, environ: Mapping[str, str], conda: Callable[[str], Fix], *, change: bool = False
) -> Environment:
    """Return the environment of that name or at that path.

    Raises UsageError for an unknown or busy one, for one whose record can't be read, and for those of conda
    tools, which know their environments by path: `conda` says what to run instead. Of one that is to `change`
    an interrupted change is finished or undone first.
    """
    path = foreign(name, environ)
    if path is not None:
        raise _of_conda(path, conda(str(path)))
    if os.name == "nt":
        raise UsageError(
            tr("environments cannot be copied or renamed on Windows: their programs contain the path"),
            code="not-on-windows",
            fixes=(Fix(tr("recreate it"), f"gpuenv export {shlex.quote(name)}"),),
        )
    environment = existing_to_change(name, environ) if change else existing(name, environ)
    root = environment.paths.path
    if environment.record.manager in CONDA_MANAGERS or (root / "conda-meta").is_dir():
        raise _of_conda(root, conda(str(root)))
    problem = unreadable(environment)
    if problem is not None:
        raise UsageError(problem.message, code=problem.code)
    return environment


def _of_conda(path: Path, fix: Fix) -> UsageError:
    return UsageError(
        tr("{path} is a conda environment: its tool refers to it by path", path=path),
        code="conda-environment",
        because=(Because(tr("its packages contain this path"), str(path / "conda-meta")),),
        fixes=(fix,),
    )


def new_place(name: str, source: EnvironmentPaths, environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return where the new name is; raise UsageError where nothing can or may be made."""
    environment = place_of(name, environ)
    if _UNSAFE.search(str(environment.path)):
        raise UsageError(
            tr(
                "environments cannot be kept in `{path}`: {problem}",
                path=printable(str(environment.path)),
                problem=tr("it has characters that activation scripts do not support"),
            ),
            code="bad-path",
            fixes=(Fix(tr("create it at another path")),),
        )
    if environment.key == source.key:
        raise UsageError(
            tr("`{name}` is already the name of the environment", name=name)
            if environment.path == source.path
            else tr(
                "`{name}` and `{other}` are the same name to some file systems", name=name, other=source.name
            ),
            code="same-name",
            fixes=(Fix(tr("choose another name")),),
        )
    if environment.path.is_relative_to(source.path) or source.path.is_relative_to(environment.path):
        raise UsageError(
            tr("`{path}` and `{other}` contain each other", path=environment.path, other=source.path),
            code="bad-name",
            fixes=(Fix(tr("choose a path next to the environment")),),
        )
    if not is_pending(environment):
        check_new(environment)
    return environment


def check_new(environment: EnvironmentPaths) -> None:
    """Raise UsageError where something lies already; an empty directory is free."""
    try:
        apply.check_free(environment, force=False)
    except UsageError as error:
        if error.code != "environment-exists":
            raise
        remove = f"gpuenv remove {word_for(environment)}"
        fixes = (Fix(tr("choose another name")), Fix(tr("or remove that one first"), remove))
        raise UsageError(error.message, code=error.code, fixes=fixes) from None


@contextmanager
def both_locked(
    changed: tuple[EnvironmentPaths, ...],
    other: EnvironmentPaths,
    *,
    wait_s: float,
    tell: Callable[[str], None],
) -> Iterator[None]:
    """Hold the locks of environments, always in the same order.

    What a kill has left at those that will be `changed` is finished or undone.
    """
    with ExitStack() as stack:
        ordered = sorted({*changed, other}, key=lambda paths: paths.key)
        for environment in ordered:
            stack.enter_context(locked(environment, wait_s=wait_s, tell=tell))
        for environment in changed:
            if apply.recover(environment):
                tell(tr("an interrupted change of `{name}` was undone", name=environment.name))
        yield


def move_between(old: EnvironmentPaths, new: EnvironmentPaths) -> Move:
    """Return the move; scripts may name the environment by its path with links followed as well."""
    real = os.path.realpath(old.path)
    return Move(tuple(dict.fromkeys((str(old.path), real))), str(new.path), (old.path.name, new.path.name))


def moved_files(
    root: Path, old: EnvironmentPaths, new: EnvironmentPaths, change: Callable[[Record], Record]
) -> tuple[Rewritten, ...]:
    """Return what changes in the environment that lies at `root` now, its record last; raise OSError."""
    move = move_between(old, new)
    files = rewritten_files(root, move)
    try:
        record = parse_record(replaced(read_regular(root / RECORD, LARGEST), move).decode("utf-8"))
    except ValueError as error:
        raise OSError(f"{root / RECORD}: {reason_of(error)}") from error
    text = render_record(change(replace(record, name=new.name)))
    return (
        *(rewritten for rewritten in files if rewritten.path != CONSTRAINTS),
        *_constraints(root, old, new),
        Rewritten(RECORD, text.encode("ascii")),
    )


def _constraints(root: Path, old: EnvironmentPaths, new: EnvironmentPaths) -> tuple[Rewritten, ...]:
    """Return the constraints with the new name in what they say; pins that were lifted stay so."""
    try:
        before = read_regular(root / CONSTRAINTS)
    except FileNotFoundError:
        return ()
    line = "gpuenv update {} --torch"
    after = before.replace(os.fsencode(line.format(word_for(old))), os.fsencode(line.format(word_for(new))))
    return (Rewritten(CONSTRAINTS, after),) if after != before else ()
