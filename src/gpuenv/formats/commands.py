"""Formats `uv` and `pip`: the plan's steps as commands."""

from __future__ import annotations

from gpuenv.formats.shell import render_command, render_comment
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Plan, Step
from gpuenv.resolution.target import platform_of
from gpuenv.secrets.redact import redact_step
from gpuenv.secrets.url_credentials import without_userinfo

_REMOTE = ("https://", "http://")


def render_commands(plan: Plan) -> str:
    """Return a script of the plan's steps, one command a line, each with its reason as a comment."""
    platform = platform_of(plan.machines[0])
    lines = [render_comment(line, platform) for line in summary(plan)]
    for step in map(redact_step, _addressed_first(plan)):
        lines += [render_comment(step.why, platform), render_command(step.argv, platform)]
    return "\n".join(lines) + "\n"


def _addressed_first(plan: Plan) -> tuple[Step, ...]:
    """Return the steps, with the torch stack by address and hash before what looks into indexes.

    Then no index, folder or configuration of the shell they are pasted into can replace those files; the
    next step finds them installed. Not in a lock's steps, which have hashes, and not local files.
    """
    wanted = tuple(
        f"{item.name} @ {without_userinfo(item.url)}#sha256={item.sha256}"
        for item in plan.packages[: len(plan.pins)]
        if item.url and item.url.startswith(_REMOTE) and item.sha256
    )
    last = len(plan.steps) - 1
    if not wanted or plan.hashed or plan.checked or plan.is_condas or last < 0:
        return plan.steps
    argv = plan.steps[last].argv
    end = argv.index("install") + 1
    head = argv[: end + 2] if argv[end : end + 1] == ("--python",) else argv[:end]
    why = tr("install torch and its companions by URL and hash, so that no other index can replace them")
    return (*plan.steps[:last], Step((*head, "--no-deps", *wanted), why), plan.steps[last])
