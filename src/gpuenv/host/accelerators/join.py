"""A machine with its accelerators that are not NVIDIA's; on a Mac, with what its kernel says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.host.accelerators.apple import ARM64
from gpuenv.host.accelerators.read import Surroundings, read_accelerators
from gpuenv.host.executables import FileTree, RunProgram
from gpuenv.host.pci import BusDevice
from gpuenv.model.machine import Machine

# `14.5`, or of a recorded program `ProductVersion:		14.5`
_TOLD = re.compile(r"^(?:ProductVersion:\s*)?(\d{1,3}(?:\.\d{1,3}){0,2})\s*$", re.MULTILINE | re.ASCII)
_LIMIT_S = 5.0
_COMPATIBLE = "10.16"  # what programs that were linked for an old macOS are told of any later one


def with_accelerators(
    machine: Machine,
    devices: tuple[BusDevice, ...],
    environ: Mapping[str, str],
    root: FileTree,
    run: RunProgram,
) -> Machine:
    """Add the accelerators of a machine, each fact with its source."""
    surroundings = Surroundings(machine.system, devices, root, environ, run)
    found = read_accelerators(surroundings)
    machine = replace(
        machine,
        accelerators=found.accelerators,
        amdgpu=found.amdgpu,
        cann=found.cann,
        facts=(*machine.facts, *found.facts),
        problems=(*machine.problems, *found.problems),
    )
    return _mac(machine, run) if machine.system.os == "macos" else machine


def _mac(machine: Machine, run: RunProgram) -> Machine:
    """Correct what a program for x86_64, or for an old macOS, is told of a Mac."""
    system, facts = machine.system, dict(machine.facts)
    if any(accelerator.kind == "mps" for accelerator in machine.accelerators) and system.arch != "aarch64":
        system = replace(system, arch="aarch64")
        facts["system.arch"] = f"sysctl {ARM64}"
    if system.macos in (None, _COMPATIBLE):
        answer = run("sw_vers", "-productVersion", timeout_s=_LIMIT_S)
        told = _TOLD.search(answer.stdout) if answer else None
        if told and (release := told[1]) != _COMPATIBLE:
            system = replace(system, macos=release)
            facts["system.macos"] = "sw_vers"
    return replace(machine, system=system, facts=tuple(facts.items()))
