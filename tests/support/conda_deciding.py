"""Decide in memory with a conda channel in place of indexes: machines in short form, a request; a plan."""

from __future__ import annotations

from typing import Any

from deciding import NOTHING_CONFIGURED, Asked
from packaging.utils import canonicalize_name

from gpuenv import matrices
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Plan
from gpuenv.planning.conda.choose import conda_pythons
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.conda.builds import knowledge_of_channel, known_packages, parse_conda_build
from gpuenv.resolution.conda.plan_part import assemble_from_channel
from gpuenv.resolution.resolve import build_input, decide
from gpuenv.resolution.target import choose_target


def plan_of_channel(
    channel: str, machine: Machine, *requirements: str, more: tuple[str, ...] = (), **asked: Any
) -> Plan:
    """Return the plan that a channel gives by what the matrix knows of it; StopIteration where none fits."""
    wanted = Asked((machine,), requirements, manager="conda", **asked)
    request = wanted.request()
    target = choose_target((machine,), (), cpu=request.variant is not None and request.variant.is_cpu)
    rows = tuple(
        row
        for row in matrices.load("conda")
        if row["channel"] == channel and row["platform"] == target.platform
    )
    builds = tuple(map(parse_conda_build, rows))
    knowledge = knowledge_of_channel(load_knowledge(), rows, channel)
    projects = tuple(map(canonicalize_name, ("torch", *request.companions)))
    shipped = known_packages(builds, projects, target.platform, knowledge, channel)
    question = build_input(request, target, knowledge, shipped, conda_pythons(target.platform))
    decision = decide(question)
    solution = next(iter(decision.choices))
    return assemble_from_channel(question, decision, solution, NOTHING_CONFIGURED, builds, more)
