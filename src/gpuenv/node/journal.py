"""The journal of a change to an environment: what a later run, or gpuenv itself, needs to undo or finish it.

Its form and its steps are those of gpuenv (`environments.journal`, `environments.transaction`): a change is
undone until it is committed, then finished. What was there before lies beside the environment meanwhile.
"""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from .places import NodeEnvironmentPaths, identity_of, read_regular, replace_file, unwritable
from .problems import NodeError, refused_by_system

_SCHEMA_VERSION = 1
_LARGEST = 1 << 20  # bytes
MARKER = ".gpuenv-building"


class NodeJournal(NamedTuple):
    """One change under way; only a directory with our identity, or with our marker in it, is removed."""

    path: str
    old: str | None
    trash: str
    token: str
    state: str = "building"
    identity: tuple[int, int] | None = None
    marked: bool = False
    replaced: tuple[int, int] | None = None  # the identity of what lies under `old` meanwhile


class NodeTransaction:
    """A change that is under way; what is not committed is undone."""

    def __init__(self, place: NodeEnvironmentPaths) -> None:
        self.place = place
        token = secrets.token_hex(8)
        beside = os.path.join(os.path.dirname(place.path), "." + os.path.basename(place.path))
        os.makedirs(os.path.dirname(place.path), exist_ok=True)
        old = beside + ".gpuenv-old-" + token if os.path.lexists(place.path) else None
        journal = NodeJournal(place.path, old, beside + ".gpuenv-new-" + token, token)
        replaced = identity_of(place.path) if old is not None else None
        self._journal = _written(place, journal._replace(replaced=replaced))

    def make_directory(self) -> None:
        """Move aside what is there; put a directory of ours in its place."""
        if self._journal.old is not None:
            os.rename(self.place.path, self._journal.old)
        os.mkdir(self.place.path)
        self._journal = _written(self.place, self._journal._replace(identity=identity_of(self.place.path)))

    def mark(self) -> None:
        """Mark the environment as being built, once its first step has made a directory tree."""
        with open(os.path.join(self.place.path, MARKER), "w", encoding="utf-8") as sink:
            sink.write(self._journal.token)
        self._journal = _written(self.place, self._journal._replace(marked=True))

    def commit(self) -> None:
        """Keep the new environment and remove what was there before."""
        self._journal = _written(self.place, self._journal._replace(state="committed"))
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
def changing(place: NodeEnvironmentPaths) -> Iterator[NodeTransaction]:
    """Begin a change; undo it unless it was committed. The place must be locked, recovered and free."""
    try:
        change = NodeTransaction(place)
        try:
            change.make_directory()
            yield change
        finally:
            change.roll_back()
    except OSError as error:
        raise refused_by_system(error, place.path) from error


