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

version, help, list, mirrors list, completion, activate
            against `python -c pass` or a typer application of two commands
detect      `gpuenv detect` and an nvidia-smi that answers at once, and one that takes 0.2 s
run         `gpuenv run bench -- true` and `true`
plan        `gpuenv plan` and `uv pip compile --torch-backend=auto`, for torch and torchvision: cold (no
            cache of either program) and warm, at 0, 50 and 250 ms before every answer; the server counts
create      `gpuenv create --yes --no-verify` and the commands that `gpuenv plan --format uv` prints: warm
            with tiny wheels, warm with a torch wheel of 12,000 files, cold with one of --weight MB
download    what gpuenv fetches itself (fetch.py), `curl -O` and `uv pip install --no-cache` of one wheel of
            150 MB: without a line between, on one of 100 Mbit/s and 50 ms (link.py), on one that gives
            each connection 50 Mbit/s, and where a connection is silent for 8 s or breaks, twice
explain, doctor, machines, adapt, requirements
            by themselves (requirements: beside uv), with how they grow
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
from downloads import HOST
from replica import serve
from scenario import Figures, Scenario
from scenarios import scenarios
from shelf import Shelf
from stage import HOSTS, Stage
from timing import Runner, Series, time_side_by_side


def main() -> int:
    """Measure what is asked for, print a table, write JSON."""
    options = _options()
    with _stage(options.weight, options.pages_last) as stage:
        chosen = (
            scenario
            for scenario in scenarios(stage, options.weight)
            if scenario.name.startswith(tuple(options.only))
        )
        print(_HEAD, flush=True)
        earlier: dict[str, Series] = {}
        runner = Runner(stage.root)
        rows = [_measure(runner, stage, scenario, options.rounds, earlier) for scenario in chosen]
        runner.stop()
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
        with serve(Shelf(weight_mb), make_authority(root, (*HOSTS, HOST)), pages_last_s) as replica:
            stage = Stage(root, replica)
            stage.add_programs("quick", 0)
            stage.add_programs("slow", 0.2)
            yield stage


def _measure(
    runner: Runner, stage: Stage, scenario: Scenario, rounds: int, earlier: dict[str, Series]
) -> dict[str, object]:
    stage.replica.latency_s = scenario.latency_s
    stage.replica.shelf.torch = scenario.torch
    rounds = min(rounds, scenario.most_rounds or rounds)
    ours, *others = time_side_by_side(
        runner, scenario.contestants, rounds, stage.replica.asked, stage.replica.forget
    )
    figures = Figures(ours, others[0] if others else None, earlier)
    goals = {goal.words: goal.met(figures) for goal in scenario.goals}
    print(_row(scenario.name, figures, goals), flush=True)
    for further in others[1:]:
        print(_row(f"  beside {further.name}", Figures(ours, further, earlier), {}), flush=True)
    earlier[scenario.name] = ours
    return {
        "name": scenario.name,
        "latency_ms": scenario.latency_s * 1000,
        "goals": goals,
        "gpuenv": _figures(ours),
        "against": {"name": others[0].name, **_figures(others[0])} if others else None,
        "further": [{"name": further.name, **_figures(further)} for further in others[1:]],
    }


def _figures(series: Series) -> dict[str, object]:
    return {
        "wall_ms": round(series.wall_ms, 1),
        "cpu_ms": round(series.cpu_ms, 1),
        "peak_mb": round(series.peak_mb, 1),
        "requests": series.most_requests,
        "walls_ms": [round(run.wall_s * 1000, 1) for run in series.runs],
    }


_FORMAT = "{:<34}{:>14}{:>14}{:>8}{:>8}{:>8}{:>6}{:>9}  {}"
_HEAD = _FORMAT.format(
    "", "gpuenv ms CPU", "other ms CPU", "more", "ratio", "CPU x", "MB", "requests", "held to"
)


def _row(name: str, figures: Figures, goals: dict[str, bool]) -> str:
    ours, other = figures.ours, figures.other
    held = ", ".join(f"{words}: {'yes' if met else 'NO'}" for words, met in goals.items())
    compared = ("", "", "", "")
    if other is not None:
        compared = (
            f"{other.wall_ms:.0f} {other.cpu_ms:.0f}",
            f"{ours.wall_ms - other.wall_ms:+.0f}",
            f"{ours.wall_ms / other.wall_ms:.2f}",
            f"{ours.cpu_ms / max(other.cpu_ms, 1):.2f}",
        )
    asked = f"{ours.most_requests}:{other.most_requests}" if other and other.most_requests else ""
    return _FORMAT.format(
        name, f"{ours.wall_ms:.0f} {ours.cpu_ms:.0f}", *compared, f"{ours.peak_mb:.0f}", asked, held
    )


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
