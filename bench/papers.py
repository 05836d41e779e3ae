"""Adapt the forty papers of tests/papers for four GPUs, and resolve what becomes of them against the index.

    python bench/papers.py                    by what ships with gpuenv, all 160
    python bench/papers.py --resolve          the other packages too, from the installer's own index
    python bench/papers.py --resolve 2020-    only papers whose names begin so

With --resolve every adapted set is resolved once more from its changed files. torch is PyPI's there where the
PyTorch index can't be reached.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from adapted_papers import MACHINES, NAMES, adapt_for, bare_environ, copy_paper, save_machine, write_back

from gpuenv.adapt.patch.apply import unapplied
from gpuenv.adapt.render import render_changes
from gpuenv.model.errors import GpuenvError

NOT_RESOLVED = ("not-checked", "unread")


def environ_of(home: Path, *, resolve: bool) -> dict[str, str]:
    """Return the variables of a run: the person's own where the index is to be read."""
    return dict(os.environ) if resolve else bare_environ(home)


def adapt_one(paper: str, machine: str, *, resolve: bool, show: bool) -> str:
    """Adapt one paper for one machine twice, and say what came of it in a word."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        folder, saved = copy_paper(paper, here), save_machine(machine, here)
        environ = environ_of(here, resolve=resolve)
        os.chdir(folder)
        first = adapt_for(Path(), saved, environ, offline=not resolve)
        write_back(first)
        again = adapt_for(Path(), saved, environ, offline=not resolve)
        os.chdir("/")
    if show:
        print(render_changes(first))
    message = "; ".join(warning.message for warning in again.plan.warnings if warning.code in NOT_RESOLVED)
    stack = f"{' '.join(first.plan.pins)} python {first.plan.python} {first.plan.variant}"
    counts = f"{len(first.changes)} changes, {len(again.plan.packages)} packages"
    print(f"  {stack}: {counts} {message[:200]}", flush=True)
    more = [change for change in again.changes if change not in unapplied(again.project, again.changes)]
    if more:
        print(f"    again: {[(item.old, item.new, item.why) for item in more]}")
        return "not idempotent"
    if not resolve:
        return "adapted"
    return "resolved" if len(again.plan.packages) > len(again.plan.pins) else "stack alone"


def main() -> int:
    """Adapt, print, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prefix", nargs="*", default=[""], help="names of papers, or how they begin")
    parser.add_argument("--resolve", action="store_true", help="ask the index")
    parser.add_argument("--machine", action="append", choices=MACHINES, help="only this GPU; repeatable")
    parser.add_argument("--show", action="store_true", help="print every change")
    namespace = parser.parse_args()
    counted: Counter[str] = Counter()
    for paper in (name for name in NAMES if name.startswith(tuple(namespace.prefix))):
        for machine in namespace.machine or MACHINES:
            start = time.monotonic()
            print(f"{paper} on {machine}", flush=True)
            try:
                word = adapt_one(paper, machine, resolve=namespace.resolve, show=namespace.show)
            except GpuenvError as error:
                word = f"{type(error).__name__} {error.code}"
                print(f"  {error.message} {[reason.text[:300] for reason in error.because]}")
            counted[word] += 1
            print(f"  {word} in {time.monotonic() - start:.1f} s", flush=True)
    print(dict(counted))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
