"""Measure gpuenv against others, side by side in one run: `python bench/run.py [-o FILE]`, POSIX only.

Everything is the installed program of this interpreter's environment, in a scrubbed environment. The network
is a replica on 127.0.0.1 of PyPI and of the PyTorch index (replica.py), which both programs reach under the
official addresses, so that `uv --torch-backend=auto` can take part as it is; openssl 3 makes its certificate.
Its pages hold the torch stack as the matrices list it, and 40 releases of each dependency; its wheels are
tiny. Pages of the PyTorch index carry the headers that its publisher sets (no-store); --pages-last SECONDS
lets them be kept instead. The machine is described by a fake nvidia-smi: one H100, driver 580.95.05.

Not the same work: uv resolves everything that torch depends on, `gpuenv plan` without further requirements
only the torch stack. The replica speaks HTTP/1.1 only; answers are delayed, TLS handshakes are not.

What is compared, in rounds A B A B after one that does not count; medians, with the fastest and slowest run:

version     `gpuenv --version` and `python -c pass`
detect      `gpuenv detect` and an nvidia-smi that takes 0.2 s
plan        `gpuenv plan` and `uv pip compile --torch-backend=auto`, for torch and torchvision: cold (no
            cache of either program) and warm, at 0 and at 250 ms before every answer; the server counts
create      `gpuenv create --yes --no-verify` and the commands that `gpuenv plan --format uv` prints: warm
            with tiny wheels, cold with a torch wheel of --weight MB
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from certificates import make_authority
from replica import serve
from scenarios import Scenario, scenarios
from shelf import Shelf
from stage import HOSTS, Stage
from timing import Series, time_side_by_side


def main() -> int:
    """Measure what is asked for, print a table, write JSON."""
    options = _options()
    with _stage(options.weight, options.pages_last) as stage:
        chosen = [
            scenario
            for scenario in scenarios(stage, options.weight)
            if scenario.name.startswith(tuple(options.only))
        ]
        print(_row("", "gpuenv", "other", "ratio", "more", "requests", "held to"), flush=True)
        rows = [_measure(stage, scenario, options.rounds) for scenario in chosen]
    if options.output:
        options.output.write_text(json.dumps(_document(rows), indent=2) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("-n", "--rounds", type=int, default=7, help="how often each program runs")
    parser.add_argument("--weight", type=int, default=200, metavar="MB", help="size of the heavy torch wheel")
    parser.add_argument(
        "--pages-last", type=int, metavar="SECONDS", help="let pages of the PyTorch index be kept"
    )
    parser.add_argument(
        "only", nargs="*", default=[""], metavar="NAME", help="only these: version, plan, ..."
    )
    return parser.parse_args()


@contextmanager
def _stage(weight_mb: int, pages_last_s: int | None) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="gpuenv-bench-") as directory:
        root = Path(directory)
        with serve(Shelf(weight_mb), make_authority(root, HOSTS), pages_last_s) as replica:
            stage = Stage(root, replica)
            stage.add_programs("quick", 0)
            stage.add_programs("slow", 0.2)
            yield stage


def _measure(stage: Stage, scenario: Scenario, rounds: int) -> dict[str, object]:
    stage.replica.latency_s = scenario.latency_s
    stage.replica.shelf.weighs = scenario.heavy
    ours, other = time_side_by_side(scenario.contestants, rounds, stage.replica.asked, stage.replica.forget)
    ratio, more = ours.median_ms / other.median_ms, ours.median_ms - other.median_ms
    requests = f"{ours.most_requests} : {other.most_requests}" if other.most_requests else ""
    held = scenario.verdict(ours, other)
    print(
        _row(scenario.name, _shown(ours), _shown(other), f"{ratio:.2f}", f"{more:+.0f} ms", requests, held),
        flush=True,
    )
    return {
        "name": scenario.name,
        "other": other.name,
        "ratio": round(ratio, 3),
        "difference_ms": round(more, 1),
        "latency_ms": scenario.latency_s * 1000,
        "held_to": held,
        "gpuenv": _figures(ours),
        "against": _figures(other),
    }


def _figures(series: Series) -> dict[str, object]:
    low, high = series.spread_ms
    return {
        "median_ms": round(series.median_ms, 1),
        "fastest_ms": round(low, 1),
        "slowest_ms": round(high, 1),
        "requests": list(series.requests),
    }


def _shown(series: Series) -> str:
    low, high = series.spread_ms
    return f"{series.median_ms:.0f} ({low:.0f}-{high:.0f})"


def _row(name: str, ours: str, other: str, ratio: str, more: str, requests: str, held: str) -> str:
    return f"{name:<20}{ours:>18}{other:>18}{ratio:>8}{more:>10}{requests:>11}  {held}"


def _document(rows: list[dict[str, object]]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "rows": rows,
    }


if __name__ == "__main__":
    sys.exit(main())
