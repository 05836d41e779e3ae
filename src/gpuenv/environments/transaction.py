"""Make an environment in place, so that at every moment the previous one can be restored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from gpuenv.environments import journal as journals
from gpuenv.environments import ledger, snapshot
from gpuenv.environments.conda.foreign import is_foreign, what_is_in
from gpuenv.environments.os_errors import DISK_FULL, convert_os_error, converting_os_errors
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed, UsageError
from gpuenv.on_disk import journal as on_disk
from gpuenv.on_disk.directories import is_full, remove_tree
from gpuenv.on_disk.inside import find_inside
from gpuenv.on_disk.journal import Transaction, new_journal
from gpuenv.on_disk.places import RECORD, EnvironmentPaths, is_environment, is_free
from gpuenv.process import interruption


@contextmanager
def changing(environment: EnvironmentPaths, *, force: bool, foreign: bool = False) -> Iterator[Transaction]:
    """Begin a change; undo it unless it was committed. The environment must be locked and recovered.

    Signals are held: they end what waits, never a roll-back.
    Raises UsageError as `check_free` does. OSError is raised as InstallFailed.
    """
    check_free(environment, force=force, foreign=foreign)
    write, settle = (
        partial(journals.write_journal, environment),
        partial(journals.undo_or_finish, environment),
    )
    with (
        interruption.held(),
        converting_os_errors(environment),
        on_disk.changing(environment.path, write, settle) as change,
    ):
        yield change


def check_free(environment: EnvironmentPaths, *, force: bool, foreign: bool = False) -> None:
    """Raise UsageError unless the environment may be created; an empty directory is free.

    `force` replaces an environment, and nothing that is more than one; `foreign` also one of a conda tool
    that gpuenv did not make.
    """
    try:
        if is_free(environment.path):
            return
    except OSError as error:
        raise convert_os_error(environment.path, error) from None
    if not is_environment(environment.path):
        raise UsageError(
            tr("`{path}` exists and is not an environment: it is left unchanged", path=environment.path),
            code="not-an-environment",
            fixes=(Fix(tr("choose another name")),),
        )
    if not force:
        raise UsageError(
            tr("an environment `{name}` already exists", name=environment.name),
            code="environment-exists",
            fixes=(
                Fix(tr("replace it with --force (it is kept until the new one works)")),
                Fix(tr("or choose another name")),
            ),
        )
    _check_not_own(environment)
    check_alone(environment)
    if is_foreign(environment.path) and not foreign:
        raise UsageError(
            tr("the conda environment {path} was not created by gpuenv", path=environment.path),
            code="foreign-environment",
            because=tuple(Because(text, str(environment.path)) for text in what_is_in(environment.path)),
            fixes=(
                Fix(tr("choose another name")),
                Fix(tr("or replace it with --force --replace-foreign (an export of it is kept)")),
            ),
        )


def _check_not_own(environment: EnvironmentPaths) -> None:
    """Raise UsageError for the environment of the running gpuenv, or that of its base Python."""
    path = environment.path.resolve()
    for prefix in (sys.prefix, sys.base_prefix):
        own = Path(prefix).resolve()
        if own == path or path in own.parents:
            raise UsageError(
                tr("gpuenv itself runs in `{path}`: it is left unchanged", path=environment.path),
                code="own-environment",
                because=(Because(tr("its Python belongs to `{path}`", path=prefix), sys.executable),),
                fixes=(
                    Fix(tr("choose another name")),
                    Fix(tr("or install gpuenv elsewhere"), "uv tool install gpuenv"),
                ),
            )


def check_alone(environment: EnvironmentPaths) -> None:
    """Raise UsageError where something would be lost with an environment: a tool, a project, another one."""
    inside = find_inside(environment.path)
    if inside is not None:
        raise UsageError(
            tr("`{path}` is more than one environment: it is left unchanged", path=environment.path),
            code="not-one-environment",
            because=(Because(tr("`{path}` would be lost with it", path=inside), str(environment.path)),),
            fixes=(Fix(tr("choose another name")), Fix(tr("or move away what is still needed of it"))),
        )


def recover(environment: EnvironmentPaths) -> bool:
    """Finish or undo a change that a killed gpuenv left behind; tell whether there was one.

    The environment must be locked, and the command one that changes this very environment.
    """
    with interruption.held():
        left = _settle(environment)
        exists = left or ledger.is_left(environment)
        entry = ledger.begun(environment)
        if entry is None:
            with suppress(OSError):  # it goes with the next change
                snapshot.forget_rubbish(environment)
        elif entry.kind == "repair":
            snapshot.undo(environment, entry)
        else:
            _finish_renaming(environment, entry)
        return exists


def recover_to_remove(environment: EnvironmentPaths) -> bool:
    """Do the same for an environment that is removed next: changes inside it are not undone.

    That would need room, which may be just what is missing.
    """
    left = _settle(environment)
    with suppress(InstallFailed, UsageError):
        entry = ledger.begun(environment)
        if entry is not None and entry.kind == "renaming":
            _finish_renaming(environment, entry)
    return left


def _finish_renaming(environment: EnvironmentPaths, entry: ledger.LedgerEntry) -> None:
    from gpuenv.environments import renaming  # noqa: PLC0415 - after a kill alone

    renaming.finish(environment, entry)


def _settle(environment: EnvironmentPaths) -> bool:
    left = journals.read_journal(environment)
    if left is not None:
        journals.undo_or_finish(environment, left)
    return left is not None


def remove(environment: EnvironmentPaths) -> None:
    """Remove an environment; a crash on the way leaves all of it or, after the next command, nothing.

    On a disk with no room for a journal it is removed where it lies; after a crash it is listed still, to be
    removed once more.
    """
    with interruption.held(), converting_os_errors(environment):
        journal = replace(new_journal(environment.path, replaces=True), state="committed")
        assert journal.old is not None  # noqa: S101 - it replaces
        try:
            journals.write_journal(environment, journal)
            environment.path.rename(journal.old)
        except (UsageError, OSError) as error:
            if not (is_full(error) if isinstance(error, OSError) else error.code == DISK_FULL):
                raise
            journals.forget(environment)
            _remove_in_place(environment.path)
        else:
            on_disk.undo_or_finish(journal)
            journals.forget(environment)
        ledger.drop(environment)


def _remove_in_place(root: Path) -> None:
    """Remove what tells that it is an environment of gpuenv's last."""
    last = ("conda-meta", "pyvenv.cfg", RECORD)
    for path in root.iterdir():
        if path.name not in last:
            remove_tree(path)
    for name in last:
        remove_tree(root / name)
    root.rmdir()
