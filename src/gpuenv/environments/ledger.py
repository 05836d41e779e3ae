"""The ledger of changes inside environments: what proves that something half-done there is gpuenv's own.

Whoever may write into an environment may leave something there that looks like an interrupted change of
gpuenv's. So the ledger lies in the data folder alone, which only the user may enter, by the environment's
path. A folder in the environment carries the random token of the entry; others are never looked into.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct, field

from gpuenv.environments.folders.mounts import keeps_owners
from gpuenv.environments.store import write_own_file
from gpuenv.files.read_limited import is_own, read_own, read_regular
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.directories import remove_tree
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

_T = TypeVar("_T")
_SCHEMA_VERSION = 1
_LARGEST = 128 << 20  # bytes: it lists the files of an environment
_TOKEN = frozenset("0123456789abcdef")
_TOKEN_LENGTH = 32
PREFIXES = (".gpuenv-repair-", ".gpuenv-renaming-")

Kind = Literal["repair", "renaming"]
State = Literal["preparing", "begun", "over"]


class LedgerEntry(Struct, frozen=True):
    """One change inside an environment.

    Only one that has `begun` is finished or undone after a kill: of any other the folder is rubbish. What the
    kind of change needs for that is in `data`.
    """

    kind: Kind
    token: str
    state: State = "preparing"
    data: dict[str, Any] = field(default_factory=dict)

    def folder(self, root: Path) -> Path:
        """Return the folder in the environment that belongs to the change."""
        return root / f".gpuenv-{self.kind}-{self.token}"


def new_entry(kind: Kind) -> LedgerEntry:
    """Begin an entry, with a token that nobody can know beforehand."""
    return LedgerEntry(kind, os.urandom(_TOKEN_LENGTH // 2).hex())


def note(environment: EnvironmentPaths, entry: LedgerEntry) -> LedgerEntry:
    """Write the entry of an environment and return it; raise UsageError where the store can't be written."""
    document = {
        "schema_version": _SCHEMA_VERSION,
        "path": _real(environment),
        "kind": entry.kind,
        "token": entry.token,
        "state": entry.state,
        "data": entry.data,
    }
    write_own_file(_file(environment), json.dumps(document))
    return entry


def noted(environment: EnvironmentPaths) -> LedgerEntry | None:
    """Return the entry of an environment; raise UsageError for one that can't be read, or is not our own."""
    return read_noted(_file(environment), environment, lambda text: _of(environment, *parse_entry(text)))


def read_noted(file: Path, environment: EnvironmentPaths, parse: Callable[[str], _T]) -> _T | None:
    """Return what gpuenv noted of a change of an environment, None where it noted nothing.

    Raises UsageError for a file that can't be read, or that somebody else may have written.
    """
    try:
        return parse(read_proven(file).decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            tr("`{file}` cannot be read: {error}", file=file, error=reason_of(error)),
            code="journal-unreadable",
            fixes=(
                Fix(tr("check what is next to `{path}`, then delete the journal", path=environment.path)),
            ),
        ) from None


def read_proven(file: Path) -> bytes:
    """Return what a file holds that this user alone can have written; raise OSError or ValueError.

    Where a file system keeps neither owners nor modes, nothing tells.
    """
    try:
        return read_own(file, _LARGEST)
    except ValueError:
        if keeps_owners(file.parent):
            raise
        return read_regular(file, _LARGEST)


def _of(environment: EnvironmentPaths, path: str, entry: LedgerEntry) -> LedgerEntry:
    if path != _real(environment):
        raise ValueError(tr("its name refers to another path than `{path}`", path=path))
    return entry


def parse_entry(text: str) -> tuple[str, LedgerEntry]:
    """Parse an entry and the path it is of; raise ValueError for anything that gpuenv would not write.

    {"schema_version": 1, "path": "/data/envs/paper", "kind": "repair", "token": "5d1f...", "state": "begun",
     "data": {...}}
    """
    try:
        document = json.loads(text)
        path, token, data = document["path"], document["token"], document["data"]
        kind, state = document["kind"], document["state"]
    except (KeyError, TypeError, RecursionError):
        raise ValueError(tr("the entry was not written by gpuenv")) from None
    fits = (
        isinstance(path, str)
        and isinstance(token, str)
        and len(token) == _TOKEN_LENGTH
        and set(token) <= _TOKEN
        and kind in {"repair", "renaming"}
        and state in {"preparing", "begun", "over"}
        and isinstance(data, dict)
    )
    if not fits:
        raise ValueError(tr("the entry was not written by gpuenv"))
    return path, LedgerEntry(kind, token, state, data)


def drop(environment: EnvironmentPaths, token: str | None = None) -> None:
    """Delete the entry of an environment, only the one with `token` where that is given; raise OSError."""
    if token is not None:
        known = noted(environment)
        if known is None or known.token != token:
            return
    _file(environment).unlink(missing_ok=True)


def is_left(environment: EnvironmentPaths) -> bool:
    """Tell whether a change lies in an environment, be it only prepared or over. Raises UsageError."""
    entry = noted(environment)
    return entry is not None and os.path.lexists(entry.folder(environment.path))


def begun(environment: EnvironmentPaths) -> LedgerEntry | None:
    """Return the change that a kill left in an environment; None where all is whole, or was replaced since.

    Raises UsageError where the entry, or the folder that it names, is not our own.
    """
    entry = noted(environment)
    if entry is None or entry.state != "begun" or not os.path.lexists(entry.folder(environment.path)):
        return None
    for folder in (environment.path, entry.folder(environment.path)):
        if not _is_own_folder(folder):
            raise UsageError(
                tr("`{path}` is not owned by this user: its content is left unchanged", path=folder),
                code="not-own",
                fixes=(Fix(tr("check its content, and move it away if you do not need it")),),
            )
    return entry


def clear(environment: EnvironmentPaths, entry: LedgerEntry) -> None:
    """End a change: what was kept for it is removed, then its entry; raise OSError.

    A kill on the way leaves rubbish, which goes with the next change.
    """
    folder = entry.folder(environment.path)
    if entry.state == "begun" and os.path.lexists(folder):
        try:
            note(environment, LedgerEntry(entry.kind, entry.token, "over"))
        except UsageError:  # the disk is full: at worst rubbish stays, never a change that seems under way
            drop(environment)
    if _is_own_folder(folder):
        remove_tree(folder)
    drop(environment)


def noted_paths(store: EnvironmentStore) -> Iterator[Path]:
    """Yield the environments that the ledger knows of; what is not our own is passed over."""
    for file in sorted(store.changes.glob("*.json")) if store.changes.is_dir() else ():
        with suppress(OSError, ValueError):
            yield Path(parse_entry(read_proven(file).decode("utf-8"))[0])


def _is_own_folder(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_own(status)


def _real(environment: EnvironmentPaths) -> str:
    return os.path.realpath(environment.path)


def _file(environment: EnvironmentPaths) -> Path:
    key = EnvironmentPaths(environment.store, environment.name, Path(_real(environment))).key
    return environment.store.changes / f"{key}.json"
