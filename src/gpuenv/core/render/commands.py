"""Formats `uv` and `pip`: the plan's steps as commands."""

from __future__ import annotations

from gpuenv.core.render.shell import render_command, render_comment
from gpuenv.core.render.shown_step import shown_step
from gpuenv.core.render.text import summary
from gpuenv.core.target import platform_of
from gpuenv.values.plan import Plan


def render_commands(plan: Plan) -> str:
    """Return a script of the plan's steps, one command a line, each with its reason as a comment."""
    platform = platform_of(plan.machines[0])
    lines = [render_comment(line, platform) for line in summary(plan)]
    for step in map(shown_step, plan.steps):
        lines += [render_comment(step.why, platform), render_command(step.argv, platform)]
    return "\n".join(lines) + "\n"
