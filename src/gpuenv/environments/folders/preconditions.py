"""What must hold before anything is fetched or written for an environment: said at once, with what to set."""

from __future__ import annotations

import errno
import os
import re
import secrets
import sys
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gpuenv.environments.folders.owners import (
    CACHE,
    DATA,
    TEMPORARY,
    check_environment_owner,
    check_folder,
    check_open_to_all,
)
from gpuenv.environments.store import bad_name, make_directory, unwritable
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.process.surroundings import cache_root

# PATH is parted there; no shell's activation script, and no line of a configuration file, holds the others
_UNFIT = re.compile(rf"[{re.escape(os.pathsep)}\x00-\x1f\x7f]")
_LONGEST_PATH = 3072  # bytes; Linux ends at 4,096, and torch's own files have names of some 200 below it
_BEGINNING = 65536  # bytes that a lock, a journal, a log and a record take at least


def check_beginning(environment: EnvironmentPaths, environ: Mapping[str, str]) -> None:
    """Raise UsageError where an environment can't be created, whatever will be in it."""
    check_path(environment.path, DATA if not environment.is_elsewhere else None)
    check_path(environment.store.root, DATA)
    check_folders(environment, environ)
    _check_twins(environment)
    _check_parent(environment)
    check_kept(environment)


def check_change(environment: EnvironmentPaths, environ: Mapping[str, str]) -> None:
    """Raise UsageError where an environment that is there can't be changed, whatever the change is."""
    check_folders(environment, environ)
    check_environment_owner(environment.path)
    check_kept(environment)


def check_folders(environment: EnvironmentPaths, environ: Mapping[str, str]) -> None:
    """Raise UsageError where another user could change what gpuenv keeps."""
    check_folder(environment.store.root, DATA, named=bool(environ.get(DATA)))
    for folder in (environment.store.environments, environment.store.locks, environment.store.journals):
        if folder.exists():
            check_folder(folder, DATA, named=True)
    cache = Path(os.path.abspath(cache_root(environ)))  # noqa: PTH100 - a link must stay one
    check_folder(cache, CACHE, named=bool(environ.get(CACHE)))
    temporary = environ.get(TEMPORARY)
    if temporary and Path(temporary).is_dir():
        check_folder(Path(os.path.abspath(temporary)), TEMPORARY, named=True)  # noqa: PTH100


def check_path(path: Path, variable: str | None) -> None:
    """Raise UsageError for a path that PATH, activation scripts or the system can't hold."""
    text = str(path)
    unfit = _UNFIT.search(text)
    problem = None
    if unfit is not None:
        problem = tr(
            "it has `{letter}`, which is not supported in PATH and scripts", letter=ascii(unfit[0])[1:-1]
        )
    elif any(0xDC80 <= ord(letter) <= 0xDCFF for letter in text):  # noqa: PLR2004 - surrogateescape's
        problem = tr("it has bytes that are not UTF-8, which uv does not support")
    elif sys.platform != "win32" and len(os.fsencode(path)) > _LONGEST_PATH:
        problem = tr("it is longer than {longest} bytes", longest=_LONGEST_PATH)
    if problem is None:
        return
    own = Fix(tr("set {variable} to another directory", variable=variable)) if variable else None
    shown = text if text.isprintable() else ascii(text)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    raise UsageError(
        tr("environments cannot be kept in `{path}`: {problem}", path=shown, problem=problem),
        code="bad-path",
        fixes=(own or Fix(tr("create it at another path")),),
    )


_SHOWN = 200


def _check_twins(environment: EnvironmentPaths) -> None:
    """Raise UsageError where a name differs from another by case alone: some file systems know only one."""
    if environment.is_elsewhere or os.path.lexists(environment.path):
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(environment.path.parent):  # noqa: PTH208 - names alone
            if name != environment.path.name and _folded(name) == _folded(environment.path.name):
                problem = tr(
                    "some file systems treat it as the same name as `{other}`, which exists", other=name
                )
                raise bad_name(environment.name, problem)


def _check_parent(environment: EnvironmentPaths) -> None:
    """Raise UsageError where everybody may replace the environment at a user's path."""
    parent = environment.path.parent
    if environment.is_elsewhere and parent.is_dir():
        check_open_to_all(parent)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def check_kept(environment: EnvironmentPaths) -> None:
    """Raise UsageError unless files can be written and locked where gpuenv keeps locks, journals and logs."""
    for folder in (environment.store.locks, environment.store.journals, environment.store.logs):
        _try(make_directory(folder))


def _try(folder: Path) -> None:
    """Write a file as large as what is to come, lock it and take it away; permissions tell root little."""
    file = folder / f".trial-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        with os.fdopen(os.dup(descriptor), "wb") as sink:  # which raises where only a part is written
            sink.write(b"\0" * _BEGINNING)
        _try_lock(descriptor, folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        os.close(descriptor)
        with suppress(OSError):
            file.unlink()


def _try_lock(descriptor: int, folder: Path) -> None:
    if sys.platform == "win32":
        return
    import fcntl  # noqa: PLC0415 - exists on POSIX only

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno != errno.ENOSYS:  # then filelock has another way
            raise without_locks(folder, error) from None


def without_locks(folder: Path, error: OSError) -> UsageError:
    """Say that files can't be locked there: two gpuenv could change one environment at a time."""
    from gpuenv.environments.folders.mounts import file_system_of  # noqa: PLC0415 - rarely needed

    kind = file_system_of(folder) or "?"
    return UsageError(
        tr("files in `{path}` cannot be locked: {error}", path=folder, error=reason_of(error)),
        code="no-locks",
        because=(Because(tr("it is on {kind}", kind=kind), "/proc/self/mountinfo"),),
        fixes=(
            Fix(tr("set GPUENV_DATA_DIR to a directory on a local disk")),
            Fix(tr("or mount it with locks (NFS: lockd or version 4; Lustre: -o flock)")),
        ),
    )
