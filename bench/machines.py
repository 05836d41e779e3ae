"""Machines made from the matrices: any GPU, one to eight of them, a driver of any known branch, six glibc."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gpuenv import matrices
from gpuenv.knowledge.gpu_names import GpuFact
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, System
from gpuenv.model.machine_json import render_machine
from gpuenv.planning.load_knowledge import load_knowledge

GLIBCS = ("2.17", "2.27", "2.28", "2.31", "2.35", "2.39")


def saved_machines(count: int) -> Iterator[dict[str, Any]]:
    """Yield machines as `gpuenv detect --json` saves them."""
    return (render_machine(machine) for machine in make_machines(count, load_knowledge()))


def make_machines(count: int, knowledge: Knowledge) -> list[Machine]:
    """Return `count` machines, the same ones every time."""
    chance = random.Random(count)  # noqa: S311 - no secret
    names = {row["name"] for row in matrices.load("gpus") if row.get("name")}
    facts = [fact for name in sorted(names) if (fact := knowledge.gpu_names.find(name))]
    branches = sorted({int(row["branch"]) for row in knowledge.cuda_rows if row["kind"] == "branch"})
    return [_machine(chance, facts, branches, knowledge) for _ in range(count)]


def _machine(
    chance: random.Random, facts: list[GpuFact], branches: list[int], knowledge: Knowledge
) -> Machine:
    fact = chance.choice(facts)
    version = DriverVersion(f"{chance.choice(branches)}.100")
    gpus = tuple(Gpu(index, fact.name, fact.capability) for index in range(chance.choice((1, 2, 4, 8))))
    system = System("linux", "x86_64", "glibc", chance.choice(GLIBCS))
    return Machine(system, Driver(version, knowledge.driver_cuda(version, "linux")), gpus)
