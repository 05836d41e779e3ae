"""What tells the rows of a matrix apart, and the list of the checks that compare rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

Row = Mapping[str, Any]
Rows = Sequence[Row]
Complaints = Iterator[tuple[Row, str]]
Comparison = Callable[..., Complaints]


class CrossCheck(Struct, frozen=True):
    """A comparison: the tables it needs (complaints are about the first) and the function that makes it."""

    tables: tuple[str, ...]
    run: Comparison


CROSS_CHECKS: list[CrossCheck] = []


def compares(*tables: str) -> Callable[[Comparison], Comparison]:
    """Register the function below as a check of these tables."""

    def register(run: Comparison) -> Comparison:
        CROSS_CHECKS.append(CrossCheck(tables, run))
        return run

    return register


class MatrixFault(Struct, frozen=True):
    """What is wrong with a row: the table, what tells the row from others, and why."""

    table: str
    row_key: str
    message: str


class MatrixNote(Struct, frozen=True):
    """What is worth knowing of a row and no fault: `code` tells the kinds of notes apart."""

    table: str
    row_key: str
    message: str
    code: str


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
    "mirrors": {None: ("name",)},
    "signatures": {None: ("id",)},
    "checks": {None: ("id",)},
    "conda": {None: ("channel", "torch", "variant", "platform")},
    "conda-tools": {
        "exception": ("kind", "tool", "name"),
        "text": ("kind", "tool", "pattern"),
        "advice": ("kind", "tool", "pattern"),
        "least": ("kind", "tool"),
        "list": ("kind", "tool"),
        "flaw": ("kind", "tool", "flaw"),
    },
    "installer-faults": {None: ("tool", "pattern")},
    "nvidia-smi": {None: ("kind", "contains")},
    "reports": {None: ("program", "pattern")},
    "tegra": {None: ("chip",)},
    "images": {None: ("repository", "tag")},
    "pythons": {None: ("version",)},
    "releases": {
        "pythons": ("kind", "project", "pythons"),
        "bound": ("kind", "package"),
        "system": ("kind", "package"),
        "tied": ("kind", "project", "by"),
        "same": ("kind", "project"),
    },
    "api-changes": {None: ("id",)},
    "ecosystem": {
        "set": ("kind", "set"),
        "project": ("kind", "project"),
        "code": ("kind", "project", "versions"),
        "abi": ("kind", "torch", "variants"),
        "wheels": ("kind", "set", "by", "torch", "variant", "platform"),
        "name": ("kind", "project"),
        "member": ("kind", "project", "extra", "cuda"),
        "framework": ("kind", "pattern", "releases"),
        "brings-torch": ("kind", "pattern"),
        "requires": ("kind", "project", "version"),
    },
    "libraries": {
        "floor": ("kind", "library", "from", "cuda"),
        "family": ("kind", "library", "major"),
        "bundled": ("kind", "library", "torch", "cuda"),
    },
    "dependencies": {
        "build": ("kind", "torch", "variant", "platform", "index"),
        "file": ("kind", "project", "version", "platform"),
    },
    "wheels": {None: ("filename", "index", "subdir")},
    "accelerator-devices": {None: ("vendor", "pci_id", "revision", "name")},
    "accelerator-architectures": {None: ("kind", "architecture")},
    "accelerator-builds": {
        None: ("torch", "torch_npu", "variant", "platform", "index", "tags", "build", "yanked")
    },
    "accelerator-indexes": {"index": ("kind", "id"), "package": ("kind", "vendor", "package")},
    "accelerator-known-bad": {None: ("id",)},
    "kernel-drivers": {
        "window": ("kind", "driver"),
        "module": ("kind", "module"),
        "rule": ("kind", "driver"),
    },
    "jetson": {None: ("boards", "l4t")},
}
_OPTIONAL = frozenset({"subdir", "torch_npu", "build", "yanked"})


def row_key(table: str, row: Mapping[str, Any]) -> str:
    """Name a row within its table; raise KeyError or TypeError for a row without the fields for it."""
    kinds = _KEYS[table]
    fields = kinds[None] if None in kinds else kinds[row["kind"]]
    return " ".join(_text(row[field]) for field in fields if field in row or field not in _OPTIONAL)


def known_key(table: str, row: Any) -> str | None:
    """Name a row as `row_key` does; None for anything that cannot be named."""
    try:
        return row_key(table, row) if isinstance(row, Mapping) else None
    except (KeyError, TypeError):
        return None


def _text(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
