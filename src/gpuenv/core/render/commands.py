"""Formats `uv` and `pip`: the plan's steps as commands."""

from __future__ import annotations

from gpuenv.core.render.shell import render_command
from gpuenv.core.render.text import summary
from gpuenv.core.target import platform_of
from gpuenv.values.plan import Plan


def render_commands(plan: Plan) -> str:
    """Return a script of the plan's steps, one command a line, each with its reason as a comment."""
    platform = platform_of(plan.machines[0])
    lines = [f"# {line}" for line in summary(plan)]
    for step in plan.steps:
        lines += [f"# {_one_line(step.why)}", render_command(step.argv, platform)]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
