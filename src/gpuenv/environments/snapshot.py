"""Change distributions where they lie, their files kept aside, so that what an installer did can be undone.

Large files are hard links where the file system has them: installers put new files in place of old ones and
never write into libraries. What is kept lies in the environment itself, and what was kept in the ledger, so
that what a killed gpuenv has left can be made good later; gpuenv's own files are kept as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.environments import ledger
from gpuenv.environments.folders.within import Within
from gpuenv.environments.ledger import LedgerEntry
from gpuenv.environments.os_errors import convert_os_error
from gpuenv.files.read_limited import is_own
from gpuenv.host.executables import read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, InstallFailed
from gpuenv.on_disk.places import RECORD, EnvironmentPaths
from gpuenv.process import interruption

_FILES = "files"
_OWN = (RECORD, "constraints.txt", "pip.conf", "pip.ini")  # at the root
_COMMANDS = ("bin", "Scripts")
_COMPILED = "__pycache__"
_RECORD = 64 << 20  # bytes
_MOST = 500_000
_LARGE = 1 << 20  # bytes; smaller files, which something might write into, are copied


class SnapshotManifest(Struct, frozen=True):
    """What was kept: the distributions by name, their directories, and what lay in these before.

    Once `cleared`, all that is left to do is to move back.
    """

    names: tuple[str, ...]
    folders: tuple[str, ...]
    before: frozenset[str]
    cleared: bool = False


def take(environment: EnvironmentPaths, folders: tuple[str, ...], touched: Iterable[str]) -> LedgerEntry:
    """Keep the files of the distributions that will be touched; those not yet there are noted as new.

    Raises OSError, and UsageError where the ledger can't be written. The entry begins last: until then
    nothing had begun.
    """
    root, entry = environment.path, ledger.note(environment, ledger.new_entry("repair"))
    folder = entry.folder(root)
    folder.mkdir(mode=0o700)  # a pip.conf with a password may be among the files
    (folder / _FILES).mkdir()
    names = tuple(sorted({canonicalize_name(name) for name in touched}))
    own = (root / name for name in _OWN if (root / name).is_file())
    for file in (*_files_of(root, folders, names), *own):
        target = folder / _FILES / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        _keep(file, target)
    manifest = SnapshotManifest(names, folders, frozenset(_listing(root, folders)))
    return ledger.note(environment, replace(entry, state="begun", data=_render(manifest, root)))


def _render(manifest: SnapshotManifest, root: Path) -> dict[str, Any]:
    return {
        "names": list(manifest.names),
        "places": [_relative(location, root) for location in manifest.folders],
        "before": sorted(manifest.before),
        "cleared": manifest.cleared,
    }


def _relative(location: str, root: Path) -> str:
    return os.path.relpath(location, root)


def _keep(source: Path, target: Path) -> None:
    status = source.lstat()
    if status.st_size >= _LARGE and is_own(status):
        try:
            os.link(source, target)
        except OSError:  # a file system without hard links
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)


def _listing(root: Path, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield what lies in the directories of packages and commands, by paths within the environment."""
    for location in (*folders, *(str(root / name) for name in _COMMANDS)):
        for folder, inner, names in os.walk(location):
            inner[:] = [name for name in inner if name != _COMPILED]
            yield from (_relative(os.path.join(folder, name), root) for name in names)  # noqa: PTH118 - many


def put_back(environment: EnvironmentPaths, entry: LedgerEntry) -> None:
    """Bring the touched distributions back to how they were; raise OSError or ValueError where that fails.

    It may be interrupted at any point and be called again. Nothing is changed through a link that leads out
    of the environment, and nothing of another user is put into it.
    """
    root, folder = environment.path, entry.folder(environment.path) / _FILES
    manifest = parse_manifest(entry.data, root)
    kept = _kept_in(folder, root)
    if not manifest.cleared:
        _clear(root, manifest)
        cleared = replace(manifest, cleared=True)
        entry = ledger.note(environment, replace(entry, data=_render(cleared, root)))
    within = Within(root)
    for file in kept:
        target = within.check(root / file.relative_to(folder))
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
    ledger.clear(environment, entry)


def _kept_in(folder: Path, root: Path) -> tuple[Path, ...]:
    """Return the files that were kept; raise ValueError before anything is changed where one is not ours."""
    within, kept = Within(root), []
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if not is_own(status):
            raise ValueError(tr("`{path}` is owned by another user", path=path))
        if path.is_symlink() or not path.is_dir():
            within.check(root / path.relative_to(folder))
            kept.append(within.check(path))
    return tuple(kept)


def _clear(root: Path, manifest: SnapshotManifest) -> None:
    """Remove the files of the touched distributions, and what an installer that was killed left of others."""
    own = (path for name in _OWN for path in (root / name, *root.glob(f".{name}-*")))
    strays = _strays(root, manifest)
    for file in (*_files_of(root, manifest.folders, manifest.names), *strays, *own):
        if file.is_dir() and not file.is_symlink():
            continue
        with suppress(FileNotFoundError):
            file.unlink()
        _drop_empty(file.parent, root)


