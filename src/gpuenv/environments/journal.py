"""The journal of a change to an environment: what a later gpuenv needs to finish or undo it.

A change is building (undone after a crash) until it is committed (then finished after a crash). What was
there before lies under `old` meanwhile, what is thrown away under `trash`, both beside the environment.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gpuenv.environments.folders.full_disk import is_full
from gpuenv.environments.ledger import read_proven, unreadable
from gpuenv.environments.store import EnvironmentPaths, EnvironmentStore, make_own_directory, unwritable
from gpuenv.files.directories import Identity, identity_of, remove_tree
from gpuenv.files.read_limited import read_regular
from gpuenv.files.replace import replace_file
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.untrusted.documents import load_json

_SCHEMA_VERSION = 1
_LARGEST = 1 << 20  # bytes
MARKER = ".gpuenv-building"

State = Literal["building", "committed"]


@dataclass(frozen=True, slots=True)
class Journal:
    """One change under way.

    `identity` is that of the directory gpuenv made; once the installer's first step has made an environment
    of it, a marker file inside holds `token` and `marked` is true. Without either nothing is removed.
    `replaced` is the identity of the directory that lies under `old` meanwhile: no other comes back.
    """

    path: Path
    old: Path | None
    trash: Path
    token: str
    state: State = "building"
    identity: Identity | None = None
    marked: bool = False
    replaced: Identity | None = None


def new_journal(place: EnvironmentPaths, *, replaces: bool) -> Journal:
    """Begin a journal, with names for what is put aside that nothing else has."""
    token = secrets.token_hex(8)
    beside = place.path.parent
    return Journal(
        path=place.path,
        old=beside / f".{place.path.name}.gpuenv-old-{token}" if replaces else None,
        trash=beside / f".{place.path.name}.gpuenv-new-{token}",
        token=token,
        replaced=identity_of(place.path) if replaces else None,
    )


def render_journal(journal: Journal) -> str:
    """Render the journal as JSON."""
    document = {
        "schema_version": _SCHEMA_VERSION,
        "path": str(journal.path),
        "old": str(journal.old) if journal.old else None,
        "trash": str(journal.trash),
        "token": journal.token,
        "state": journal.state,
        "identity": list(journal.identity) if journal.identity else None,
        "marked": journal.marked,
        "replaced": list(journal.replaced) if journal.replaced else None,
    }
    return json.dumps(document, indent=1) + "\n"


def parse_journal(text: str) -> Journal:
    """Parse a journal; raise ValueError for anything that gpuenv would not have written.

    {"schema_version": 1, "path": "/data/envs/paper", "old": "/data/envs/.paper.gpuenv-old-5d1f",
     "trash": "/data/envs/.paper.gpuenv-new-5d1f", "token": "5d1f", "state": "building",
     "identity": [2049, 131], "marked": false, "replaced": [2049, 87]}
    """
    try:
        document = load_json(text)
        path, trash, token = Path(document["path"]), Path(document["trash"]), str(document["token"])
        old = Path(document["old"]) if document["old"] is not None else None
        state, marked = document["state"], document["marked"]
        identity, replaced = (_parse_identity(document[key]) for key in ("identity", "replaced"))
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError(tr("the journal is not one that gpuenv wrote")) from None
    names_fit = all(
        aside.parent == path.parent and aside.name.startswith(f".{path.name}.gpuenv-")
        for aside in (trash, old)
        if aside is not None
    )
    if state not in {"building", "committed"} or not names_fit or not path.is_absolute():
        raise ValueError(tr("the journal is not one that gpuenv wrote"))
    return Journal(path, old, trash, token, state, identity, marked is True, replaced)


def _parse_identity(numbers: Any) -> Identity | None:
    return (int(numbers[0]), int(numbers[1])) if numbers is not None else None


def journal_file(place: EnvironmentPaths) -> Path:
    """Return where the journal of a place is."""
    return place.store.journals / f"{place.key}.json"


def write_journal(place: EnvironmentPaths, journal: Journal) -> Journal:
    """Write the journal and return it; raise UsageError where the store can't be written."""
    make_own_directory(place.store.journals)
    try:
        replace_file(journal_file(place), render_journal(journal), mode=0o600)
    except OSError as error:
        raise unwritable(place.store.journals, error) from None
    return journal


