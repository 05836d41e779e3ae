"""What tells the rows of a matrix apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEYS: Mapping[str, Mapping[str | None, tuple[str, ...]]] = {
    "torch": {None: ("torch", "variant", "platform", "index")},
    "cuda": {
        "release": ("kind", "release"),
        "family": ("kind", "major"),
        "branch": ("kind", "os", "branch"),
        "architecture": ("kind", "architecture", "compute_capabilities"),
        "integrated": ("kind", "compute_capability"),
    },
    "gpus": {None: ("name", "compute_capability")},
    "companions": {"pair": ("kind", "torch", "project"), "release": ("kind", "project", "version")},
    "known-bad": {None: ("id",)},
    "libraries": {
        "floor": ("kind", "library", "from", "cuda"),
        "bundled": ("kind", "library", "torch", "cuda"),
    },
}


def row_key(table: str, row: Mapping[str, Any]) -> str:
    """Name a row within its table; raise KeyError or TypeError for a row without the fields for it."""
    fields = _KEYS[table].get(row.get("kind")) or _KEYS[table][None]
    return " ".join(_text(row[field]) for field in fields)


def _text(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
