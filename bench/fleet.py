"""Measure how machines are parted into groups: `python bench/fleet.py [-n MACHINES]`.

The machines are made from gpus.json and cuda.json: any GPU, one to eight of them, with a driver of any
branch that is known, on any of six glibc. Compared, in one process, without the network: to put them into
kinds and part them into the fewest groups, and to decide for each machine by itself, as
`gpuenv plan --machine` would.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from machines import make_machines
from msgspec.structs import replace

from gpuenv.fleet.grouping.compatibility import GroupResolver
from gpuenv.fleet.grouping.groups import split
from gpuenv.fleet.grouping.machine_classes import Member, equivalence_classes
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import list_files
from gpuenv.resolution.request import Request, parse_requirements
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.target import choose_target

PYTHONS = tuple(PythonOffer(f"3.{minor}") for minor in range(8, 15))
ROUNDS = 5


def main() -> None:
    """Measure and print medians and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--machines", type=int, default=200, help="how many machines")
    count = parser.parse_args().machines
    knowledge = load_knowledge()
    members = tuple(
        Member(number, choose_target((machine,), (), cpu=False), PYTHONS)
        for number, machine in enumerate(make_machines(count, knowledge))
    )
    question = _question(members[0], knowledge)
    machine_classes = equivalence_classes(members, question)
    parted = split(machine_classes, GroupResolver.of(question))
    print(f"{count} machines, {len(machine_classes)} kinds, {len(parted.groups)} groups")
    together = _median(lambda: split(equivalence_classes(members, question), GroupResolver.of(question)))
    apart = _median(lambda: [decide(replace(question, target=member.target)) for member in members], rounds=1)
    print(f"parted in {together * 1000:.0f} ms, decided one by one in {apart * 1000:.0f} ms")
    print(f"ratio {together / apart:.3f}")


def _question(member: Member, knowledge: Knowledge) -> ResolutionInput:
    request = Request(requirements=parse_requirements(()), offline=True)
    with tempfile.TemporaryDirectory() as folder:
        environ = {"PATH": os.defpath, "GPUENV_CACHE_DIR": folder, "GPUENV_DATA_DIR": folder}
        listed = list_files(PlanOptions(offline=True), request, member.target, knowledge, environ)
    return build_input(request, member.target, knowledge, listed.listings, PYTHONS)


def _median(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return sorted(times)[rounds // 2]


if __name__ == "__main__":
    main()
