"""Where the journals of changes to environments lie, and what is told where one can't be followed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gpuenv.environments.ledger import read_proven, unreadable
from gpuenv.environments.store import EnvironmentPaths, EnvironmentStore, make_own_directory, unwritable
from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk import journal as on_disk
from gpuenv.on_disk.journal import (
    Journal,
    RecoveryBlockedError,
    is_ours,
    journal_of,
    render_journal,
    write_marker,
)
from gpuenv.on_disk.replace import replace_file
from gpuenv.untrusted.documents import load_json

_LARGEST = 1 << 20  # bytes
_NOT_A_JOURNAL = N_("the journal was not written by gpuenv")


def parse_journal(text: str) -> Journal:
    """Parse a journal; raise ValueError for anything that gpuenv would not have written."""
    document = load_json(text)
    try:
        return journal_of(document)
    except ValueError as error:
        raise ValueError(gettext(str(error))) from None


def journal_file(environment: EnvironmentPaths) -> Path:
    """Return where the journal of a place is."""
    return environment.store.journals / f"{environment.key}.json"


def write_journal(environment: EnvironmentPaths, journal: Journal) -> Journal:
    """Write the journal and return it; raise UsageError where the store can't be written."""
    make_own_directory(environment.store.journals)
    try:
        replace_file(journal_file(environment), render_journal(journal), mode=0o600)
    except OSError as error:
        raise unwritable(environment.store.journals, error) from None
    return journal


def read_journal(environment: EnvironmentPaths) -> Journal | None:
    """Return the change under way at a place.

    Raises UsageError when its journal can't be read, is another user's, or is of another place.
    """
    file = journal_file(environment)
    try:
        return _of(environment, parse_journal(read_proven(file, _LARGEST).decode("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise unreadable(file, environment, error) from None


def _of(environment: EnvironmentPaths, journal: Journal) -> Journal:
    if EnvironmentPaths(environment.store, environment.name, journal.path).key != environment.key:
        raise ValueError(tr("its name refers to another path than `{path}`", path=journal.path))
    return journal


def is_half_done(journal: Journal) -> bool:
    """Tell whether neither the old environment nor a whole new one lies there now."""
    if journal.state != "building":
        return False
    return os.path.lexists(journal.old) if journal.old is not None else is_ours(journal)


def pending_places(store: EnvironmentStore) -> tuple[EnvironmentPaths, ...]:
    """Return the places at which a change began and did not end."""
    places = []
    for file in sorted(store.journals.glob("*.json")) if store.journals.is_dir() else ():
        try:
            journal = parse_journal(read_proven(file, _LARGEST).decode("utf-8"))
        except (OSError, ValueError):
            continue
        environment = EnvironmentPaths(store, journal.path.name, journal.path)
        if journal_file(environment) == file:
            places.append(environment)
    return tuple(places)


def forget(environment: EnvironmentPaths) -> None:
    """Delete the journal: the change has ended."""
    journal_file(environment).unlink(missing_ok=True)


def undo_or_finish(environment: EnvironmentPaths, journal: Journal) -> None:
    """Bring the place to what it was before, or, when the change was committed, finish it.

    Each step can be repeated, so that this may itself be interrupted. Raises OSError where a file can't be
    moved or removed, UsageError where something foreign lies in the way.
    """
    try:
        on_disk.undo_or_finish(journal)
    except RecoveryBlockedError as error:
        raise _blocked(error) from None
    forget(environment)


def _blocked(error: RecoveryBlockedError) -> UsageError:
    if error.is_in_the_way:
        return UsageError(
            tr("`{path}` is in the way of `{old}`, which belongs there", path=error.path, old=error.old),
            code="recovery-blocked",
            fixes=(Fix(tr("move it away and run the command again")),),
        )
    return UsageError(
        tr("`{path}` was not created by gpuenv and is left unchanged", path=error.old),
        code="recovery-blocked",
        fixes=(Fix(tr("check what is next to `{path}`, then delete the journal", path=error.path)),),
    )


def mark(environment: EnvironmentPaths, journal: Journal) -> Journal:
    """Put the marker into the environment and say so in the journal."""
    write_marker(journal)
    return write_journal(environment, replace(journal, marked=True))
