"""The fault campaign: several hundred faults on tiny wheels, each checked for what must hold after it.

    python tests/faults/run.py [--only REGEX] [--workers 2] [--list]

It needs no network but 127.0.0.1. Each check is shown to fail first, on a world made wrong by hand.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from checks import problems  # noqa: E402
from fault import Fault, sweep  # noqa: E402
from sabotage import SABOTAGES  # noqa: E402
from strikes import strikes  # noqa: E402
from surroundings import surroundings  # noqa: E402
from world import World, make_world  # noqa: E402
from writes import writes  # noqa: E402


@dataclass(frozen=True)
class Verdict:
    """What came of a fault."""

    id: str
    kind: str
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float


def all_faults() -> dict[str, Fault]:
    """Return the faults by id; the order is the same in every run."""
    return {fault.id: fault for fault in (*SABOTAGES, *strikes(), *surroundings(), *writes())}


def main() -> int:
    """Run the campaign; return 1 where something did not hold."""
    options = _options()
    faults = [all_fault for all_fault in all_faults().values() if re.search(options.only, all_fault.id)]
    if options.list:
        print("\n".join(fault.id for fault in faults))
        return 0
    begun = time.monotonic()
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="gpuenv-faults-") as root:
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        for number in range(options.workers):
            queue.put(str(Path(root, str(number))))
        with context.Pool(options.workers, _begin, (queue,)) as pool:
            for verdict in pool.imap_unordered(_befall, [fault.id for fault in faults]):
                verdicts.append(verdict)
                _tell(verdict)
    _summarize(verdicts, time.monotonic() - begun)
    return 1 if any(item.problems for item in verdicts) or not verdicts else 0


def _options() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="faults whose id it is found in")
    parser.add_argument("--workers", type=int, default=int(os.environ.get("GPUENV_TEST_WORKERS", "2")))
    parser.add_argument("--list", action="store_true", help="list the ids, run nothing")
    return parser.parse_args()


_stack = ExitStack()
_world: list[World] = []


def _begin(queue: Any) -> None:
    for name in ("SIGINT", "SIGHUP"):  # what runs in the background or under nohup is started without them
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    root = Path(queue.get())
    _world.append(_stack.enter_context(make_world(root)))


def _befall(number: str) -> Verdict:
    fault, (world,) = all_faults()[number], _world
    begun = time.monotonic()
    try:
        scene = fault.befall(world)  # what sabotages raises where a check does not complain
        result = [] if fault.kind == "sabotage" else problems(scene)
        notes = tuple(scene.notes)
    except Exception:  # noqa: BLE001 - a campaign goes on
        result, notes = [traceback.format_exc()], ()
    sweep(world)
    return Verdict(fault.id, fault.kind, tuple(result), notes, time.monotonic() - begun)


def _tell(verdict: Verdict) -> None:
    if verdict.problems:
        print(f"FAILED {verdict.id}")
        for problem in verdict.problems:
            print(f"    {problem}")
        print(f"    repeat: python tests/faults/run.py --workers 1 --only '^{verdict.id}$'", flush=True)
    else:
        print(f"held {verdict.id} ({verdict.seconds:.1f} s)", flush=True)


def _summarize(verdicts: list[Verdict], seconds: float) -> None:
    kinds: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        kinds[verdict.kind].append(verdict)
    print(f"\n{'kind':<14}{'tried':>6}{'held':>6}{'seconds':>9}")
    for kind, ones in (*kinds.items(), ("all", verdicts)):
        held = sum(not item.problems for item in ones)
        print(f"{kind:<14}{len(ones):>6}{held:>6}{sum(item.seconds for item in ones):>9.0f}")
    noted = sum(bool(item.notes) for item in verdicts)
    print(f"{seconds:.0f} s in all; struck before Python ran gpuenv: {noted}")
    for verdict in verdicts:
        if verdict.problems:
            print(f"failed: python tests/faults/run.py --workers 1 --only '^{verdict.id}$'")


if __name__ == "__main__":
    sys.exit(main())
