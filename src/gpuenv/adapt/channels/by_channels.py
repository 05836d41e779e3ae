"""The lines of conda's changed by what the channels have, and by a solver."""

from __future__ import annotations

from collections.abc import Callable

from gpuenv.adapt.channels.judged_lines import Judging, judged_lines
from gpuenv.adapt.channels.read import ReadChannels
from gpuenv.adapt.channels.solved_changes import Draft, Solving, solved_changes
from gpuenv.adapt.dependencies import bounds_of_moves
from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.stack import Stack
from gpuenv.adapt.task import Task
from gpuenv.model.plan import PlanWarning


def by_channels(
    stack: Stack,
    read: ReadChannels,
    task: Task,
    draft: Callable[[tuple[RequirementChange, ...]], Draft],
) -> tuple[tuple[RequirementChange, ...], tuple[PlanWarning, ...]]:
    """Return the changes of a stack with those of conda's other packages, and warnings.

    `draft` tells what is asked of conda once lines have changed. Raises Unsatisfiable where no change of
    these lines makes a set of them.
    """
    channels = tuple(channel.name for channel in draft(stack.changes).part.channels)
    packages = read.packages(channels)
    judging = Judging(packages, stack.solution, task.machine_target.platform, bounds_of_moves(stack))
    changes = judged_lines(stack.wishes, stack.changes, judging)
    bundle = stack.configuration.access.ca_bundle
    solving = Solving(judging, task, draft, read.located, bundle)
    return solved_changes(task.project.declared, changes, solving)
