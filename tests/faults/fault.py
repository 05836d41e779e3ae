"""A fault: what is done to a world, and the scene that is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from checks import GONE, OLD, Scene, Versions, running, versions
from running import Done
from world import CONDA, CPU, LIMIT_S, World

HUNG = 999  # in the place of an exit status
BY_CONDA = versions("sympy 1.13.3", "wheel 0.45.1", "torch 2.8.0", "filelock 3.16.1", "jinja2 3.1.4")
FIRST = versions("torch 2.14.1+cpu")
OTHER = versions("torch 2.15.0+cpu")
MADE = versions("torch 2.14.1+cpu", "tinydep 1.0")
LARGER = MADE | versions("mylib 2.0")
Allowed = dict[str, tuple[str | Versions, ...]]


@dataclass(frozen=True)
class Fault:
    """One that can be repeated by its id, `kind/what/how`."""

    id: str
    befall: Callable[[World], Scene]

    @property
    def kind(self) -> str:
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Operation:
    """A command in a state, what is there when it got through and when not, when it is struck (in 50 ms)."""

    name: str
    state: str
    words: tuple[str, ...]
    through: Allowed
    undone: Allowed
    ends: int = 0  # the exit status where nothing befalls it
    index: bool = False  # it needs the options that name the indexes
    torch: str = ""  # FAKE_TORCH
    ticks: tuple[int, ...] = tuple(range(1, 17))
    since: str = ""  # the file, by a pattern below `data`, from which on the ticks count

    def argv(self, world: World) -> tuple[str, ...]:
        return (*self.words, *(world.mirrors if self.index else ()))

    def either(self) -> Allowed:
        return {name: (*self.undone[name], *self.through[name]) for name in self.undone}


def _ticks(*numbers: int) -> tuple[int, ...]:
    return tuple(range(*numbers))


def _create(name: str, torch: str, manager: str, *more: str) -> tuple[str, ...]:
    return ("create", name, f"torch=={torch}", *CPU, "--manager", manager, *more)


_FRESH: Allowed = {"paper": (GONE,)}
_KEPT: Allowed = {"paper": (OLD,)}
_WRONG = '{"faults": [["matmul", "cpu", "wrong"]]}'


_WORDS = ("--yes", "--json")
_INSTALLED = "envs/paper/lib/*/site-packages/torch-2.15.0+cpu.dist-info/RECORD"


def _both(manager: str, fresh: tuple[int, ...], forced: tuple[int, ...]) -> tuple[Operation, ...]:
    force = _create("paper", "2.15.0", manager, "--force")
    larger = {"paper": (LARGER, LARGER - versions("tinydep 1.0") | versions("tinydep 2.0"))}
    newer = {"paper": (FIRST | versions("tinydep 2.0"),)}
    install = ("install", "paper", "mylib", *_WORDS)
    undone = Operation(f"undone-{manager}", manager, install, _KEPT, _KEPT, ends=6, torch=_WRONG)
    fails = Operation(
        f"fails-{manager}", manager, (*force, "spoilt"), _KEPT, _KEPT, ends=5, index=True, since=_INSTALLED,
        ticks=_ticks(8),
    )  # fmt: skip
    unproven = Operation(
        f"unproven-{manager}", manager, force, _KEPT, _KEPT, ends=6, index=True, torch=_WRONG,
        since=_INSTALLED, ticks=_ticks(8),
    )  # fmt: skip
    create = _create("paper", "2.14.1", manager)
    return (
        Operation(f"create-{manager}", "empty", create, {"paper": (FIRST,)}, _FRESH, index=True, ticks=fresh),
        Operation(f"force-{manager}", manager, force, {"paper": (OTHER,)}, _KEPT, index=True, ticks=forced),
        fails,
        unproven,
        Operation(f"install-{manager}", manager, install, larger, _KEPT),
        undone,
        Operation(
            f"uninstall-{manager}", manager, ("uninstall", "paper", "tinydep", *_WORDS), {"paper": (FIRST,)},
            _KEPT,
        ),
        Operation(f"update-{manager}", manager, ("update", "paper", *_WORDS), newer, _KEPT),
    )  # fmt: skip


OPERATIONS = (
    *_both("uv", _ticks(1, 21), _ticks(1, 21)),
    *_both("pip", _ticks(1, 41, 3), _ticks(2, 42, 3)),  # which takes longer
    Operation(
        "create-conda", "no-conda", ("create", "paper", *CONDA), {"paper": (BY_CONDA,)}, _FRESH,
        ticks=_ticks(2, 50, 3),
    ),
    Operation(
        "force-conda", "conda", ("create", "paper", *CONDA, "--force"), {"paper": (BY_CONDA,)}, _KEPT,
        ticks=_ticks(3, 51, 3),
    ),
    Operation(
        "unproven-conda", "conda", ("create", "paper", *CONDA, "--force"), _KEPT, _KEPT, ends=6,
        torch=_WRONG, since="envs/.paper.gpuenv-old-*/gpuenv.json", ticks=_ticks(2, 42, 4),
    ),
    Operation(
        "rename", "uv", ("rename", "paper", "thesis", "--json"),
        {"paper": (GONE,), "thesis": (MADE,)}, {"paper": (OLD,), "thesis": (GONE,)}, ticks=_ticks(1, 11),
    ),
    Operation(
        "clone", "uv", ("clone", "paper", "thesis", *_WORDS),
        {"paper": (OLD,), "thesis": (MADE,)}, {"paper": (OLD,), "thesis": (GONE,)}, ticks=_ticks(1, 15),
    ),
    Operation("remove", "pip", ("remove", "paper", *_WORDS), _FRESH, _KEPT, ticks=_ticks(1, 9)),
    Operation(
        "fix", "broken", ("doctor", "paper", "--fix", "--yes", "--json"), {"paper": (MADE,)}, _KEPT,
        index=True, ticks=_ticks(1, 25),
    ),
)  # fmt: skip


def finished(world: World, process: subprocess.Popen[str]) -> Done:
    """Wait for the end of a run; one that hangs is killed."""
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        sweep(world)
        out, err = process.communicate()
        return Done(HUNG, out or "", (err or "") + " (hung)")
    return Done(process.returncode, out or "", err or "")


def run(world: World, *arguments: str, **variables: str | None) -> Done:
    """Run gpuenv to its end, which a hang is too."""
    return finished(world, world.program_with(variables).start(*arguments))


def sweep(world: World) -> None:
    """Kill what is left of a fault, so that the next has a clean world."""
    for line in running(world.token):
        with suppress(ProcessLookupError):
            os.kill(int(line.split()[0]), signal.SIGKILL)


def scene_of(
    world: World, operation: Operation, done: Done, *, statuses: tuple[int, ...], killed: bool = False
) -> Scene:
    """Return the scene: what ended as if nothing had befallen it is through, all else either way."""
    wanted = frozenset({operation.ends, *statuses})
    allowed = operation.through if done.status == operation.ends else operation.either()
    return Scene(world, operation.state, done, wanted, allowed, killed=killed)
