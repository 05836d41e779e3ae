"""The download size of a plan, from the matrices, without network access."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gpuenv.environments.store import find_store
from gpuenv.files.disk_space import free_bytes
from gpuenv.knowledge.dependencies import Dependencies
from gpuenv.model.plan import Plan
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import is_here
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.download_size import estimate


def with_download(plan: Plan, options: PlanOptions, environ: Mapping[str, str], target: str) -> Plan:
    """Return the plan with its download size; one of conda packages as it is: its tool reports the size.

    `target` is the path of the environment; a relative one means the folder of all environments.
    """
    if plan.is_condas or plan.machines[0].l4t is not None:  # of Jetson no matrix knows
        return plan
    here = is_here(options, plan.machines) and not options.describes_machine
    folder = Path(target) if Path(target).is_absolute() else find_store(environ).root
    free = free_bytes(folder) if here else None
    return replace(plan, download=estimate(plan, load_dependencies(environ), free=free))


def load_dependencies(environ: Mapping[str, str]) -> Dependencies:
    """Read what builds depend on, the overlay's rows over those shipped."""
    return load_knowledge(environ).dependencies
