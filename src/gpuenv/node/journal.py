"""Changes to an environment, in gpuenv's own journal: either goes on where the other was killed."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from gpuenv.on_disk import journal as journals
from gpuenv.on_disk.directories import read_regular
from gpuenv.on_disk.journal import NOT_A_JOURNAL, Journal, RecoveryBlockedError, Transaction
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.on_disk.replace import replace_file

from .places import make_own_folder, unwritable
from .problems import NodeError, refused_by_system


@contextmanager
def changing(environment: EnvironmentPaths) -> Iterator[Transaction]:
    """Begin a change; undo it unless it was committed. The environment must be locked, recovered and free."""
    write, settle = partial(_write, environment), partial(_settle, environment)
    try:
        with journals.changing(environment.path, write, settle) as change:
            yield change
    except OSError as error:
        raise refused_by_system(error, str(environment.path)) from error


def recover(environment: EnvironmentPaths) -> None:
    """Finish or undo a change that a killed program left behind; the environment must be locked."""
    file = environment.journal
    make_own_folder(file.parent)
    for half in file.parent.glob(f".{glob.escape(file.name)}-*"):
        half.unlink()  # a journal that was being written
    try:
        left = _parse(environment, read_regular(file, own=True).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        message = f"`{file}` cannot be read: check what is next to `{environment.path}`, then delete it"
        raise NodeError("journal-unreadable", message, (str(error),)) from None
    _settle(environment, left)


def is_pending(environment: EnvironmentPaths) -> bool:
    """Tell whether a change of the environment is under way, or was left by a killed program."""
    return os.path.lexists(environment.journal)


def _parse(environment: EnvironmentPaths, text: str) -> Journal:
    try:
        journal = journals.journal_of(json.loads(text))
    except RecursionError:
        raise ValueError(NOT_A_JOURNAL) from None
    if replace(environment, path=journal.path).key != environment.key:
        raise ValueError(f"its name refers to another path than `{journal.path}`")
    return journal


def _write(environment: EnvironmentPaths, journal: Journal) -> None:
    make_own_folder(environment.store.journals)
    try:
        replace_file(environment.journal, journals.render_journal(journal), mode=0o600)
    except OSError as error:
        raise unwritable(environment.store.journals, error) from None


def _settle(environment: EnvironmentPaths, journal: Journal) -> None:
    """Undo or finish a change; what is left of a previous environment goes with the next command."""
    try:
        journals.undo_or_finish(journal)
        with suppress(FileNotFoundError):
            environment.journal.unlink()
    except RecoveryBlockedError as error:
        message = f"`{error.old}` was not created by gpuenv: check its content, then delete the journal"
        if error.is_in_the_way:
            message = f"`{error.path}` is in the way of `{error.old}`, which belongs there: move it away"
        raise NodeError("recovery-blocked", message) from None
    except OSError as error:
        if journal.state == "building":
            reason = error.strerror or error
            message = f"`{environment.name}` could not be restored: {reason}; the next run tries again"
            raise NodeError("roll-back-failed", message, (str(error),)) from error
