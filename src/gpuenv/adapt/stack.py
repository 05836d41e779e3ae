"""The torch stack that files are adapted to."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from gpuenv.adapt.model import RequirementChange
from gpuenv.adapt.nearest.request import Wishes
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.resolve import ResolutionInput


class Stack(Struct, frozen=True):
    """A torch stack that was chosen, and what changes for its sake."""

    solution: Solution
    question: ResolutionInput
    wishes: Wishes
    changes: tuple[RequirementChange, ...]
    configuration: IndexConfiguration


class WheelStack(Stack, frozen=True):
    """A stack of wheels: `assemble` makes a plan of the question and the files that a resolver added."""

    assemble: Callable[[ResolutionInput, tuple[PlannedPackage, ...]], Plan]