def read_journal(place: EnvironmentPaths) -> Journal | None:
    """Return the change under way at a place.

    Raises UsageError when its journal can't be read, is another user's, or is of another place.
    """
    file = journal_file(place)
    try:
        return _of(place, parse_journal(read_proven(file, _LARGEST).decode("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise unreadable(file, place, error) from None


def _of(place: EnvironmentPaths, journal: Journal) -> Journal:
    if EnvironmentPaths(place.store, place.name, journal.path).key != place.key:
        raise ValueError(tr("it is named after another path than `{path}`", path=journal.path))
    return journal


def is_half_done(journal: Journal) -> bool:
    """Tell whether neither the old environment nor a whole new one lies there now."""
    if journal.state != "building":
        return False
    return os.path.lexists(journal.old) if journal.old is not None else _is_ours(journal)


def pending_places(store: EnvironmentStore) -> tuple[EnvironmentPaths, ...]:
    """Return the places at which a change began and did not end."""
    places = []
    for file in sorted(store.journals.glob("*.json")) if store.journals.is_dir() else ():
        try:
            journal = parse_journal(read_proven(file, _LARGEST).decode("utf-8"))
        except (OSError, ValueError):
            continue
        place = EnvironmentPaths(store, journal.path.name, journal.path)
        if journal_file(place) == file:
            places.append(place)
    return tuple(places)


def forget(place: EnvironmentPaths) -> None:
    """Delete the journal: the change has ended."""
    journal_file(place).unlink(missing_ok=True)


def undo_or_finish(place: EnvironmentPaths, journal: Journal) -> None:
    """Bring the place to what it was before, or, when the change was committed, finish it.

    Each step can be repeated, so that this may itself be interrupted. Raises OSError where a file can't be
    moved or removed, UsageError where something foreign lies in the way.
    """
    if journal.state == "building":
        _undo(journal)
    else:
        if _marker_of(journal.path) == journal.token:
            (journal.path / MARKER).unlink()
        if journal.old is not None:
            remove_tree(journal.old)
    remove_tree(journal.trash)
    forget(place)


def _undo(journal: Journal) -> None:
    moved_aside = journal.old is not None and os.path.lexists(journal.old)
    if journal.old is not None and not moved_aside:
        return  # what was there is still there, or back already
    if journal.old is not None and identity_of(journal.old) != journal.replaced:
        raise UsageError(
            tr("`{path}` is not what gpuenv put there: it is left alone", path=journal.old),
            code="recovery-blocked",
            fixes=(Fix(tr("look what lies beside `{path}`, then delete the journal", path=journal.path)),),
        )
    if _is_ours(journal):
        _move_or_remove(journal.path, journal.trash)
    elif _is_empty(journal.path):
        journal.path.rmdir()
    if journal.old is None or not moved_aside:
        return
    if os.path.lexists(journal.path):
        raise UsageError(
            tr("`{path}` is in the way of `{old}`, which belongs there", path=journal.path, old=journal.old),
            code="recovery-blocked",
            fixes=(Fix(tr("move it away and run the command again")),),
        )
    journal.old.rename(journal.path)


def _move_or_remove(path: Path, trash: Path) -> None:
    """Throw a directory away in one step, or, where the disk has no room for its new name, file by file."""
    try:
        path.rename(trash)
    except OSError as error:
        if not is_full(error):
            raise
        remove_tree(path)


def _is_ours(journal: Journal) -> bool:
    if journal.identity is None or identity_of(journal.path) is None:
        return False
    if journal.marked:
        return _marker_of(journal.path) == journal.token
    return identity_of(journal.path) == journal.identity


def _marker_of(path: Path) -> str | None:
    try:
        return read_regular(path / MARKER).decode("utf-8")
    except (OSError, ValueError):
        return None


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def mark(place: EnvironmentPaths, journal: Journal) -> Journal:
    """Put the marker into the environment and say so in the journal."""
    (journal.path / MARKER).write_text(journal.token, encoding="utf-8")
    return write_journal(place, replace(journal, marked=True))
