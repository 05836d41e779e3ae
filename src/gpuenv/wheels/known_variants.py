"""The variants of torch wheels on disk, kept by what tells one state of a file from another.

A torch wheel's directory has 13,000 entries, and all of them are read to find one.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.model.variant import Variant
from gpuenv.untrusted.documents import load_json
from gpuenv.wheels.torch_wheel import read_torch_variant

FILE = "variants.json"
_MOST = 1000  # wheels; then it is begun anew
_SETTLED_S = 3.0  # what changes later has another time, on file systems that count by two seconds as well
_State = list[int]


class KnownVariants:
    """Variants by path, in one file of the cache; a file that was changed is read again."""

    def __init__(self, cache: Path) -> None:
        self._file = cache / FILE

    def read(self, wheel: Path) -> Variant:
        """Return a torch wheel's variant; raise OSError or ValueError as `read_torch_variant` does."""
        key, before = os.fspath(wheel), _state(wheel)
        match self._load().get(key):
            case [state, str(name)] if state == before:
                return Variant(name)
        variant = read_torch_variant(wheel)
        if _state(wheel) == before and _is_settled(before):
            self._keep(key, before, variant)
        return variant

    def _keep(self, key: str, state: _State, variant: Variant) -> None:
        known = self._load()  # what other processes have written meanwhile
        kept = known if len(known) < _MOST else {}
        with suppress(OSError):
            replace_private(self._file, json.dumps({**kept, key: [state, str(variant)]}))

    def _load(self) -> dict[str, object]:
        try:
            document = load_json(read_limited_text(self._file))
        except (OSError, ValueError):
            return {}
        return document if isinstance(document, dict) else {}


def _state(wheel: Path) -> _State:
    status = wheel.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _is_settled(state: _State) -> bool:
    return max(state[3:]) < (time.time() - _SETTLED_S) * 1e9
