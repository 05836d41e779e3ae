"""Run gpuenv's commands on disks that refuse: real file systems, full or read-only, or the N-th write fails.

    [unshare -m] python disk_faults.py SPEC

SPEC is JSON (see `Spec`). Each command runs in a fork of this process, which has loaded gpuenv already. A
line of JSON is printed for each: how it ended, what it printed, and which writes were refused.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

FILESYSTEM = "size=4m,nr_inodes=3000"


@dataclass(frozen=True)
class Spec:
    """What is run, where: `mounts` become file systems of their own, which hold what lay there before.

    `kind` is `full`, `read-only` or `none`. With `refused`, an errno's name, the write number `first` below
    `below`, and all after it, fail with that instead.
    """

    commands: tuple[tuple[str, ...], ...]
    environ: dict[str, str]
    mounts: tuple[str, ...] = ()
    kind: str = "none"
    left: int = 0  # bytes of a full one that are free again
    refused: str | None = None
    first: int = 0
    below: str = "/"


def main(spec: Spec) -> None:
    os.environ.clear()
    os.environ.update(spec.environ)
    for folder in spec.mounts:
        _mount(folder)
    for folder in spec.mounts:
        if spec.kind == "full":
            _fill(Path(folder), spec.left)
        elif spec.kind == "read-only":
            _call("mount", "-o", "remount,ro", folder)
    import gpuenv.cli.app  # noqa: F401, PLC0415 - once for all commands
    from gpuenv.cli.main import run  # noqa: PLC0415

    for command in spec.commands:
        print(json.dumps(_forked(run, command, spec)), flush=True)


def _mount(folder: str) -> None:
    kept = Path(folder).rename(f"{folder}.kept")
    Path(folder).mkdir()
    _call("mount", "-t", "tmpfs", "-o", FILESYSTEM, "none", folder)
    _call("cp", "-a", f"{kept}/.", folder)


def _call(*argv: str) -> None:
    subprocess.run(argv, check=True)


def _fill(folder: Path, left: int) -> None:
    """Take the last byte, and the last file that could be made; with `left` give so many back."""
    ballast = folder / "ballast"
    ballast.mkdir()
    for size in (65536, 1024, 1):
        with suppress(OSError), (ballast / str(size)).open("wb", buffering=0) as sink:
            while True:
                sink.write(b"x" * size)
    with suppress(OSError):
        for number in count():
            (ballast / f"n{number}").touch()
    if left:
        os.truncate(ballast / "65536", (ballast / "65536").stat().st_size - left)
        for name in sorted(ballast.glob("n*"))[:100]:
            name.unlink()


def _forked(run: Any, command: tuple[str, ...], spec: Spec) -> dict[str, Any]:
    out, err, reported = (os.memfd_create(name) for name in ("out", "err", "told"))
    child = os.fork()
    if child == 0:
        os.dup2(out, 1)
        os.dup2(err, 2)
        if spec.refused:
            sys.addaudithook(_refusing(spec, reported))
        status = 99
        try:
            status = run(list(command))
            sys.stdout.flush()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = {name: _text(number) for name, number in (("out", out), ("err", err), ("told", reported))}
    return {"command": command, "status": status, **texts}


def _text(descriptor: int) -> str:
    with open(descriptor, "rb") as file:
        file.seek(0)
        return file.read().decode(errors="replace")


def _refusing(spec: Spec, told: int) -> Any:
    number = getattr(errno, str(spec.refused))
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        path = _written(event, arguments)
        if path is None or not path.startswith(spec.below):
            return
        seen += 1
        if seen >= spec.first:
            os.write(told, f"{seen} {event} {path}\n".encode())
            raise OSError(number, os.strerror(number), path)

    return hook


def _written(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the path that something new is written at; what only frees room is let be."""
    if event == "open":
        path, _, flags = arguments
        return str(path) if isinstance(path, (str, bytes)) and flags & os.O_CREAT else None
    if event == "os.mkdir":
        return str(arguments[0])
    if event in ("os.rename", "os.link", "os.symlink"):
        return str(arguments[1])
    return None


# the side of the tests


def run_commands(spec: Spec, *, mounting: bool = False) -> list[dict[str, Any]]:
    """Run the commands of a spec; return what the driver printed of each."""
    argv = (*(("unshare", "-m") if mounting else ()), sys.executable, __file__, json.dumps(asdict(spec)))
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def lacking() -> str | None:
    """Return why file systems can't be mounted here, None where they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root of a Linux mounts file systems"
    probe = ("unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt")
    try:
        done = subprocess.run(probe, capture_output=True, check=False)
    except FileNotFoundError:
        return "unshare was not found"
    return "mounting is not allowed here" if done.returncode else None


def tree(root: Path, passing_over: Iterable[str] = ()) -> dict[str, str]:
    """Return what lies in a folder: the text of each file by its path."""
    over = tuple(passing_over)
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(root.rglob("*"))
        if path.is_file() and not str(path.relative_to(root)).startswith(over)
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    main(Spec(**{**given, "commands": tuple(map(tuple, given["commands"]))}))
