"""Kill a clone before each of its changes to the disk; see what the next command finds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crashing import kill_before_change

from gpuenv.environments.elsewhere import remember
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.store import find_place
from gpuenv.workflow.clone import clone, plan_clone
from gpuenv.workflow.environments import existing, list_all

OLD, NEW = "paper", "thesis"


def make(environ: dict[str, str], name: str) -> None:
    place = find_place(name, environ)
    info = place.path / "lib" / "python3.12" / "site-packages" / "tool-1.0.dist-info"
    info.mkdir(parents=True)
    (place.path / "bin").mkdir()
    for file, text in {
        place.path / "pyvenv.cfg": "home = /usr/bin\n",
        place.path / "bin" / "python": "",
        place.path / "bin" / "tool": f"#!{place.path}/bin/python\n",
        place.path / "bin" / "other": f"#!{place.path}/bin/python\n",
        info / "METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n",
        info / "RECORD": "../../../bin/tool,sha256=x,1\n",
    }.items():
        file.write_text(text)
    (place.path / "inner").symlink_to(place.path / "bin")
    write_record(
        place.path, Record(place.name, "2026-11-22T10:00:00+00:00", "uv", {"steps": [str(place.path)]})
    )
    remember(place)


def check_whole(root: Path, name: str) -> None:
    """All that names a path names this one, and nothing that was under way is left."""
    for program in ("tool", "other"):
        assert (root / "bin" / program).read_text() == f"#!{root}/bin/python\n", (root, program)
    assert str(root) in (root / "gpuenv.json").read_text()
    assert (root / "inner").readlink() == root / "bin"
    assert not [path for path in root.iterdir() if path.name.startswith(".gpuenv-")]
    record = existing(name, {"GPUENV_DATA_DIR": str(root.parents[1])}).record
    assert record.name == name


def act(scenario: str, environ: dict[str, str]) -> None:
    assert scenario == "clone"
    clone(plan_clone(OLD, NEW, environ))


ALLOWED = {"clone": ({OLD}, {OLD, NEW})}


def attempt(root: Path, scenario: str, number: int) -> bool:
    """Return whether it got through."""
    environ = {"GPUENV_DATA_DIR": str(root / "data"), "PATH": ""}
    make(environ, OLD)
    child = os.fork()
    if child == 0:
        kill_before_change(number)
        act(scenario, environ)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    through = os.WIFEXITED(status)
    assert not through or os.WEXITSTATUS(status) == 0
    found = {one.place.name: one.place.path for one in list_all(environ)}
    assert set(found) in ALLOWED[scenario], (number, found)
    assert {path.name for path in (root / "data" / "envs").iterdir()} == set(found), number
    assert not through or set(found) == ALLOWED[scenario][-1]
    for name, path in found.items():
        check_whole(path, name)
    return through


def main(directory: str, scenario: str) -> None:
    number = 0
    while not attempt(Path(directory) / str(number), scenario, number):
        number += 1
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
