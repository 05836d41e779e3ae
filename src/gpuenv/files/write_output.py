"""Write output files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError
from gpuenv.on_disk.replace import replace_file

_LINE = 1000  # characters


def refuse_foreign_file(path: Path) -> None:
    """Raise UsageError where `path` is a file that gpuenv did not create; those it creates name it on top."""
    if path.is_file() and not _may_be_replaced(path):
        raise UsageError(
            tr("{path} was not created by gpuenv and would be overwritten", path=path),
            code="would-be-lost",
            fixes=(Fix(tr("give another file with -o, and copy what you need")),),
        )


def _may_be_replaced(file: Path) -> bool:
    """Tell whether a file is empty, or gpuenv made it."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            head = opened.readline(_LINE) + opened.readline(_LINE)
    except OSError:
        return True  # writing will report why
    return not head.strip() or "gpuenv" in head


def make_folder(path: Path) -> None:
    """Create a folder unless it exists; raise UsageError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            tr("{path} cannot be made: {reason}", path=path, reason=reason_of(error)),
            code="unwritable",
            fixes=(Fix(tr("give another directory with -o")),),
        ) from None


def write_file(path: Path, text: str) -> None:
    """Write `text` to `path`; raise UsageError if that fails.

    A regular file is replaced in one step; a link, a pipe or a device such as /dev/stdout is written to. A
    link to a file in another folder is refused unless gpuenv created that file: a checkout may contain a
    requirements.txt that points to one of the user's own files.
    """
    if path.is_symlink():
        _refuse_leading_away(path)
    try:
        _write(path, text.encode("utf-8", "replace").decode("utf-8"))
    except OSError as error:
        raise UsageError(
            tr("{path} cannot be written: {reason}", path=path, reason=reason_of(error)),
            code="unwritable",
            fixes=(Fix(tr("name another file, in a writable directory")),),
        ) from None


def _refuse_leading_away(link: Path) -> None:
    target = Path(os.path.realpath(link))
    if target.exists() and (not target.is_file() or _may_be_replaced(target)):
        return
    if target.is_relative_to(os.path.realpath(link.parent)) or link.absolute().is_relative_to("/dev"):
        return
    raise UsageError(
        tr("{path} is a link to {target}, which was not created by gpuenv", path=link, target=target),
        code="would-be-lost",
        fixes=(Fix(tr("give the file itself with -o if intended, or remove the link")),),
    )


def _write(path: Path, text: str) -> None:
    exists = path.exists()
    if path.is_symlink() or (exists and not path.is_file()):
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    mode = stat.S_IMODE(path.stat().st_mode) if exists else None
    replace_file(path, text)
    if mode is not None:
        path.chmod(mode)
