"""Configuration files on disk: their bytes, and their replacement in one step."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from gpuenv.files.read_limited import read_limited
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def read_bytes(path: Path) -> bytes | None:
    """Return a file's content, None if it does not exist; UsageError if it cannot be read."""
    try:
        return read_limited(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unusable(path, reason_of(error)) from None


def decoded(path: Path, content: bytes | None) -> str:
    """Return a file's text, line ends and byte order mark unchanged; UsageError if it is not UTF-8."""
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unusable(path, tr("it is not UTF-8: {error}", error=error.reason)) from None


def check_writable(path: Path) -> None:
    """Raise UsageError where a file, or the nearest folder that exists, is not writable."""
    target = path.resolve()
    there = next(file for file in (target, *target.parents) if file.exists())
    folder = there if there.is_dir() and there != target else there.parent
    if target.is_dir() or not (os.access(there, os.W_OK) and os.access(folder, os.W_OK)):
        raise _unusable(path, tr("`{path}` is not a file, or is read-only", path=there))


def missing_folders(path: Path) -> tuple[Path, ...]:
    """Return the folders that writing a file would create."""
    folder = path.resolve().parent
    return tuple(file for file in (folder, *folder.parents) if not file.exists())


def keep_private(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 in a folder of mode 0700."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)  # older releases of gpuenv let others read it
    except OSError as error:
        raise _unusable(path, reason_of(error)) from None
    replace_bytes(path, content, private=True)


def replace_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Replace a file in one step, through links, with its mode or 0600 (`private`); folders are created."""
    check_writable(path)
    target = path.resolve()
    made = missing_folders(path)
    temporary = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, _NEW, 0o600), "wb") as sink:
            sink.write(content)
            sink.flush()
            os.fsync(sink.fileno())
        if not private:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else _usual_mode())
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        remove_folders(made)
        if isinstance(error, OSError):
            raise _unusable(path, reason_of(error)) from None
        raise


def _usual_mode() -> int:
    """Return the mode that the umask gives to a new file."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def remove(path: Path) -> None:
    """Remove a file, if it exists."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unusable(path, reason_of(error)) from None


def remove_folders(folders: tuple[Path, ...]) -> None:
    """Remove folders, the deepest first, as far as they are empty."""
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        with suppress(OSError):
            folder.rmdir()


def digest(content: bytes) -> str:
    """Return the SHA-256 digest of some bytes in hexadecimal."""
    return sha256(content).hexdigest()


def _unusable(path: Path, reason: str) -> UsageError:
    return UsageError(
        tr("`{file}` cannot be used: {reason}", file=path, reason=reason),
        code="settings-unusable",
        because=(Because(reason, str(path)),),
        fixes=(Fix(tr("fix it or its permissions, or choose another --scope")),),
    )
