"""Write what the user asked to have in a file."""

from __future__ import annotations

from pathlib import Path

from gpuenv.environments.record import replace_file
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr


def write_file(path: Path, text: str) -> None:
    """Write `text` to `path` in one step, so that the file is whole or as before; raise UsageError if it can't."""
    try:
        replace_file(path, text)
    except OSError as error:
        raise UsageError(
            tr("{path} can't be written: {reason}", path=path, reason=error.strerror or error),
            code="unwritable",
            fixes=(Fix(tr("give another file with -o")),),
        ) from None
