"""Worlds made wrong by hand, one for each check: the campaign counts it as held when the check complains."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import checks
from checks import OLD, Check, Scene
from fault import Fault
from running import Done
from world import LIMIT_S, World

Spoil = Callable[[Scene], Scene | None]
_TRACE = 'Traceback (most recent call last):\n  File "gpuenv/cli/main.py", line 1\nValueError\n'


def _paper(scene: Scene) -> Path:
    return scene.world.envs / "paper"


def _module(scene: Scene) -> Path:
    return next(_paper(scene).glob("lib/*/site-packages/torch/__init__.py"))


def _after(scene: Scene, **changes: object) -> Scene:
    return replace(scene, done=replace(scene.done, **changes))  # type: ignore[arg-type]


def _process(scene: Scene) -> None:
    """Leave a process that ignores SIGTERM, with the variable that a child of gpuenv has."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    environ = scene.world.program_with({}).environ
    subprocess.Popen([sys.executable, "-I", "-c", code], env=environ)
    time.sleep(0.2)


def _foreign_files(scene: Scene) -> None:
    (_paper(scene) / "gpuenv.json").write_text("{")


def _journal(scene: Scene) -> None:
    folder = scene.world.root / "user" / "data" / "journals"
    folder.mkdir(exist_ok=True)
    (folder / "0123.json").write_text(json.dumps({"schema_version": 1}))


_SPOILS: dict[str, tuple[Check, Spoil]] = {
    "status": (checks.status, partial(_after, status=0x7F)),
    "hang": (checks.status, partial(_after, status=999)),
    "traceback": (checks.traceback, partial(_after, err=_TRACE)),
    "exception-ignored": (checks.traceback, partial(_after, err="Exception ignored in: <function gpuenv/x>")),
    "no-envelope": (checks.envelope, partial(_after, out="")),
    "two-envelopes": (checks.envelope, lambda scene: _after(scene, out=scene.done.out * 2)),
    "envelope-of-another-status": (checks.envelope, partial(_after, status=130)),
    "half-an-envelope": (checks.envelope, lambda scene: _after(scene, out=scene.done.out[:40])),
    "file-missing": (checks.environments, lambda scene: _module(scene).unlink()),
    "file-changed": (checks.environments, lambda scene: (_module(scene).write_text("x"), None)[1]),
    "record-broken": (checks.environments, _foreign_files),
    "environment-gone": (
        checks.environments,
        lambda scene: (_paper(scene).rename(scene.world.root / f"{time.time_ns()}"), None)[1],
    ),
    "another-environment": (
        checks.environments,
        lambda scene: scene.world.envs.joinpath("half").mkdir(),
    ),
    "snapshot-left": (checks.nothing_aside, lambda scene: (_paper(scene) / ".gpuenv-repair").mkdir()),
    "old-one-left": (
        checks.nothing_aside,
        lambda scene: (scene.world.envs / ".paper.gpuenv-old-12").mkdir(),
    ),
    "journal-left": (checks.nothing_aside, _journal),
    "process-left": (checks.processes, _process),
    "temporary-left": (
        checks.temporary,
        lambda scene: (scene.world.root / "user" / "tmp" / "gpuenv-verify-x").mkdir(),
    ),
    "next-command-fails": (
        checks.next_command,
        lambda scene: (_paper(scene).rename(scene.world.envs / "other"), None)[1],
    ),
}


def _sabotaged(name: str, world: World) -> Scene:
    """Return a scene that the check has to complain of; without what is wrong it must not."""
    check, spoil = _SPOILS[name]
    world.reset("uv")
    done: Done = world.program_with({}).run("list", "--json", timeout_s=LIMIT_S)
    scene = Scene(world, "uv", done, frozenset({0}), {"paper": (OLD,)})
    if complaint := check(scene):
        raise AssertionError(f"it complains of a world that is right: {complaint}")
    spoilt = spoil(scene) or scene
    if not check(spoilt):
        raise AssertionError(f"`{check.__name__}` does not see it")
    return scene


SABOTAGES = tuple(Fault(f"sabotage/{name}", partial(_sabotaged, name)) for name in _SPOILS)
