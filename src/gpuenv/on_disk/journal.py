"""The journal of a change to an environment: what a later gpuenv needs to finish or undo it.

A change is building (undone after a crash) until it is committed (then finished after a crash). What was
there before lies under `old` meanwhile, what is thrown away under `trash`, both beside the environment.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuenv.on_disk.directories import Identity, identity_of, read_regular, remove_tree

MARKER = ".gpuenv-building"
NOT_A_JOURNAL = "the journal was not written by gpuenv"
_SCHEMA_VERSION = 1
_FULL = frozenset((errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)))


@dataclass(frozen=True)
class Journal:
    """One change under way; its state is `building` or `committed`.

    `identity` is that of the directory gpuenv made; once the installer's first step has made an environment
    of it, a marker file inside holds `token` and `marked` is true. Without either nothing is removed.
    `replaced` is the identity of the directory that lies under `old` meanwhile: no other comes back.
    """

    path: Path
    old: Path | None
    trash: Path
    token: str
    state: str = "building"
    identity: Identity | None = None
    marked: bool = False
    replaced: Identity | None = None


class RecoveryBlockedError(Exception):
    """What was there before can't come back: `old` is another, or `path` is in its way."""

    def __init__(self, path: Path, old: Path, *, is_in_the_way: bool) -> None:
        super().__init__(str(path))
        self.path, self.old, self.is_in_the_way = path, old, is_in_the_way


def new_journal(path: Path, *, replaces: bool) -> Journal:
    """Begin a journal, with names for what is put aside that nothing else has."""
    token = secrets.token_hex(8)
    return Journal(
        path=path,
        old=path.parent / f".{path.name}.gpuenv-old-{token}" if replaces else None,
        trash=path.parent / f".{path.name}.gpuenv-new-{token}",
        token=token,
        replaced=identity_of(path) if replaces else None,
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
        "identity": journal.identity,
        "marked": journal.marked,
        "replaced": journal.replaced,
    }
    return json.dumps(document, indent=1) + "\n"


def journal_of(document: Any) -> Journal:
    """Read a journal; raise ValueError for anything that gpuenv would not have written.

    {"schema_version": 1, "path": "/data/envs/paper", "old": "/data/envs/.paper.gpuenv-old-5d1f",
     "trash": "/data/envs/.paper.gpuenv-new-5d1f", "token": "5d1f", "state": "building",
     "identity": [2049, 131], "marked": false, "replaced": [2049, 87]}
    """
    try:
        path, trash, token = Path(document["path"]), Path(document["trash"]), str(document["token"])
        old = Path(document["old"]) if document["old"] is not None else None
        state, marked = document["state"], document["marked"] is True
        identity, replaced = (_identity_of(document[key]) for key in ("identity", "replaced"))
        is_state = state in ("building", "committed")
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError(NOT_A_JOURNAL) from None
    names_fit = all(
        aside.parent == path.parent and aside.name.startswith(f".{path.name}.gpuenv-")
        for aside in (trash, old)
        if aside is not None
    )
    if not is_state or not names_fit or not path.is_absolute():
        raise ValueError(NOT_A_JOURNAL)
    return Journal(path, old, trash, token, state, identity, marked, replaced)


def _identity_of(numbers: Any) -> Identity | None:
    return (int(numbers[0]), int(numbers[1])) if numbers is not None else None


def undo_or_finish(journal: Journal) -> None:
    """Bring the place to what it was before, or, when the change was committed, finish it.

    Each step can be repeated, so that this may itself be interrupted; the journal stays for who calls to
    delete. Raises OSError where a file can't be moved or removed, RecoveryBlockedError.
    """
    if journal.state == "building":
        _undo(journal)
    else:
        if _marker_of(journal.path) == journal.token:
            (journal.path / MARKER).unlink()
        if journal.old is not None:
            remove_tree(journal.old)
    remove_tree(journal.trash)


def _undo(journal: Journal) -> None:
    old = journal.old
    if old is not None and not os.path.lexists(old):
        return  # what was there is still there, or back already
    if old is not None and identity_of(old) != journal.replaced:
        raise RecoveryBlockedError(journal.path, old, is_in_the_way=False)
    if is_ours(journal):
        _move_or_remove(journal.path, journal.trash)
    elif identity_of(journal.path) is not None and not any(journal.path.iterdir()):
        journal.path.rmdir()
    if old is None:
        return
    if os.path.lexists(journal.path):
        raise RecoveryBlockedError(journal.path, old, is_in_the_way=True)
    old.rename(journal.path)


def _move_or_remove(path: Path, trash: Path) -> None:
    """Throw a directory away in one step, or, where the disk has no room for its new name, file by file."""
    try:
        path.rename(trash)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        remove_tree(path)


def is_ours(journal: Journal) -> bool:
    """Tell whether what lies there now is what gpuenv made."""
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


def write_marker(journal: Journal) -> None:
    """Put the marker into the environment."""
    (journal.path / MARKER).write_text(journal.token, encoding="utf-8")
