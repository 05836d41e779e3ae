"""Print how each pack of signatures answers the logs of tests/logs: `python tools/pack_precision.py`.

`answers` are logs that a signature of the pack is the first answer to, `right` those of them of which it
states the cause (expected.json). gpuenv must be importable: installed, or PYTHONPATH=src.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

from gpuenv import matrices
from gpuenv.explanation.explain import find_matches
from gpuenv.signatures.packs import PACKS

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))


def main() -> int:
    """Print the table, as Markdown; return the exit status."""
    logs = import_module("logs")  # of the tests
    expected = logs.expected_of_logs()
    answers: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for name, text in logs.read_logs().items():
        for match in find_matches(text)[:1]:
            answers[match.pack] += 1
            right[match.pack] += match.id in expected.get(name, {}).get("ids", ())
    known = Counter(row["pack"] for row in matrices.load("signatures"))
    print("| pack | signatures | answers | right |\n| --- | --- | --- | --- |")
    for pack in (*PACKS, "all"):
        count, given, good = (
            table.total() if pack == "all" else table[pack] for table in (known, answers, right)
        )
        print(f"| {pack} | {count} | {given} | {good} ({good / max(given, 1):.1%}) |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