def recover(place: NodeEnvironmentPaths) -> None:
    """Finish or undo a change that a killed program left behind; the place must be locked."""
    file = _file(place)
    for half in glob.glob(glob.escape(os.path.join(os.path.dirname(file), f".{place.key}.json-")) + "*"):
        os.unlink(half)  # a journal that was being written
    try:
        left = _of(place, parse_journal(read_regular(file, _LARGEST, own=True).decode("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        message = f"`{file}` can't be read: look what lies beside `{place.path}`, then delete it"
        raise NodeError("journal-unreadable", message, (str(error),)) from None
    try:
        _undo_or_finish(place, left)
    except OSError as error:
        if left.state == "building":
            raise _not_undone(place, error) from error


def is_pending(place: NodeEnvironmentPaths) -> bool:
    """Tell whether a change at the place is under way, or was left by a killed program."""
    return os.path.lexists(os.path.join(place.store, "journals", place.key + ".json"))


def parse_journal(text: str) -> NodeJournal:
    """Parse a journal; raise ValueError for anything that gpuenv would not have written.

    {"schema_version": 1, "path": "/data/envs/paper", "old": "/data/envs/.paper.gpuenv-old-5d1f",
     "trash": "/data/envs/.paper.gpuenv-new-5d1f", "token": "5d1f", "state": "building",
     "identity": [2049, 131], "marked": false, "replaced": [2049, 87]}
    """
    try:
        document = json.loads(text)  # type: dict[str, Any]
        path, old, trash = document["path"], document["old"], document["trash"]
        identity, replaced = (_parse_identity(document[key]) for key in ("identity", "replaced"))
        asides = [os.path.split(aside) for aside in (trash, old) if aside is not None]
        beside = (os.path.dirname(path), "." + os.path.basename(path) + ".gpuenv-")
        fits = all(folder == beside[0] and name.startswith(beside[1]) for folder, name in asides)
        fits = fits and os.path.isabs(path) and document["state"] in ("building", "committed")
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError("the journal is not one that gpuenv wrote") from None
    if not fits:
        raise ValueError("the journal is not one that gpuenv wrote")
    marked = document["marked"] is True
    return NodeJournal(
        path, old, trash, str(document["token"]), document["state"], identity, marked, replaced
    )


def _parse_identity(numbers: Any) -> tuple[int, int] | None:
    return (int(numbers[0]), int(numbers[1])) if numbers is not None else None


def _of(place: NodeEnvironmentPaths, journal: NodeJournal) -> NodeJournal:
    if place._replace(path=journal.path).key != place.key:
        raise ValueError(f"it is named after another path than `{journal.path}`")
    return journal


def _file(place: NodeEnvironmentPaths) -> str:
    return os.path.join(place.own_folder("journals"), place.key + ".json")


def _written(place: NodeEnvironmentPaths, journal: NodeJournal) -> NodeJournal:
    document = dict(journal._asdict(), schema_version=_SCHEMA_VERSION)
    file = _file(place)
    try:
        replace_file(file, json.dumps(document, indent=1) + "\n", 0o600)
    except OSError as error:
        raise unwritable(os.path.dirname(file), error) from None
    return journal


def _undo_or_finish(place: NodeEnvironmentPaths, journal: NodeJournal) -> None:
    """Each step can be repeated, so that this may itself be interrupted."""
    if journal.state == "building":
        _undo(journal)
    else:
        if _marker_of(journal.path) == journal.token:
            os.unlink(os.path.join(journal.path, MARKER))
        if journal.old is not None:
            _remove_tree(journal.old)
    _remove_tree(journal.trash)
    with suppress(FileNotFoundError):
        os.unlink(_file(place))


def _undo(journal: NodeJournal) -> None:
    moved_aside = journal.old is not None and os.path.lexists(journal.old)
    if journal.old is not None and not moved_aside:
        return  # what was there is still there, or back already
    if journal.old is not None and identity_of(journal.old) != journal.replaced:
        message = "`{}` is not what gpuenv put there: look into it, then delete the journal"
        raise NodeError("recovery-blocked", message.format(journal.old))
    if _is_ours(journal):
        os.rename(journal.path, journal.trash)
    elif identity_of(journal.path) is not None and not os.listdir(journal.path):
        os.rmdir(journal.path)
    if journal.old is None:
        return
    if os.path.lexists(journal.path):
        message = "`{}` is in the way of `{}`, which belongs there: move it away"
        raise NodeError("recovery-blocked", message.format(journal.path, journal.old))
    os.rename(journal.old, journal.path)


def _is_ours(journal: NodeJournal) -> bool:
    if journal.identity is None or identity_of(journal.path) is None:
        return False
    if journal.marked:
        return _marker_of(journal.path) == journal.token
    return identity_of(journal.path) == journal.identity


def _marker_of(path: str) -> str | None:
    try:
        return read_regular(os.path.join(path, MARKER), _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return None


def _not_undone(place: NodeEnvironmentPaths, error: OSError) -> NodeError:
    message = "`{}` could not be brought back: {}; the next run tries again"
    return NodeError("roll-back-failed", message.format(place.name, error.strerror or error), (str(error),))


def _remove_tree(path: str) -> None:
    """Remove a tree, read-only directories included."""
    if not os.path.lexists(path):
        return
    if identity_of(path) is None:
        os.unlink(path)
        return
    shutil.rmtree(path, onerror=_retry)


def _retry(call: Callable[..., Any], name: str, info: Any) -> None:
    if isinstance(info[1], FileNotFoundError):
        return
    if not isinstance(info[1], PermissionError):
        raise info[1]
    os.chmod(os.path.dirname(name), stat.S_IRWXU)
    if call in (os.unlink, os.remove, os.rmdir):
        call(name)
    else:  # the directory itself could not be read
        os.chmod(name, stat.S_IRWXU)
        shutil.rmtree(name)
