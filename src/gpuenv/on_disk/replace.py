"""Put a text where a file is, in one step."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Put `text` at `path` in one step that survives a crash; raise OSError. umask counts for `mode`."""
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(
            descriptor, "w", encoding="utf-8", newline="\n"
        ) as sink:  # sh and Docker know no others
            sink.write(text)
            sink.flush()
            os.fsync(sink.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
