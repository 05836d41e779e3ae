"""Changes to an environment, in gpuenv's own journal: either goes on where the other was killed."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from gpuenv.on_disk.directories import identity_of, read_regular
from gpuenv.on_disk.journal import (
    NOT_A_JOURNAL,
    Journal,
    RecoveryBlockedError,
    journal_of,
    new_journal,
    render_journal,
    undo_or_finish,
    write_marker,
)
from gpuenv.on_disk.replace import replace_file

from .places import NodeEnvironmentPaths, unwritable
from .problems import NodeError, refused_by_system


class NodeTransaction:
    """A change that is under way; what is not committed is undone."""

    def __init__(self, environment: NodeEnvironmentPaths) -> None:
        self.place = environment
        os.makedirs(os.path.dirname(environment.path), exist_ok=True)
        there = os.path.lexists(environment.path)
        self._journal = _written(environment, new_journal(Path(environment.path), replaces=there))

    def make_directory(self) -> None:
        """Move aside what is there; put a directory of ours in its place."""
        if self._journal.old is not None:
            os.rename(self.place.path, self._journal.old)
        os.mkdir(self.place.path)
        made = identity_of(self._journal.path)
        self._journal = _written(self.place, replace(self._journal, identity=made))

    def mark(self) -> None:
        """Mark the environment as being built, once its first step has made a directory tree."""
        write_marker(self._journal)
        self._journal = _written(self.place, replace(self._journal, marked=True))

    def commit(self) -> None:
        """Keep the new environment and remove what was there before."""
        self._journal = _written(self.place, replace(self._journal, state="committed"))
        with suppress(OSError):  # what is left of the old one goes with the next command
            _undo_or_finish(self.place, self._journal)

    def roll_back(self) -> None:
        """Bring back what was there before; do nothing after a commit."""
        if self._journal.state == "building":
            try:
                _undo_or_finish(self.place, self._journal)
            except OSError as error:
                raise _not_undone(self.place, error) from error


@contextmanager
def changing(environment: NodeEnvironmentPaths) -> Iterator[NodeTransaction]:
    """Begin a change; undo it unless it was committed. The place must be locked, recovered and free."""
    try:
        change = NodeTransaction(environment)
        try:
            change.make_directory()
            yield change
        finally:
            change.roll_back()
    except OSError as error:
        raise refused_by_system(error, environment.path) from error


def recover(environment: NodeEnvironmentPaths) -> None:
    """Finish or undo a change that a killed program left behind; the place must be locked."""
    file = _file(environment)
    for half in glob.glob(
        glob.escape(os.path.join(os.path.dirname(file), f".{environment.key}.json-")) + "*"
    ):
        os.unlink(half)  # a journal that was being written
    try:
        left = _of(environment, _parse(read_regular(Path(file), own=True).decode("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        message = f"`{file}` can't be read: look what lies beside `{environment.path}`, then delete it"
        raise NodeError("journal-unreadable", message, (str(error),)) from None
    try:
        _undo_or_finish(environment, left)
    except OSError as error:
        if left.state == "building":
            raise _not_undone(environment, error) from error


def is_pending(environment: NodeEnvironmentPaths) -> bool:
    """Tell whether a change at the place is under way, or was left by a killed program."""
    return os.path.lexists(os.path.join(environment.store, "journals", environment.key + ".json"))


def _parse(text: str) -> Journal:
    try:
        return journal_of(json.loads(text))
    except RecursionError:
        raise ValueError(NOT_A_JOURNAL) from None


def _of(environment: NodeEnvironmentPaths, journal: Journal) -> Journal:
    if environment._replace(path=str(journal.path)).key != environment.key:
        raise ValueError(f"it is named after another path than `{journal.path}`")
    return journal


def _file(environment: NodeEnvironmentPaths) -> str:
    return os.path.join(environment.own_folder("journals"), environment.key + ".json")


def _written(environment: NodeEnvironmentPaths, journal: Journal) -> Journal:
    file = Path(_file(environment))
    try:
        replace_file(file, render_journal(journal), mode=0o600)
    except OSError as error:
        raise unwritable(str(file.parent), error) from None
    return journal


def _undo_or_finish(environment: NodeEnvironmentPaths, journal: Journal) -> None:
    try:
        undo_or_finish(journal)
    except RecoveryBlockedError as error:
        message = f"`{error.old}` is not what gpuenv put there: look into it, then delete the journal"
        if error.is_in_the_way:
            message = f"`{error.path}` is in the way of `{error.old}`, which belongs there: move it away"
        raise NodeError("recovery-blocked", message) from None
    with suppress(FileNotFoundError):
        os.unlink(_file(environment))


def _not_undone(environment: NodeEnvironmentPaths, error: OSError) -> NodeError:
    message = "`{}` could not be brought back: {}; the next run tries again"
    return NodeError(
        "roll-back-failed", message.format(environment.name, error.strerror or error), (str(error),)
    )
