"""Change what is installed in an environment where it lies; what is not kept is undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuenv import interruption
from gpuenv.environments import snapshot
from gpuenv.environments.failures import os_error_told
from gpuenv.values.errors import Because, Fix, InstallFailed
from gpuenv.values.system_words import reason_of
from gpuenv.values.text import tr


class ChangeInPlace:
    """A change that is under way."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """Let what was done stay."""
        self.kept = True


@contextmanager
def changing_in_place(root: Path, places: tuple[str, ...], touched: Iterable[str]) -> Iterator[ChangeInPlace]:
    """Begin a change to the distributions named, in the directories `places`; undo it unless it is kept.

    Signals are held: they end what waits, never a roll-back.
    The environment must be locked and recovered. What a kill leaves is undone by `apply.recover`. Raises
    InstallFailed where what was there can't be kept aside, or not be brought back.
    """
    with interruption.held():
        try:
            snapshot.take(root, places, touched)
        except OSError as error:
            snapshot.discard(root)
            raise os_error_told(root, error) from error
        change = ChangeInPlace()
        try:
            yield change
        finally:
            if change.kept:
                snapshot.discard(root)
            else:
                restore(root)


def restore(root: Path) -> bool:
    """Undo what is not kept, or was left by a killed gpuenv; tell whether there was something."""
    if not snapshot.is_taken(root):
        return False
    try:
        with interruption.held():
            snapshot.put_back(root)
    except (OSError, ValueError) as error:
        raise _not_undone(root, error) from error
    return True


def _not_undone(root: Path, error: Exception) -> InstallFailed:
    return InstallFailed(
        tr("`{path}` could not be brought back: {error}", path=root, error=reason_of(error)),
        code="roll-back-failed",
        because=(Because(tr("what was there is in {folder}", folder=root / snapshot.FOLDER), str(root)),),
        fixes=(Fix(tr("mend that, then run the command again: it tries once more")),),
    )