def _strays(root: Path, manifest: SnapshotManifest) -> tuple[Path, ...]:
    """Return what has come since, and no distribution says is its own."""
    come = {item for item in _listing(root, manifest.folders) if item not in manifest.before}
    if not come:
        return ()
    infos = (
        info.name.partition("-")[0] for location in manifest.folders for info in Path(location).glob("*-info")
    )
    others = {canonicalize_name(name) for name in infos} - set(manifest.names)
    claimed = {_relative(str(file), root) for file in _files_of(root, manifest.folders, others)}
    within = Within(root)
    return tuple(path for item in sorted(come - claimed) if within.holds(path := root / item))


def parse_manifest(data: dict[str, Any], root: Path) -> SnapshotManifest:
    """Parse what `take` noted; raise ValueError.

    {"names": ["torch"], "places": ["lib/python3.12/site-packages"], "before": ["bin/python"],
     "cleared": false}
    """
    try:
        names = tuple(str(name) for name in data["names"])
        folders = tuple(os.path.normpath(root / str(location)) for location in data["places"])
        before = frozenset(map(str, data["before"]))
        cleared = data["cleared"] is True
    except (KeyError, TypeError) as error:
        raise ValueError(tr("the manifest of a repair is invalid")) from error
    inside = tuple(location for location in folders if _is_inside(Path(location), root))
    return SnapshotManifest(names, inside, before, cleared)


def _files_of(root: Path, folders: tuple[str, ...], names: Iterable[str]) -> Iterator[Path]:
    """Yield the files of distributions, by their RECORDs, that lie within the environment."""
    wanted, within = set(names), Within(root)
    for file in map(Path, folders):
        for info in sorted(file.glob("*.dist-info")):
            if canonicalize_name(info.name.partition("-")[0]) in wanted:
                yield from (path for path in _recorded(root, file, info) if within.holds(path))


def _recorded(root: Path, file: Path, info: Path) -> Iterator[Path]:
    text = read_text(info / "RECORD", _RECORD) or ""
    from gpuenv.environments.contents.dists import parse_record  # noqa: PLC0415 - `run` only looks for a snapshot

    listed = [file / path for path, _ in islice(parse_record(text), _MOST)]
    beside = [path for path in info.rglob("*") if not path.is_dir()]
    for path in dict.fromkeys(Path(os.path.normpath(path)) for path in (*listed, *beside)):
        if _is_inside(path, root) and os.path.lexists(path) and not path.is_dir():
            yield path


def _is_inside(path: Path, root: Path) -> bool:
    if not path.is_relative_to(root):
        return False
    parts = path.relative_to(root).parts
    return not parts or not parts[0].startswith(ledger.PREFIXES)


def _drop_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.name != "site-packages" and _is_inside(folder, root):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


class ChangeInPlace:
    """A change that is under way."""

    def __init__(self) -> None:
        self.kept = False

    def keep(self) -> None:
        """Let what was done stay."""
        self.kept = True


@contextmanager
def changing_in_place(
    environment: EnvironmentPaths, folders: tuple[str, ...], touched: Iterable[str]
) -> Iterator[ChangeInPlace]:
    """Begin a change to the distributions named, in the directories `folders`; undo it unless it is kept.

    Signals are held: they end what waits, never a roll-back.
    The environment must be locked and recovered. What a kill leaves is undone by `apply.recover`. Raises
    InstallFailed where the files cannot be kept aside, or not be restored.
    """
    with interruption.held():
        try:
            entry = take(environment, folders, touched)
        except BaseException as error:  # no memory, say
            forget_rubbish(environment)
            if isinstance(error, OSError):
                raise convert_os_error(environment.path, error) from error
            raise
        change = ChangeInPlace()
        try:
            yield change
        finally:
            if change.kept:
                ledger.clear(environment, entry)
            else:
                undo(environment, entry)


def forget_rubbish(environment: EnvironmentPaths) -> None:
    """Remove what was prepared for a change that never began, or is over; raise OSError."""
    entry = ledger.noted(environment)
    if entry is not None and ledger.begun(environment) is None:
        ledger.clear(environment, entry)


def undo(environment: EnvironmentPaths, entry: LedgerEntry) -> None:
    """Undo what is not kept, or was left by a killed gpuenv."""
    try:
        with interruption.held():
            put_back(environment, entry)
    except (OSError, ValueError) as error:
        raise _not_undone(environment.path, entry.folder(environment.path), error) from error


def _not_undone(root: Path, folder: Path, error: Exception) -> InstallFailed:
    return InstallFailed(
        tr("`{path}` could not be restored: {error}", path=root, error=reason_of(error)),
        code="roll-back-failed",
        because=(Because(tr("the previous content is in {folder}", folder=folder), str(root)),),
        fixes=(Fix(tr("fix that, then run the command again")),),
    )
