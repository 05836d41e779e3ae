"""Run the node program again and again, ended as by SIGKILL before one change to a file system after another.

    python node_killed.py DATA BEFORE UV < REQUEST

DATA is made like BEFORE each time; then comes a run that can install nothing. Prints for each time which
generation of the environment was there then, what lay about, and whether that run found all well.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from installers import behave

from gpuenv.node import main
from gpuenv.on_disk import journal

CHANGES = ("rename", "replace", "mkdir", "unlink")
KILLED = 9


def run(request: bytes, answer: Path, kill_before: int = 0) -> int:
    """Run `create` in a process of its own; what it printed goes to a file."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(request)), answer.open("w")
    sys.stderr = io.StringIO()
    left = [kill_before]
    for module_type, name in [*((os, name) for name in CHANGES), (journal, "remove_tree")]:
        setattr(module_type, name, _counted(getattr(module_type, name), left))
    status = main.main(["create"])
    sys.stdout.flush()
    os._exit(status)


def _counted(change: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    def do(*args: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os._exit(KILLED)
        return change(*args, **named)

    return do


def main_loop(data: Path, before: Path, uv: Path) -> None:
    request, answer = sys.stdin.buffer.read(), data.with_name("answer.json")
    for number in range(1, 500):
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(before, data)
        behave(uv, generation="second")
        status = run(request, answer, kill_before=number)
        if status == 0:
            return
        if status != KILLED:
            raise AssertionError(status)
        behave(uv, venv="fail")
        run(request, answer)
        print(json.dumps([_generation(data), _remains(data), json.loads(answer.read_text())["ok"]]))


def _generation(data: Path) -> str | None:
    path = data / "envs" / "paper"
    return (path / "generation").read_text() if path.exists() else None


def _remains(data: Path) -> list[str]:
    hidden = [path.name for path in (data / "envs").glob(".*")]
    inside = [path.name for path in (data / "envs").glob("*/.gpuenv*")]
    return hidden + inside + [path.name for path in (data / "journals").glob("*")]


if __name__ == "__main__":
    main_loop(*map(Path, sys.argv[1:]))
