"""What was read out of PyPI's wheels, which wins over what the facts say.

The rows are written by

    gpuenv matrix refresh --reread --thorough --only torch --write tools/matrix_tables/pypi
"""

from __future__ import annotations

import json
from pathlib import Path

from gpuenv.matrix_checks.serialise import sort_rows
from gpuenv.model.capability import parse_architecture
from matrix_tables.facts import DATA, Row, UnusableFacts

READ = DATA / "pypi"
_FROM_WHEEL = ("variant", "cuda", "pythons", "architectures", "cudnn", "tags", "triton", "source", "evidence")
_ONLY_THERE = ("requires_cuda", "note")
_COMPARED = ("variant", "pythons", "architectures", "cudnn", "tags", "triton")


def prefer_wheels(rows: list[Row], directory: Path, messages: list[str]) -> list[Row]:
    """Return the rows of torch.json with what wheels say in place of what the facts say.

    Adds to `messages` a line for each field in which the two differ. Columns of companions stay the facts'.
    Where a wheel denies the list of architectures in a build script, so it does for the script's others.
    """
    values = load_rows(directory / "torch.json")
    wheels = [row for row in values if row["index"] == "pypi" and row["evidence"] == "wheel"]
    read = {_key(row): row for row in wheels}
    merged = []
    denied: list[tuple[Row, Row]] = []
    for row in rows:
        wheel = read.pop(_key(row), None) if row["index"] == "pypi" else None
        if wheel:
            messages += _differences(row, wheel)
            denied += [(row, wheel)] if row["architectures"] != wheel["architectures"] else []
        merged.append(row | _taken(wheel) if wheel else row)
    for wheel in read.values():
        messages.append(f"torch {' '.join(_key(wheel))}: only in PyPI's wheels")
        merged.append(wheel)
    for fact, wheel in denied:
        merged = [_follow(row, fact, wheel, messages) for row in merged]
    return [dict(row) for row in sort_rows("torch", merged)]


def _follow(row: Row, fact: Row, wheel: Row, messages: list[str]) -> Row:
    """Return a build of the same release and platform, by the same script, with the wheel's differences."""
    gone = set(fact["architectures"]) - set(wheel["architectures"])
    by_script = row["cuda"] and row["evidence"] != "wheel" and gone <= set(row["architectures"])
    if _key(row) != _key(fact) or not by_script:
        return row
    added = [item for item in wheel["architectures"] if item not in fact["architectures"]]
    kept = [item for item in row["architectures"] if item not in gone]
    listed = sorted((*kept, *added), key=_architecture_order)
    messages.append(
        f"torch {row['torch']} {row['variant']} {row['platform']} pytorch: as PyPI's, {_text(listed)}"
    )
    note = f"its script says {' '.join(row['architectures'])}, which PyPI's wheel of this release denies"
    return row | {"architectures": listed, "note": note}


def _architecture_order(text: str) -> tuple[bool, int]:
    architecture = parse_architecture(text)
    return architecture.kind == "compute", architecture.capability.major * 10 + architecture.capability.minor


def read_records(directory: Path) -> list[Row]:
    """Return what companions' wheels record of their build: see tools/read_xformers.py."""
    return load_rows(directory / "xformers.json")


def load_rows(path: Path) -> list[Row]:
    """Return the rows of a file that a tool wrote; none where it is not there."""
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableFacts(f"`{path}` can't be read: {error}") from error
    return rows


def _key(row: Row) -> tuple[str, str]:
    return row["torch"], row["platform"]  # PyPI has one variant of each


def _taken(wheel: Row) -> Row:
    return {name: wheel[name] for name in (*_FROM_WHEEL, *_ONLY_THERE) if name in wheel}


def _differences(fact: Row, wheel: Row) -> list[str]:
    what = f"torch {fact['torch']} {fact['variant']} {fact['platform']} pypi"
    return [
        f"{what}: {name} {_text(fact[name])} in the facts, {_text(wheel[name])} in the wheel"
        for name in _COMPARED
        if fact[name] != wheel[name]
    ]


def _text(value: object) -> str:
    return "`" + (" ".join(map(str, value)) if isinstance(value, list) else str(value)) + "`"
