"""Write what the user asked to have in a file."""

from __future__ import annotations

import stat
from pathlib import Path

from gpuenv.environments.record import replace_file
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr


def write_file(path: Path, text: str) -> None:
    """Write `text` to `path`; raise UsageError if it can't be.

    A plain file is replaced in one step, so that it is whole or as before; a link, a pipe or a device such as
    /dev/stdout is written to.
    """
    printable = text.encode("utf-8", "replace").decode("utf-8")
    try:
        _write(path, printable)
    except OSError as error:
        raise UsageError(
            tr("{path} can't be written: {reason}", path=path, reason=error.strerror or error),
            code="unwritable",
            fixes=(Fix(tr("give another file with -o")),),
        ) from None


def _write(path: Path, text: str) -> None:
    there = path.exists()
    if path.is_symlink() or (there and not path.is_file()):
        path.write_text(text, encoding="utf-8")
        return
    mode = stat.S_IMODE(path.stat().st_mode) if there else None
    replace_file(path, text)
    if mode is not None:
        path.chmod(mode)
