"""Many machines and their plans, for a person and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gpuenv.fleet.grouping.advice import listed
from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.formats.json import render_plan_data
from gpuenv.formats.shell import one_line
from gpuenv.formats.text import render_stack
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.machine import Machine

_LONGEST = 60

COLUMNS = {
    "name": N_("machine"),
    "gpus": N_("GPUs"),
    "driver": N_("driver"),
    "group": N_("group"),
    "torch": N_("torch"),
    "python": N_("Python"),
}


def table_rows(fleet: FleetPlan) -> list[dict[str, Any]]:
    """Return a row a machine, for a table of COLUMNS."""
    return [_row(number, machine, fleet) for number, machine in enumerate(fleet.machines)]


def _row(number: int, machine: FleetMachine, fleet: FleetPlan) -> dict[str, Any]:
    position = fleet.group_of(number)
    plan = fleet.groups[position - 1].plan if position else None
    return {
        "name": machine.name,
        "gpus": gpus_in_words(machine.machine) if machine.machine else None,
        "driver": driver_of(machine.machine),
        "group": position,
        "torch": plan and torch_of(fleet.groups[(position or 1) - 1]),
        "python": plan and plan.python,
    }


def torch_of(group: FleetGroup) -> str:
    """Return a group's torch and its variant, which the versions of PyPI's builds do not carry."""
    torch = group.plan.packages[0]
    return torch.version if "+" in torch.version else f"{torch.version} ({group.plan.variant})"


def driver_of(machine: Machine | None) -> str | None:
    """Return the driver's version, where there is one."""
    return str(machine.driver.version) if machine and machine.driver else None


def gpus_in_words(machine: Machine) -> str | None:
    """Return the GPUs and other accelerators briefly, equal ones counted; None without any."""
    counts = _counted(machine) + Counter(
        (item.name or item.vendor, item.architecture) for item in machine.accelerators
    )
    words = (f"{count} x {_name(gpu)}" if count > 1 else _name(gpu) for gpu, count in counts.items())
    text = series(words)
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...") or None


def _name(gpu: tuple[str | None, str | None]) -> str:
    name, capability = gpu
    return f"{one_line(name or 'GPU')} ({capability or '?'})"


def _counted(machine: Machine) -> Counter[tuple[str | None, str | None]]:
    return Counter(
        (gpu.name, str(gpu.compute_capability) if gpu.compute_capability else None) for gpu in machine.gpus
    )


def render_groups(fleet: FleetPlan, *, verbose: bool = False) -> str:
    """Return the groups with their plans, why machines are not served, and what would change it."""
    parts = [
        _group(position, group, fleet, verbose=verbose) for position, group in enumerate(fleet.groups, 1)
    ]
    for lines in ([*_unserved(fleet)], [one_line(advice.text) for advice in fleet.together]):
        parts += ["".join(f"{line}\n" for line in lines)] if lines else []
    return "\n".join(parts)


def _group(position: int, group: FleetGroup, fleet: FleetPlan, *, verbose: bool) -> str:
    facts = {
        "number": position,
        "platform": group.platform,
        "names": series(fleet.names(group)) if verbose else listed(fleet.names(group)),
    }
    return (
        tr("group {number} ({platform}): {names}", **facts) + "\n" + render_stack(group.plan, verbose=verbose)
    )


def _unserved(fleet: FleetPlan) -> Iterator[str]:
    """One line for each reason: many machines often have the same."""
    reasons: dict[str, list[str]] = {}
    for machine in fleet.unserved:
        reasons.setdefault(machine.problem or "", []).append(machine.name)
    for reason, names in reasons.items():
        yield tr("not supported: {names}: {reason}", names=listed(names), reason=one_line(reason))


def render_fleet_data(fleet: FleetPlan) -> dict[str, Any]:
    """Return the JSON form: each group's plan with the names of its machines, and all the machines."""
    return {
        "groups": [
            {
                **render_plan_data(group.plan),
                "group": position,
                "platform": group.platform,
                "machines": list(fleet.names(group)),
            }
            for position, group in enumerate(fleet.groups, 1)
        ],
        "machines": [_machine_data(number, machine, fleet) for number, machine in enumerate(fleet.machines)],
        "together": [{"text": advice.text, "needs": advice.needs} for advice in fleet.together],
    }


def _machine_data(number: int, machine: FleetMachine, fleet: FleetPlan) -> dict[str, Any]:
    counts = _counted(machine.machine) if machine.machine else {}
    return {
        "name": machine.name,
        "file": machine.file,
        "gpus": [
            {"name": name, "compute_capability": capability, "count": count}
            for (name, capability), count in counts.items()
        ],
        "accelerators": _accelerators(machine.machine) if machine.machine else [],
        "driver": driver_of(machine.machine),
        "group": fleet.group_of(number),
        "problem": machine.problem,
    }


def _accelerators(machine: Machine) -> list[dict[str, Any]]:
    counts = Counter((item.kind, item.name, item.architecture) for item in machine.accelerators)
    return [
        {"kind": kind, "name": name, "architecture": architecture, "count": count}
        for (kind, name, architecture), count in counts.items()
    ]
