"""Write adapted files in place: all or none, the old bytes kept beside."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from gpuenv.adapt.model import DependencyFile, Project
from gpuenv.adapt.parsers.collector import decode_text, encode_text
from gpuenv.files.config_files import check_writable, read_bytes, remove, replace_bytes
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError

_MOST = 1000  # kept files of one name


class Written(Struct, frozen=True):
    """A changed file and the one that keeps what it held: `mv KEPT PATH` brings it back."""

    path: str
    kept: str


class _Work(Struct, frozen=True):
    path: Path
    old: bytes
    new: bytes


def write_files(project: Project, files: tuple[DependencyFile, ...]) -> tuple[Written, ...]:
    """Write the files whose text changed; the old bytes are kept as `FILE.orig` first.

    Raises UsageError, with every file as it was, where one can't be written, was changed since it was read,
    or is a link to another folder.
    """
    pairs = zip(project.files, files, strict=True)
    work = tuple(_prepared(before, after) for before, after in pairs if before.text != after.text)
    kept: list[tuple[Path, bool]] = []
    done: list[_Work] = []
    try:
        kept.extend(_keep(pair) for pair in work)
        for item in work:
            done.append(item)
            _replace(item.path, item.new)
    except BaseException:
        for item in done:
            if read_bytes(item.path) != item.old:
                replace_bytes(item.path, item.old)
        for path, is_new in kept:
            if is_new:
                remove(path)
        raise
    return tuple(
        Written(pair.path.as_posix(), path.as_posix()) for pair, (path, _) in zip(work, kept, strict=True)
    )


def _prepared(before: DependencyFile, after: DependencyFile) -> _Work:
    path = Path(before.path)
    _refuse_link_away(path)
    try:
        old = read_bytes(path) or b""
        check_writable(path)
        is_same = decode_text(old) == before.text
        work = _Work(path, old, encode_text(after.text, old))
    except (ValueError, UsageError) as error:
        raise _unwritable(path, error) from None
    if is_same:
        return work
    text = tr("`{path}` was changed since it was read", path=path)
    raise UsageError(
        text,
        code="changed-meanwhile",
        because=(Because(text, str(path)),),
        fixes=(Fix(tr("run the command again")),),
    )


def _refuse_link_away(path: Path) -> None:
    target = path.resolve()
    if path.is_symlink() and not target.is_relative_to(path.absolute().parent.resolve()):
        raise UsageError(
            tr("`{path}` is a link to {target}, in another folder", path=path, target=target),
            code="link-elsewhere",
            fixes=(Fix(tr("name the file itself to change it")),),
        )


def _unwritable(path: Path, error: str | Exception) -> UsageError:
    if isinstance(error, UsageError):
        reason = error.because[0].text if error.because else error.message
    else:
        reason = error if isinstance(error, str) else reason_of(error)
    return UsageError(
        tr("{path} cannot be written: {reason}", path=path, reason=reason),
        code="unwritable",
        because=(Because(reason, str(path)),),
        fixes=(Fix(tr("use the patch: omit --write, or give -o FILE")),),
    )


def _keep(work: _Work) -> tuple[Path, bool]:
    """Keep the old bytes beside; what is kept there of an earlier time stays."""
    for number in range(_MOST):
        path = work.path.with_name(f"{work.path.name}.orig{f'.{number}' if number else ''}")
        try:
            _write_new(path, work.old, stat.S_IMODE(work.path.stat().st_mode))
        except FileExistsError:
            if path.is_file() and path.read_bytes() == work.old:
                return path, False
        except OSError as error:
            raise _unwritable(path, error) from None
        else:
            return path, True
    raise _unwritable(work.path, tr("too many backup files exist"))


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is not there yet, never readable by more than `mode` lets; raise FileExistsError.

    Half of it is not left behind.
    """
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, new, 0o600), "wb") as sink:
        try:
            sink.write(content)
            sink.flush()
            path.chmod(mode)
        except BaseException:
            sink.close()
            remove(path)
            raise


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_bytes(path, content)
    except UsageError as error:
        raise _unwritable(path, error) from None
