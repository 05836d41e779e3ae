"""Boards for which PyTorch publishes no wheels, known by their GPU where no device tree was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:  # `detect` has no need of it
    from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.i18n.messages import tr
from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.model.machine import Gpu, Machine, Problem

CODE = "tegra"
_SOURCE = ("problems", "matrix tegra.json")


class Board(Struct, frozen=True):
    """A board with a Tegra chip; `called` is what its driver calls the GPU."""

    name: str
    capability: ComputeCapability
    called: tuple[str, ...]
    own_wheels: bool


def parse_board(row: Mapping[str, Any]) -> Board:
    """Parse a row of tegra.json; raise ValueError.

    {"board": "Jetson Orin", "compute_capability": "8.7", "called": ["Orin (nvgpu)"], "wheels": "nvidia", ...}
    """
    capability = parse_compute_capability(row["compute_capability"])
    return Board(row["board"], capability, tuple(row.get("called", ())), row["wheels"] == "nvidia")


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
    board = next((board for gpu in machine.gpus for board in knowledge.boards if _is_on(gpu, board)), None)
    if board is None or any(problem.code == CODE for problem in machine.problems):
        return machine
    facts = machine.facts if dict(machine.facts).get("problems") else (*machine.facts, _SOURCE)
    return replace(machine, facts=facts, problems=(needs_own_wheels(board.name), *machine.problems))


def _is_on(gpu: Gpu, board: Board) -> bool:
    """Whether a GPU is that of a board for which PyTorch publishes no wheels."""
    if gpu.compute_capability is None:
        return board.own_wheels and gpu.name is not None and gpu.name.strip() in board.called
    return board.own_wheels and gpu.compute_capability == board.capability
