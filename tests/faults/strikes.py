"""Signals, 50 ms apart, through all that changes an environment and through its roll-back."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator

from checks import Scene
from fault import OPERATIONS, Fault, Operation, finished, scene_of
from world import LIMIT_S, World

_TICK_S = 0.05
# what is sent, and how many seconds apart
_STRIKES = {
    "INT": ((signal.SIGINT, 0.0),),
    "KILL": ((signal.SIGKILL, 0.0),),
    "TERM": ((signal.SIGTERM, 0.0),),
    "INT-INT": ((signal.SIGINT, 0.04), (signal.SIGINT, 0.0)),
    "HUP": ((signal.SIGHUP, 0.0),),
    "KILL-too": ((signal.SIGTERM, 0.02), (signal.SIGKILL, 0.0)),
    "STOP-CONT": ((signal.SIGSTOP, 0.3), (signal.SIGCONT, 0.0)),
    "PIPE": ((signal.SIGPIPE, 0.0),),
}
_ENDING = ("INT", "KILL", "TERM", "INT-INT", "HUP", "KILL-too")
_INTERRUPTED = 130
_EACH = 5  # by this many strikes the next operation begins elsewhere in the row


def strikes() -> Iterator[Fault]:
    """Yield a strike at every tick of every operation; which signal it is goes round."""
    names = (*_ENDING, *_ENDING, "STOP-CONT", *_ENDING, "PIPE")
    for number, operation in enumerate(OPERATIONS):
        for position, tick in enumerate(operation.ticks):
            name = names[(position + _EACH * number) % len(names)]
            yield _strike(operation, name, tick)


def _strike(operation: Operation, name: str, tick: int) -> Fault:
    def befall(world: World) -> Scene:
        world.reset(operation.state)
        program = world.program_with({"FAKE_TORCH": operation.torch or None})
        process = program.start(*operation.argv(world))
        wait_for(world, operation.since, process)
        time.sleep(tick * _TICK_S)
        for number, pause in _STRIKES[name]:
            process.send_signal(number)
            time.sleep(pause)
        done = finished(world, process)
        fatal = name in {"KILL", "KILL-too"}
        return scene_of(
            world, operation, done, statuses=_ends(name), killed=fatal and done.status == -signal.SIGKILL
        )

    return Fault(f"strike/{operation.name}/{name}/{tick * 50}ms", befall)


def wait_for(world: World, pattern: str, process: subprocess.Popen[str]) -> None:
    """Wait until a file is there, or the run has ended."""
    until = time.monotonic() + LIMIT_S
    while pattern and process.poll() is None and time.monotonic() < until:
        if next((world.root / "user" / "data").glob(pattern), None):
            return
        time.sleep(0.005)


def _ends(name: str) -> tuple[int, ...]:
    """Return the statuses that a strike may end with, beside that of a run that got through."""
    if name in {"STOP-CONT", "PIPE"}:
        return ()
    return _INTERRUPTED, *(-number for number, _ in _STRIKES[name])
