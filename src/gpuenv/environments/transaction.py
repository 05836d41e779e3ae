"""Make an environment in place, so that at every moment what was there before can be brought back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from gpuenv.environments import in_place, ledger, renaming
from gpuenv.environments import journal as journals
from gpuenv.environments.folders.full_disk import CODE as DISK_FULL
from gpuenv.environments.folders.full_disk import is_full
from gpuenv.environments.lock import locked
from gpuenv.environments.os_errors import not_undone, os_error_told, telling_os_errors
from gpuenv.environments.record import FILE_NAME
from gpuenv.environments.store import EnvironmentPaths
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, InstallFailed, UsageError
from gpuenv.on_disk.directories import identity_of, remove_tree
from gpuenv.on_disk.journal import Journal, new_journal
from gpuenv.process import interruption


class Transaction:
    """A change to one environment that is under way; what is not committed is undone."""

    def __init__(self, environment: EnvironmentPaths, journal: Journal, *, replaces: bool) -> None:
        self.place = environment
        self.replaces = replaces  # an environment, not nothing or an empty directory
        self._journal = journal
        self._open = True
        self._committed = False

    @property
    def committed(self) -> bool:
        """Whether the new environment stays, whatever happens."""
        return self._committed

    def make_directory(self) -> None:
        """Move aside what is there and put an empty directory in its place.

        It is ours, not the installer's, so that after a crash we know which directory may be removed.
        """
        path = self.place.path
        if self._journal.old is not None:
            path.rename(self._journal.old)
        path.mkdir()
        self._journal = journals.write_journal(self.place, replace(self._journal, identity=identity_of(path)))

    def mark(self) -> None:
        """Mark the environment as being built, once its first step has made a directory tree."""
        if self._open and not self._journal.marked and self.place.path.is_dir():
            self._journal = journals.mark(self.place, self._journal)

    def commit(self) -> None:
        """Keep the new environment and remove what was there before."""
        self._journal = journals.write_journal(self.place, replace(self._journal, state="committed"))
        self._open, self._committed = False, True
        with suppress(OSError):  # what is left of the old one goes with the next command
            journals.undo_or_finish(self.place, self._journal)

    def roll_back(self) -> None:
        """Bring back what was there before; do nothing after a commit."""
        if not self._open:
            return
        self._open = False
        try:
            journals.undo_or_finish(self.place, self._journal)
        except OSError as error:
            raise not_undone(self.place, error) from error


@contextmanager
def changing(environment: EnvironmentPaths, *, force: bool) -> Iterator[Transaction]:
    """Begin a change; undo it unless it was committed. The place must be locked and recovered.

    Signals are held: they end what waits, never a roll-back.
    Raises UsageError `environment-exists` without `force`, or where what is there is no environment. OSError
    on the way is raised as InstallFailed.
    """
    check_free(environment, force=force)
    with interruption.held(), telling_os_errors(environment):
        change = _begin(environment)
        try:
            change.make_directory()
            yield change
        finally:
            change.roll_back()


def check_free(environment: EnvironmentPaths, *, force: bool) -> None:
    """Raise UsageError unless an environment may be made at the place; an empty directory is free."""
    if _is_free(environment.path):
        return
    if not is_environment(environment.path):
        raise UsageError(
            tr("`{path}` is there and is no environment: gpuenv does not touch it", path=environment.path),
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


def _is_free(path: Path) -> bool:
    try:
        return not os.path.lexists(path) or (identity_of(path) is not None and not any(path.iterdir()))
    except OSError as error:
        raise os_error_told(path, error) from None


def is_environment(path: Path) -> bool:
    """Tell whether a directory is an environment of any manager."""
    return identity_of(path) is not None and (
        (path / "pyvenv.cfg").is_file() or (path / "conda-meta").is_dir()
    )


def _begin(environment: EnvironmentPaths) -> Transaction:
    environment.path.parent.mkdir(parents=True, exist_ok=True)
    there, replaces = os.path.lexists(environment.path), is_environment(environment.path)
    journal = journals.write_journal(environment, new_journal(environment.path, replaces=there))
    return Transaction(environment, journal, replaces=replaces)


def is_pending(environment: EnvironmentPaths) -> bool:
    """Tell whether a change at the place is under way, or was left by a killed gpuenv.

    Raises UsageError where what tells of it is not our own.
    """
    return journals.read_journal(environment) is not None or ledger.is_left(environment)


def is_half_done(environment: EnvironmentPaths) -> bool:
    """Tell whether what lies there now is neither what was before a change nor what it was to become.

    Looking at it tells nothing then. Raises UsageError where what tells of a change is not our own.
    """
    journal = journals.read_journal(environment)
    return (journal is not None and journals.is_half_done(journal)) or ledger.begun(environment) is not None


def recover(environment: EnvironmentPaths) -> bool:
    """Finish or undo a change that a killed gpuenv left behind; tell whether there was one.

    The place must be locked, and the command one that changes this very environment.
    """
    with interruption.held():
        left = journals.read_journal(environment)
        if left is not None:
            try:
                journals.undo_or_finish(environment, left)
            except OSError as error:
                if left.state == "building":
                    raise not_undone(environment, error) from error
        exists = left is not None or ledger.is_left(environment)
        entry = ledger.begun(environment)
        if entry is None:
            with suppress(OSError):  # it goes with the next change
                in_place.forget_rubbish(environment)
        elif entry.kind == "repair":
            in_place.undo(environment, entry)
        else:
            renaming.finish(environment, entry)
        return exists


def is_at_work(environment: EnvironmentPaths) -> bool:
    """Tell whether another gpuenv is at work on the place."""
    try:
        with locked(environment, wait_s=0):
            return False
    except UsageError as error:
        return error.code == "environment-busy"


def recover_to_remove(environment: EnvironmentPaths) -> bool:
    """Do the same for a place that is removed next: what was being changed inside it is not brought back.

    That would need room, which may be just what is missing.
    """
    left = journals.read_journal(environment)
    try:
        if left is not None:
            journals.undo_or_finish(environment, left)
    except OSError as error:
        if left is not None and left.state == "building":
            raise not_undone(environment, error) from error
    with suppress(InstallFailed, UsageError):
        entry = ledger.begun(environment)
        if entry is not None and entry.kind == "renaming":
            renaming.finish(environment, entry)
    return left is not None


def is_left_inside(environment: EnvironmentPaths) -> bool:
    """Tell whether a killed gpuenv has left a change inside an environment: it is one, whatever it lacks."""
    try:
        return ledger.begun(environment) is not None
    except UsageError:  # not our own
        return False


def remove(environment: EnvironmentPaths) -> None:
    """Remove an environment; a crash on the way leaves all of it or, after the next command, nothing.

    On a disk with no room for a journal it is removed where it lies; after a crash it is listed still, to be
    removed once more.
    """
    with interruption.held(), telling_os_errors(environment):
        journal = replace(new_journal(environment.path, replaces=True), state="committed")
        assert journal.old is not None  # noqa: S101 - it replaces
        try:
            journals.write_journal(environment, journal)
            environment.path.rename(journal.old)
        except (UsageError, OSError) as error:
            if not _lacks_room(error):
                raise
            journals.forget(environment)
            _remove_in_place(environment.path)
        else:
            journals.undo_or_finish(environment, journal)
        ledger.drop(environment)


def _lacks_room(error: UsageError | OSError) -> bool:
    return is_full(error) if isinstance(error, OSError) else error.code == DISK_FULL


def _remove_in_place(root: Path) -> None:
    """Remove what tells that it is an environment of gpuenv's last."""
    last = ("conda-meta", "pyvenv.cfg", FILE_NAME)
    for path in root.iterdir():
        if path.name not in last:
            remove_tree(path)
    for name in last:
        remove_tree(root / name)
    root.rmdir()
