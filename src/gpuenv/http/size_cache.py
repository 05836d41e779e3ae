"""Sizes of files that never change, remembered on disk."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.untrusted.documents import load_json


class SizeStore:
    """Sizes of files that never change, by address, in one JSON file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._sizes: dict[str, int] | None = None

    def get(self, url: str) -> int | None:
        """Return the size of a file, in bytes, if it was ever told."""
        with self._lock:
            if self._sizes is None:
                self._sizes = self._load()
            return self._sizes.get(url)

    def add(self, url: str, size: int) -> None:
        """Remember a size; other programs' entries stay."""
        with self._lock, suppress(OSError):
            self._sizes = {**self._load(), **(self._sizes or {}), url: size}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(self._sizes, file)
            Path(name).replace(self._path)

    def _load(self) -> dict[str, int]:
        try:
            read = load_json(read_limited_text(self._path))
        except (OSError, ValueError):
            return {}
        return (
            {url: size for url, size in read.items() if type(size) is int} if isinstance(read, dict) else {}
        )
