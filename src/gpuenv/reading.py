"""Files that a setting names, or lie where gpuenv looks, read up to a limit: some are pipes or /dev/zero."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path

from gpuenv.values.text import tr

LARGEST = 4 << 20  # bytes of a configuration file
_PIECE = 1 << 20
_OPENED_WITHIN_S = 0.5  # a pipe's other end
_SAID_WITHIN_S = 30.0  # something by who holds it, where nobody named the pipe on a command line
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_limited(path: Path, limit: int = LARGEST, *, patient: bool = False) -> bytes:
    """Return what a file holds; raise OSError, or ValueError for more than `limit` bytes.

    Of a pipe that nobody writes into it is a ValueError too; `patient` waits for as long as somebody might.
    """
    content = read_start(path, limit + 1, patient=patient)
    if len(content) > limit:
        raise ValueError(too_large(limit))
    return content


def read_start(path: Path, size: int, *, patient: bool = False) -> bytes:
    """Return the first `size` bytes of a file, fewer where it has no more; raise OSError or ValueError."""
    descriptor = os.open(path, _FLAGS)  # does not wait for a pipe's other end
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        content = bytearray()
        unopened = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        while len(content) < size:
            piece = file.read(min(_PIECE, size - len(content)))
            if piece:
                content += piece
            elif piece is None:  # somebody holds it, and has said nothing yet
                _wait(descriptor, None if patient else _SAID_WITHIN_S)
            elif unopened and not content:
                _wait(descriptor, _OPENED_WITHIN_S)
            else:
                break
            unopened = False
    return bytes(content)


def _wait(descriptor: int, limit_s: float | None) -> None:
    """Wait for something to read, or for a pipe's end; raise ValueError where neither comes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(None if limit_s is None else limit_s * 1000):
        raise ValueError(tr("nobody writes into it"))


def read_limited_text(path: Path, limit: int = LARGEST) -> str:
    """Return a file's text in UTF-8, its line ends as one letter; raise OSError or ValueError."""
    return read_limited(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def too_large(limit: int) -> str:
    """Say what is wrong with a file of more than `limit` bytes."""
    if limit < 1 << 20:
        return tr("it is larger than {size} KB", size=limit >> 10)
    return tr("it is larger than {limit} MB", limit=limit >> 20)
