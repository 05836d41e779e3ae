"""The compatibility matrices: facts as JSON rows, shipped in the wheel, read once, when first asked for."""

from __future__ import annotations

import errno
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

# what decisions are made from, and what a refresh may lay rows over
DECIDING = ("torch", "cuda", "gpus", "companions", "known-bad", "libraries", "ecosystem")
# what a refresh writes besides, and a plan is told with
BESIDE = ("dependencies", "accelerator-builds")
# read where a machine or a request has an accelerator that is not an NVIDIA GPU
ACCELERATORS = (
    "accelerator-builds", "accelerator-devices", "accelerator-architectures", "accelerator-indexes",
    "accelerator-known-bad", "kernel-drivers", "jetson",
)  # fmt: skip
# what can be looked at
TABLES = (
    *DECIDING, *dict.fromkeys((*BESIDE, *ACCELERATORS)), "mirrors", "conda", "signatures", "checks", "images",
    "pythons", "api-changes",
)  # fmt: skip

_LARGEST = 64 << 20  # bytes


def directory() -> Path:
    """Where the matrices lie: beside this module when installed, else at the top of a source checkout."""
    installed = Path(__file__).with_name("data")
    return installed if installed.is_dir() else Path(__file__).parents[3] / "matrices"


@cache
def load(table: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of `table` (a file name without `.json`)."""
    return read(directory(), table)


def read(folder: Path, table: str) -> tuple[dict[str, Any], ...]:
    """Return the rows of a table in a folder; OSError, ValueError, KeyError or TypeError if it has none."""
    return tuple(_parsed(read_bytes(folder, table))["rows"])


def read_bytes(folder: Path, table: str) -> bytes:
    """Return the JSON of a table in a folder; raise OSError where it can't be read."""
    path = folder / f"{table}.json"
    if path.exists() and not path.is_file():  # a pipe, say
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    with path.open("rb") as file:
        content = file.read(_LARGEST)
    if len(content) == _LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def _parsed(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)  # in half of json's time
    except msgspec.DecodeError:
        return json.loads(content.decode("utf-8"))  # whose errors are ValueErrors that say where
