"""`plan --format ansible|slurm`: files with which somebody else makes environments on many machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuenv import __version__
from gpuenv.fleet import render
from gpuenv.fleet.engines.ansible import MODULE
from gpuenv.fleet.engines.slurm import START, START_SHELL
from gpuenv.fleet.model import FleetPlan
from gpuenv.fleet.names import group_names
from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.plan import plan_fleet
from gpuenv.fleet.render.ansible import GroupPlay, render_module, render_playbook
from gpuenv.fleet.render.slurm import TEMPLATE, Carried, SlurmGroup, render_slurm
from gpuenv.fleet.requests import create_request
from gpuenv.formats.requirements import for_conda_tools
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import tr
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.locks.lock_plan import lock_if_possible
from gpuenv.model.errors import UsageError
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.redact import without_secrets
from gpuenv.resolution.target import platform_of

_TARGET = ".venv"
_WINDOWS = "win-64"


class NodeGroup(Struct, frozen=True):
    """Machines that get the same environment, by name; none named: whichever it is run on.

    `request` is what the node program is to be given (`create`), with official addresses where it is locked.
    """

    hosts: tuple[str, ...]
    plan: Plan
    request: Mapping[str, Any]

    @property
    def about(self) -> str:
        """What is made there, in a line."""
        return summary(self.plan)[-1]


class NodeGroups(Struct, frozen=True):
    """The groups, and the fleet they are of; None where the plan was not for saved machines."""

    groups: tuple[NodeGroup, ...]
    fleet: FleetPlan | None = None

    @property
    def warnings(self) -> tuple[PlanWarning, ...]:
        """The warnings of all plans, each once."""
        return tuple(dict.fromkeys(warn for group in self.groups for warn in group.plan.warnings))


def groups_for_nodes(options: PlanOptions, environ: Mapping[str, str], name: str) -> NodeGroups:
    """Plan for machines that make the environment `name` themselves, and lock each group's plan.

    Only the Pythons of the saved machines, or of this one, can be used. Raises UsageError, Unsatisfiable and
    Unreachable as plans do.
    """
    if options.manager in CONDA_MANAGERS:
        raise for_conda_tools(tr("machines create these environments from wheels only"))
    if not options.machines and options.machine_folder is None:
        options = replace(options, manager="pip", on_nodes=not options.describes_machine)
        plan = make_plan(options, environ, target=_TARGET)
        if platform_of(plan.machines[0]) == _WINDOWS:
            raise UsageError(_no_windows(), code="windows-nodes")
        return NodeGroups((_group((), plan, options, environ, name),))
    options = replace(options, manager="pip", on_nodes=True)
    fleet = _without_windows(plan_fleet(options, environ, target=_TARGET))
    groups = tuple(_group(fleet.names(group), group.plan, options, environ, name) for group in fleet.groups)
    return NodeGroups(groups, fleet)


def _without_windows(fleet: FleetPlan) -> FleetPlan:
    """Leave out what neither Ansible nor Slurm serves with a program for POSIX."""
    groups = tuple(group for group in fleet.groups if group.platform != _WINDOWS)
    dropped = {number for group in fleet.groups if group.platform == _WINDOWS for number in group.numbers}
    machines = (
        replace(machine, problem=_no_windows()) if number in dropped else machine
        for number, machine in enumerate(fleet.machines)
    )
    return replace(fleet, machines=tuple(machines), groups=groups)


def _no_windows() -> str:
    return tr("machines with Windows cannot create environments this way")


def _group(
    hosts: tuple[str, ...], plan: Plan, options: PlanOptions, environ: Mapping[str, str], name: str
) -> NodeGroup:
    made = lock_if_possible(plan, options, environ)
    if isinstance(made, Locked):  # others read it too: no mirrors of ours
        made = replace(made, plan=replace(made.plan, sources=made.sources))
    made = without_secrets(made)
    plan = made.plan if isinstance(made, Locked) else made
    request = create_request(name, made, plan.machines[0])
    # without what is about one machine, and about whoever planned
    record = {**request["record"], "machine": None}
    record["plan"] = {**record["plan"], "machines": [], "rejected": []}
    return NodeGroup(hosts, plan, {**request, "record": record})


def playbook_files(groups: NodeGroups, name: str) -> dict[str, str]:
    """Return a playbook, the module beside it and the requests: the files' texts by their paths."""
    locks = {f"locks/group-{number}.json": group for number, group in enumerate(groups.groups, 1)}
    plays = [
        GroupPlay(group.hosts, lock, (tr("group {number}", number=number), group.about))
        for number, (lock, group) in enumerate(locks.items(), 1)
    ]
    return {
        "playbook.yml": render_playbook(plays, name),
        "library/gpuenv_node.py": render_module(MODULE.read_text(encoding="utf-8"), node_app()),
        **{path: json.dumps(group.request, indent=1) + "\n" for path, group in locks.items()},
    }


def slurm_script(groups: NodeGroups, name: str) -> str:
    """Return the script for sbatch that makes and verifies the environment `name` on the nodes of a job."""
    suffixes = group_names("", groups.fleet, shared_home=True) if groups.fleet else {1: ""}
    parts = tuple(
        SlurmGroup(group.hosts, suffixes[number], group.about, group.request)
        for number, group in enumerate(groups.groups, 1)
    )
    texts = (file.read_text(encoding="utf-8") for file in (START_SHELL, START))
    template = (files(render) / TEMPLATE).read_text(encoding="utf-8")
    return render_slurm(parts, name, f"gpuenv {__version__}", Carried(node_app(), *texts), template)
