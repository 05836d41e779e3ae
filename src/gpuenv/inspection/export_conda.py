"""What was exported, as packages of conda."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuenv.changes.open_environment import Opened, texts_of
from gpuenv.environments.conda.meta import installed_names
from gpuenv.model.conda import CondaChannel, CondaPlan
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.resolution.target import platform_of

_FORGE = "conda-forge"


def in_conda(plan: Plan, opened: Opened, machine: Machine, *, mixed: bool) -> Plan:
    """Return the plan with what conda installed, each by its version and build; of wheels, conda's Python."""
    recorded = opened.record.plan.get("conda")
    facts = recorded if isinstance(recorded, dict) else {}
    names = texts_of(facts.get("channels")) or (_FORGE,)
    records = installed_names(opened.paths.path).values() if opened.is_condas else ()
    exact = tuple(f"{record.name} {record.version} {record.build}" for record in records)
    cuda = facts.get("cuda")
    part = CondaPlan(
        channels=tuple(CondaChannel(name, ()) for name in names),
        specs=exact or (f"python {plan.python}.*", "pip"),
        pins=(),
        subdir=platform_of(machine),
        cuda=cuda if isinstance(cuda, str) else None,
        mixed=mixed,
    )
    return replace(
        plan, conda=part, packages=plan.packages if mixed else _with_condas(plan, records), pins=plan.pins
    )


def _with_condas(plan: Plan, records: Any) -> tuple[PlannedPackage, ...]:
    condas = (
        PlannedPackage(
            record.name,
            record.version,
            None,
            None,
            None,
            None,
            None,
            None,
            "wheel",
            record.channel or _FORGE,
            record.build,
            record.subdir or None,
        )
        for record in records
    )
    return (*condas, *plan.packages)
