"""Read the output of a process: its beginning and end, and only until the process has ended.

A program may print without end, and its background children may keep the pipe open for days.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from gpuenv.i18n.messages import tr
from gpuenv.secrets.url_credentials import redact_bytes

_BLOCK = 64 << 10
_BEGUN_ADDRESS = re.compile(rb":/{0,2}\Z|://[^\s\"'<>]*\Z")
_LONGEST_ADDRESS = 4096
# how long to wait for an open pipe after its process has ended: without and with new output
_QUIET_S, _MOST_S = 0.3, 3.0


class TruncatedText:
    """The beginning and the end of a text, up to `limit` bytes; the middle is dropped and counted."""

    def __init__(self, limit: int, write: Callable[[bytes], object] | None = None) -> None:
        """Keep the beginning in memory, or hand it to `write` as it comes."""
        self._half = limit // 2
        self._begun: list[bytes] = []
        self._write = write or self._begun.append
        self._taken = 0
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0

    def take(self, block: bytes) -> None:
        """Add a block."""
        fits = max(self._half - self._taken, 0)
        if first := block[:fits]:
            self._taken += len(first)
            self._write(first)
        if rest := block[fits:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail[0])
            self._left_out += len(self._tail.popleft())

    def rest(self) -> bytes:
        """Return the end of the text, after a note on what was dropped."""
        if not self._left_out:
            return b"".join(self._tail)
        said = tr("({count} bytes left out)", count=self._left_out)
        return f"\n{said}\n".encode() + b"".join(self._tail)

    def all(self) -> bytes:
        """Return the beginning, if it is kept in memory, and the end."""
        return b"".join(self._begun) + self.rest()


class Redacting:
    """Hides passwords in a text that comes in blocks; a URL that is cut between two is held back."""

    def __init__(self) -> None:
        """Begin with nothing held back."""
        self._held = b""

    def take(self, block: bytes) -> bytes:
        """Return the redacted text up to a URL that is still incomplete."""
        data = self._held + block
        begun = _BEGUN_ADDRESS.search(data[-_LONGEST_ADDRESS:])
        self._held = begun[0] if begun else b""
        return redact_bytes(data[: len(data) - len(self._held)])

    def rest(self) -> bytes:
        """Return the incomplete URL at the end."""
        return redact_bytes(self._held)


class PipeReader:
    """A thread that reads a pipe to its end; after `stop` it drops what it reads."""

    def __init__(self, pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
        """Start to read an unbuffered pipe, or a terminal; it is closed at its end."""
        self._pipe, self._take = pipe, take
        self._waits_since: float | None = time.monotonic()
        self._stopped = False
        self._taking = threading.Lock()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._pipe, suppress(OSError):  # Linux: EIO where the other end of a terminal was closed
            while True:
                self._waits_since = time.monotonic()
                block = self._pipe.read(_BLOCK)
                self._waits_since = None
                if not block:
                    return
                with self._taking:
                    if self._stopped:
                        continue
                    try:
                        self._take(block)
                    except BaseException as error:  # noqa: BLE001 - raised where the process is waited for
                        self.error, self._stopped = error, True

    def is_busy(self) -> bool:
        """Whether more may come."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the end of the pipe, no longer than this."""
        self._thread.join(seconds)

    def waits_for(self) -> float:
        """Return the seconds since the last output; 0 while a block is being taken."""
        since = self._waits_since
        return 0.0 if since is None else time.monotonic() - since

    def stop(self) -> None:
        """Take no more blocks; returns once none is being taken."""
        with self._taking:
            self._stopped = True


def drain(readers: Sequence[PipeReader]) -> None:
    """Read the rest that an ended process has printed, without waiting for others that hold its pipes."""
    begun = time.monotonic()
    for reader in readers:
        while reader.is_busy():
            lasted, quiet = time.monotonic() - begun, reader.waits_for()
            if min(lasted, quiet) > _QUIET_S or (lasted > _MOST_S and quiet > 0):
                break
            reader.join(0.02)


def feed(pipe: IO[bytes], text: bytes) -> None:
    """Write a process's input in a thread; the process may end before it has read it all."""

    def write() -> None:
        with suppress(OSError, ValueError), pipe:
            view = memoryview(text)
            while view:
                view = view[pipe.write(view) :]

    threading.Thread(target=write, daemon=True).start()
