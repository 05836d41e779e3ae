"""Fleets in memory: machines of the tables, their kinds, and what a fleet's question is put with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deciding import PYTHONS, Asked, gpu_machine

from gpuenv import matrices
from gpuenv.fleet.grouping.compatibility import GroupResolver
from gpuenv.fleet.grouping.machine_classes import MachineClass, Member, equivalence_classes
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import render_machine
from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.target import choose_target

# Driver branches by the first release of each that many people have.
DRIVERS = (
    "418.87.01", "450.80.02", "460.91.03", "470.256.02", "515.65.01", "525.60.13", "535.183.01",
    "550.54.14", "565.57.01", "570.133.07", "580.95.05",
)  # fmt: skip
_OLDEST = parse_compute_capability("3.5")
GLIBCS = ("2.17", "2.27", "2.28", "2.31", "2.35", "2.39")


def table_gpus() -> tuple[str, ...]:
    """The names in gpus.json that tell one compute capability, of GPUs that some torch build serves."""
    names = sorted({row["name"] for row in matrices.load("gpus") if row.get("name")})
    results = ((name, load_knowledge().gpu_names.find(name)) for name in names)
    return tuple(name for name, fact in results if fact and not fact.ambiguous and fact.capability >= _OLDEST)


def asked_of(machines: Sequence[Machine], *requirements: str, **wishes: Any) -> ResolutionInput:
    """Put the question of the platform that the machines share, with nothing asked of Pythons yet."""
    return Asked((machines[0],), requirements, **wishes).question()


def members_of(
    machines: Sequence[Machine], pythons: Sequence[Sequence[str]] | None = None, *, cpu: bool = False
) -> tuple[Member, ...]:
    """Return the machines as members of a fleet, each with its Pythons."""
    versions = pythons or [PYTHONS] * len(machines)
    return tuple(
        Member(number, choose_target((machine,), (), cpu=cpu), tuple(map(PythonOffer, of_one)))
        for number, (machine, of_one) in enumerate(zip(machines, versions, strict=True))
    )


def fleet_of(
    machines: Sequence[Machine],
    question: ResolutionInput,
    pythons: Sequence[Sequence[str]] | None = None,
) -> tuple[tuple[MachineClass, ...], GroupResolver]:
    """Return the kinds of the machines, and who asks about them."""
    return equivalence_classes(members_of(machines, pythons), question), GroupResolver.of(question)


def save(folder: Path, name: str, machine: Machine) -> Path:
    """Write a machine as `gpuenv detect --json` does."""
    document = {
        "schema_version": 1, "command": "detect", "ok": True, "data": render_machine(machine),
        "warnings": [], "error": None,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def plain(driver: str, gpu: str, **short: Any) -> Machine:
    """Make a machine with one kind of GPU."""
    return gpu_machine(driver, gpu, **short)
