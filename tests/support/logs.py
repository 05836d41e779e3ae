"""The logs of tests/logs by name, and what each has to tell; their README says how they are written down."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

LOGS = Path(__file__).parents[1] / "logs"
_BEGINS = b"=== log "


@cache
def read_logs() -> dict[str, str]:
    """Return every log by its name; raise ValueError where two have one name."""
    logs: dict[str, str] = {}
    for path in sorted(LOGS.glob("*.txt")):
        for name, text in _texts(path.stem, path.read_bytes()):
            if name in logs:
                raise ValueError(f"two logs are called {name}")
            logs[name] = text.decode()
    return logs


def _texts(stem: str, content: bytes) -> list[tuple[str, bytes]]:
    """Return the logs of a file: each from the line after `=== log NAME`, or the file itself without one."""
    if not content.startswith(_BEGINS):
        return [(stem, content)]
    logs: list[tuple[str, bytes]] = []
    for part in content.removeprefix(_BEGINS).split(b"\n" + _BEGINS):
        name, _, text = part.partition(b"\n")
        logs.append((name.decode(), text))
    last = len(logs) - 1  # all but the last had an end of line that was taken with the split
    return [(name, text if at == last else text + b"\n") for at, (name, text) in enumerate(logs)]


def expected_of_logs() -> dict[str, dict[str, list[str]]]:
    """Return what each log has to tell: `ids` that state its cause, `class` that is right."""
    expected: dict[str, dict[str, list[str]]] = json.loads((LOGS / "expected.json").read_bytes())
    return expected
