"""The journals of changes to environments: read and written, undone or finished, with errors for users."""

from __future__ import annotations

import os

from gpuenv.environments.ledger import read_noted, read_proven
from gpuenv.environments.os_errors import not_undone
from gpuenv.environments.store import write_own_file
from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk import journal as on_disk
from gpuenv.on_disk.journal import (
    Journal,
    RecoveryBlockedError,
    is_ours,
    journal_of,
    render_journal,
)
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.untrusted.documents import load_json

_NOT_A_JOURNAL = N_("the journal was not written by gpuenv")


def parse_journal(text: str) -> Journal:
    """Parse a journal; raise ValueError for anything that gpuenv would not have written."""
    document = load_json(text)
    try:
        return journal_of(document)
    except ValueError as error:
        raise ValueError(gettext(str(error))) from None


def write_journal(environment: EnvironmentPaths, journal: Journal) -> None:
    """Write the journal; raise UsageError where the store can't be written."""
    write_own_file(environment.journal, render_journal(journal))


def read_journal(environment: EnvironmentPaths) -> Journal | None:
    """Return the change under way of an environment.

    Raises UsageError when its journal can't be read, is another user's, or is of another environment.
    """
    return read_noted(environment.journal, environment, lambda text: _of(environment, parse_journal(text)))


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
    """Return the environments in which a change began and did not end."""
    pending = []
    for file in sorted(store.journals.glob("*.json")) if store.journals.is_dir() else ():
        try:
            journal = parse_journal(read_proven(file).decode("utf-8"))
        except (OSError, ValueError):
            continue
        environment = EnvironmentPaths(store, journal.path.name, journal.path)
        if environment.journal == file:
            pending.append(environment)
    return tuple(pending)


def forget(environment: EnvironmentPaths) -> None:
    """Delete the journal: the change has ended."""
    environment.journal.unlink(missing_ok=True)


def undo_or_finish(environment: EnvironmentPaths, journal: Journal) -> None:
    """Undo or finish a change and delete its journal; raise UsageError where something foreign is in the way.

    What cannot be removed after a commit stays for the next command; where a change cannot be undone,
    InstallFailed is raised and the journal stays.
    """
    try:
        on_disk.undo_or_finish(journal)
        forget(environment)
    except RecoveryBlockedError as error:
        raise _blocked(error) from None
    except OSError as error:
        if journal.state == "building":
            raise not_undone(environment, error) from error


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
