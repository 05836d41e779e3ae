"""Kill a change within an environment before each of its changes to the disk, and the undoing too."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crashing import kill_before_change

from gpuenv.environments.file_lock import locked
from gpuenv.environments.pending import is_pending
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.snapshot import changing_in_place
from gpuenv.environments.store import find_store
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.interrupted_change import mend


def put(site: Path, name: str, version: str, *members: str) -> None:
    """Install as uv does: the files one after the other, the list of them last."""
    info = site / f"{name}-{version}.dist-info"
    for path in (*(site / member for member in members), info / "METADATA"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name} {version}\n")
    paths = (*members, f"{info.name}/METADATA", f"{info.name}/RECORD")
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in paths))


def take_out(site: Path, name: str, version: str) -> None:
    info = site / f"{name}-{version}.dist-info"
    for line in (info / "RECORD").read_text().splitlines():
        (site / line.partition(",")[0]).unlink()
    info.rmdir()


def make(root: Path) -> EnvironmentPaths:
    environ = {"GPUENV_DATA_DIR": str(root / "data")}
    environment = EnvironmentPaths(find_store(environ), "paper", root / "data" / "envs" / "paper")
    site = environment.path / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (environment.path / "pyvenv.cfg").write_text("")
    put(site, "old", "1.0", "old/one.py", "old/two.py", "../../../bin/old")
    put(site, "bystander", "1.0", "bystander/__init__.py")
    write_record(environment.path, Record("paper", "", "uv", {"generation": "first"}))
    return environment


def contents(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def change(place: EnvironmentPaths, *, keep: bool) -> None:
    site = place.path / "lib" / "python3.12" / "site-packages"
    with locked(place), changing_in_place(place, (str(site),), ("old", "new")) as under_way:
        take_out(site, "old", "1.0")
        put(site, "old", "2.0", "old/one.py", "old/three.py")
        put(site, "new", "1.0", "new/deep/__init__.py", "bystander/plugin.py")
        write_record(place.path, Record("paper", "", "uv", {"generation": "second"}))
        if keep:
            under_way.keep()


def in_child(number: int, work: object) -> bool:
    """Run `work` in a child that is killed before that change; tell whether it got through."""
    child = os.fork()
    if child == 0:
        kill_before_change(number)
        assert callable(work)
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def attempt(root: Path, number: int, *, keep: bool) -> bool:
    environment = make(root)
    before = contents(environment.path)
    through = in_child(number, lambda: change(environment, keep=keep))
    for again in range(number % 7, 1000, 7):  # the undoing is killed as well, here and there
        if in_child(again, lambda: mend(environment)):
            break
    after = contents(environment.path)
    assert not is_pending(environment)
    assert not list(environment.path.glob(".gpuenv-*"))
    if through and keep:
        assert after != before
    elif not keep or b"second" not in after[str(environment.path / "gpuenv.json")]:
        assert after == before, (number, set(after) ^ set(before))
    return through


def main(directory: str, keep: str) -> None:
    number = 0
    while not attempt(Path(directory) / str(number), number, keep=keep == "keep"):
        number += 1
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
