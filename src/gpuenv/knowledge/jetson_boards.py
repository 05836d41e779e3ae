"""Boards for which PyTorch publishes no wheels, known by their GPU where no device tree was read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `detect` has no need of it
    from gpuenv.knowledge.knowledge import Board, Knowledge
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Gpu, Machine, Problem

CODE = "tegra"


def needs_own_wheels(board: str) -> Problem:
    """Say that a board needs NVIDIA's own wheels."""
    message = tr(
        "this is a {board}, for which PyTorch publishes no wheels: install NVIDIA's wheels for its JetPack",
        board=board,
    )
    return Problem(CODE, message)


def with_board_told(machine: Machine, knowledge: Knowledge) -> Machine:
    """Return the machine with the problem that it has as a board, where its GPUs tell which it is.

    Compute capabilities of boards before Thor are those of no other GPU.
    """
    boards = (_board_of(gpu, knowledge) for gpu in machine.gpus)
    board = next((item for item in boards if item is not None and item.own_wheels), None)
    if board is None or any(problem.code == CODE for problem in machine.problems):
        return machine
    facts = machine.facts if dict(machine.facts).get("problems") else (*machine.facts, _SOURCE)
    return replace(machine, facts=facts, problems=(needs_own_wheels(board.name), *machine.problems))


_SOURCE = ("problems", "matrix tegra.json")


def _board_of(gpu: Gpu, knowledge: Knowledge) -> Board | None:
    if gpu.compute_capability is not None:
        return knowledge.board_by_capability(gpu.compute_capability)
    return knowledge.board_by_name(gpu.name) if gpu.name else None
