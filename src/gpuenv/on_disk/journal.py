"""Changes to environments, and their journal: what a later gpuenv needs to finish or undo them.

A change is building (undone after a crash) until it is committed (then finished after a crash). The previous
environment lies under `old` meanwhile, what is thrown away under `trash`, both beside the environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpuenv.on_disk.directories import Identity, identity_of, is_full, read_regular, remove_tree
from gpuenv.on_disk.places import is_environment

MARKER = ".gpuenv-building"
NOT_A_JOURNAL = "the journal was not written by gpuenv"
_SCHEMA_VERSION = 1


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
    """The previous environment cannot be restored: `old` is another one, or `path` is in its way."""

    def __init__(self, path: Path, old: Path, *, is_in_the_way: bool) -> None:
        super().__init__(str(path))
        self.path, self.old, self.is_in_the_way = path, old, is_in_the_way


def new_journal(path: Path, *, replaces: bool) -> Journal:
    """Begin a journal, with names for what is put aside that nothing else has."""
    token = os.urandom(8).hex()
    return Journal(
        path=path,
        old=path.parent / f".{path.name}.gpuenv-old-{token}" if replaces else None,
        trash=path.parent / f".{path.name}.gpuenv-new-{token}",
        token=token,
        replaced=identity_of(path) if replaces else None,
    )


def render_journal(journal: Journal) -> str:
    """Render the journal as JSON."""
    paths = {"path": str(journal.path), "old": journal.old and str(journal.old), "trash": str(journal.trash)}
    document = {"schema_version": _SCHEMA_VERSION, **asdict(journal), **paths}
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
    """Restore the previous state, or, when the change was committed, finish it.

    Each step can be repeated, so that this may itself be interrupted; the caller deletes the journal. Raises
    OSError where a file cannot be moved or removed, RecoveryBlockedError.
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
        return  # the previous environment was never moved, or is back already
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
        if not is_full(error):
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


class Transaction:
    """A change to one environment that is under way; what is not committed is undone.

    `write` keeps the journal. `settle` undoes or finishes what it says; it raises nothing after a commit.
    """

    def __init__(
        self, path: Path, write: Callable[[Journal], object], settle: Callable[[Journal], None]
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.replaces = is_environment(path)  # not nothing or an empty directory
        self._write, self._settle, self._open = write, settle, True
        self._journal = new_journal(path, replaces=os.path.lexists(path))
        write(self._journal)

    @property
    def committed(self) -> bool:
        """Whether the new environment stays, whatever happens."""
        return self._journal.state == "committed"

    def make_directory(self) -> None:
        """Move the previous environment aside and put an empty directory in its place.

        It is ours, not the installer's, so that after a crash we know which directory may be removed.
        """
        path = self._journal.path
        if self._journal.old is not None:
            path.rename(self._journal.old)
        path.mkdir()
        self._note(replace(self._journal, identity=identity_of(path)))

    def mark(self) -> None:
        """Mark the environment as being built, once its first step has made a directory tree."""
        if self._open and not self._journal.marked and self._journal.path.is_dir():
            (self._journal.path / MARKER).write_text(self._journal.token, encoding="utf-8")
            self._note(replace(self._journal, marked=True))

    def commit(self) -> None:
        """Keep the new environment and remove the previous one."""
        self._note(replace(self._journal, state="committed"))
        self._open = False
        self._settle(self._journal)

    def roll_back(self) -> None:
        """Restore the previous environment; do nothing after a commit."""
        if self._open:
            self._open = False
            self._settle(self._journal)

    def _note(self, journal: Journal) -> None:
        self._write(journal)
        self._journal = journal


@contextmanager
def changing(
    path: Path, write: Callable[[Journal], object], settle: Callable[[Journal], None]
) -> Iterator[Transaction]:
    """Begin a change; undo it unless it was committed. The path must be locked, recovered and free."""
    change = Transaction(path, write, settle)
    try:
        change.make_directory()
        yield change
    finally:
        change.roll_back()
