"""Change what is installed in an environment where it lies; what is not kept is undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuenv.environments import ledger, snapshot
from gpuenv.environments.ledger import LedgerEntry
from gpuenv.environments.os_errors import os_error_told
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.process import interruption


class ChangeInPlace:
    """A change that is under way."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """Let what was done stay."""
        self.kept = True


@contextmanager
def changing_in_place(
    environment: EnvironmentPaths, places: tuple[str, ...], touched: Iterable[str]
) -> Iterator[ChangeInPlace]:
    """Begin a change to the distributions named, in the directories `places`; undo it unless it is kept.

    Signals are held: they end what waits, never a roll-back.
    The environment must be locked and recovered. What a kill leaves is undone by `apply.recover`. Raises
    InstallFailed where what was there can't be kept aside, or not be brought back.
    """
    with interruption.held():
        try:
            entry = snapshot.take(environment, places, touched)
        except BaseException as error:  # no memory, say
            forget_rubbish(environment)
            if isinstance(error, OSError):
                raise os_error_told(environment.path, error) from error
            raise
        change = ChangeInPlace()
        try:
            yield change
        finally:
            if change.kept:
                ledger.clear(environment, entry)
            else:
                undo(environment, entry)


def forget_rubbish(environment: EnvironmentPaths) -> None:
    """Remove what was prepared for a change that never began, or is over; raise OSError."""
    entry = ledger.noted(environment)
    if entry is not None and ledger.begun(environment) is None:
        ledger.clear(environment, entry)


def undo(environment: EnvironmentPaths, entry: LedgerEntry) -> None:
    """Undo what is not kept, or was left by a killed gpuenv."""
    try:
        with interruption.held():
            snapshot.put_back(environment, entry)
    except (OSError, ValueError) as error:
        raise _not_undone(environment.path, entry.folder(environment.path), error) from error


def _not_undone(root: Path, folder: Path, error: Exception) -> InstallFailed:
    return InstallFailed(
        tr("`{path}` could not be restored: {error}", path=root, error=reason_of(error)),
        code="roll-back-failed",
        because=(Because(tr("the previous content is in {folder}", folder=folder), str(root)),),
        fixes=(Fix(tr("fix that, then run the command again")),),
    )
