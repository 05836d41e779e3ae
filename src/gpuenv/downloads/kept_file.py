"""The beginning of a file on disk, with its hash: never more than that, so that it can be gone on with."""

from __future__ import annotations

from hashlib import sha256
from typing import IO

_CHUNK = 1 << 18


class KeptFile:
    """A file to which bytes are only added; what it holds already counts."""

    def __init__(self, sink: IO[bytes]) -> None:
        """Read and hash what is there; raises OSError."""
        self._sink = sink
        self._digest = sha256()
        self.size = 0
        sink.seek(0)
        while chunk := sink.read(_CHUNK):
            self._digest.update(chunk)
            self.size += len(chunk)
        self.inherited = self.size

    @property
    def sha256(self) -> str:
        """The digest of what is there."""
        return self._digest.hexdigest()

    def add(self, chunk: bytes) -> None:
        """Keep the bytes that come next."""
        self._sink.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)

    def empty(self) -> None:
        """Begin anew."""
        self._sink.truncate(0)
        self._digest = sha256()
        self.size = self.inherited = 0

    def flush(self) -> None:
        """Write what is still in memory."""
        self._sink.flush()
