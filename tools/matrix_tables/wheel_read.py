"""What was read out of PyPI's wheels, which wins over what the facts say.

The rows are written by

    gpuenv matrix refresh --reread --thorough --only torch --write tools/matrix_tables/pypi
"""

from __future__ import annotations

import json
from pathlib import Path

from gpuenv.core.matrix_text import sort_rows
from matrix_tables.facts import DATA, Row, UnusableFacts

READ = DATA / "pypi"
_FROM_WHEEL = ("variant", "cuda", "pythons", "architectures", "cudnn", "tags", "triton", "source", "evidence")
_COMPARED = ("variant", "pythons", "architectures", "cudnn", "tags", "triton")


def prefer_wheels(rows: list[Row], directory: Path, told: list[str]) -> list[Row]:
    """Return the rows of torch.json with what wheels say in place of what the facts say.

    Adds to `told` a line for each field in which the two differ. The columns of companions stay the facts'.
    """
    read = {_key(row): row for row in _load(directory)}
    merged = []
    for row in rows:
        wheel = read.pop(_key(row), None) if row["index"] == "pypi" else None
        if wheel:
            told += _differences(row, wheel)
        merged.append(row | _taken(wheel) if wheel else row)
    for wheel in read.values():
        told.append(f"torch {' '.join(_key(wheel))}: only in PyPI's wheels")
        merged.append(wheel)
    return [dict(row) for row in sort_rows("torch", merged)]


def _load(directory: Path) -> list[Row]:
    path = directory / "torch.json"
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableFacts(f"`{path}` can't be read: {error}") from error
    return [row for row in rows if row["index"] == "pypi" and row["evidence"] == "wheel"]


def _key(row: Row) -> tuple[str, str]:
    return row["torch"], row["platform"]  # PyPI has one variant of each


def _taken(wheel: Row) -> Row:
    return {name: wheel[name] for name in (*_FROM_WHEEL, "note") if name in wheel}


def _differences(fact: Row, wheel: Row) -> list[str]:
    what = f"torch {fact['torch']} {fact['variant']} {fact['platform']} pypi"
    return [
        f"{what}: {name} {_text(fact[name])} in the facts, {_text(wheel[name])} in the wheel"
        for name in _COMPARED
        if fact[name] != wheel[name]
    ]


def _text(value: object) -> str:
    return "`" + (" ".join(map(str, value)) if isinstance(value, list) else str(value)) + "`"
