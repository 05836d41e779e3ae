"""Kill a change to an environment before each of its changes to the disk; see what the next command finds."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from installers import a_plan, behave, fake_uv, plan_data

from gpuenv.model.errors import InstallFailed
from gpuenv.operations.create import Options, Verified, create
from gpuenv.operations.find import list_all, list_interrupted
from gpuenv.operations.interrupted_change import mend, place_at
from gpuenv.operations.manage import remove

_CHANGES = {
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "subprocess.Popen",
    "shutil.rmtree",
}


def kill_before_change(number: int) -> None:
    """Arrange for SIGKILL just before the change with that number, counted from 0."""
    left = number

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        writes = (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if event not in _CHANGES and not writes:
            return
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def make(environ: dict[str, str], program: Path, *, force: bool, ok: bool = True) -> None:
    target = Path(environ["GPUENV_DATA_DIR"]) / "envs" / "paper"
    options = Options(force=force, show=False, executables={"uv": str(program)})
    create(
        "paper", a_plan(target), plan_data(), environ=environ,
        verify=lambda _: Verified(ok=ok, data={}), options=options,
    )  # fmt: skip


def act(scenario: str, environ: dict[str, str], program: Path) -> None:
    if scenario == "remove":
        remove("paper", environ)
        return
    behave(program, generation="second", install="fail" if scenario == "failing" else "")
    try:
        make(environ, program, force=scenario != "create", ok=scenario != "unverified")
    except InstallFailed:
        assert scenario == "failing"


def look(scenario: str, environ: dict[str, str]) -> set[str]:
    """Return which generations there are once it was mended; looking alone changes nothing."""
    data = Path(environ["GPUENV_DATA_DIR"])
    before = sorted(data.rglob("*"))
    list_all(environ)
    list_interrupted(environ)
    assert [path for path in sorted(data.rglob("*")) if path.parent.name != "locks"] == [
        path for path in before if path.parent.name != "locks"
    ]
    mend(place_at(data / "envs" / "paper", environ))
    environments = list_all(environ)
    assert list_interrupted(environ) == ()
    kept = list((data / "envs").iterdir()) if (data / "envs").exists() else []
    assert kept == [environment.paths.path for environment in environments], (kept, environments)
    assert not (data / "journals").exists() or not list((data / "journals").glob("[!.]*"))
    return {(environment.paths.path / "generation").read_text() for environment in environments}


ALLOWED = {
    "create": (set(), {"second"}),
    "force": ({"first"}, {"second"}),
    "unverified": ({"first"},),
    "failing": ({"first"},),
    "remove": ({"first"}, set()),
}


def attempt(root: Path, scenario: str, number: int) -> bool:
    """Return whether the change got through."""
    environ = {"GPUENV_DATA_DIR": str(root / "data"), "PATH": ""}
    program = fake_uv(root, generation="first")
    if scenario != "create":
        make(environ, program, force=False)
    child = os.fork()
    if child == 0:
        kill_before_change(number)
        act(scenario, environ, program)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    through = os.WIFEXITED(status)
    assert not through or os.WEXITSTATUS(status) == 0
    seen = look(scenario, environ)
    assert seen in ALLOWED[scenario], (number, seen)
    if through:
        assert seen == ALLOWED[scenario][-1]
    behave(program, generation="third")
    make(environ, program, force=True)
    assert look(scenario, environ) == {"third"}
    return through


def main(directory: str, scenario: str) -> None:
    number = 0
    while not attempt(Path(directory) / str(number), scenario, number):
        number += 1
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
