"""Kill a clone or a renaming before each of its changes to the disk; see what the next command finds."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from crashing import kill_before_change

from gpuenv.activation.entering import EnteredEnvironment
from gpuenv.activation.kernel import plan_kernel, register
from gpuenv.environments.contents.kernels import is_kernel_of, kernels_of
from gpuenv.environments.listing import note_external
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.store import find_place
from gpuenv.operations.find import existing, list_all, list_interrupted
from gpuenv.operations.interrupted_change import mend
from gpuenv.relocation.clone import clone, plan_clone
from gpuenv.relocation.rename import rename

OLD, NEW = "paper", "thesis"
MOMENT = datetime(2026, 11, 22, 10, tzinfo=timezone.utc)


def make(environ: dict[str, str], name: str, kernels: Path) -> None:
    environment = find_place(name, environ)
    info = environment.path / "lib" / "python3.12" / "site-packages" / "tool-1.0.dist-info"
    info.mkdir(parents=True)
    (environment.path / "bin").mkdir()
    for file, text in {
        environment.path / "pyvenv.cfg": "home = /usr/bin\n",
        environment.path / "bin" / "python": "",
        environment.path / "bin" / "tool": f"#!{environment.path}/bin/python\n",
        environment.path / "bin" / "other": f"#!{environment.path}/bin/python\n",
        info / "METADATA": "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n",
        info / "RECORD": "../../../bin/tool,sha256=x,1\n",
    }.items():
        file.write_text(text)
    (environment.path / "inner").symlink_to(environment.path / "bin")
    write_record(
        environment.path,
        Record(environment.name, "2026-11-22T10:00:00+00:00", "uv", {"steps": [str(environment.path)]}),
    )
    note_external(environment)
    environment.log(MOMENT).parent.mkdir(exist_ok=True)
    environment.log(MOMENT).touch()
    kernel = plan_kernel(
        EnteredEnvironment(name, environment.path, None), {"JUPYTER_DATA_DIR": str(kernels.parent)}, None
    )
    register(EnteredEnvironment(name, environment.path, None), kernel, {})


def check_whole(root: Path, name: str, environ: dict[str, str]) -> None:
    """All that names a path names this one, and nothing that was under way is left."""
    environment = existing(name, environ).paths
    assert environment.path == root
    for program in ("tool", "other"):
        assert (root / "bin" / program).read_text() == f"#!{root}/bin/python\n", (root, program)
    assert json.loads((root / "gpuenv.json").read_text())["plan"] == {"steps": [str(root)]}
    assert existing(name, environ).record.name == name
    assert (root / "inner").readlink() == root / "bin"
    assert not [
        path for path in root.iterdir() if path.name.startswith((".gpuenv-renaming", ".gpuenv-building"))
    ]
    kernels = kernels_of(root)
    assert all(is_kernel_of(kernel, root) for kernel in kernels)
    assert len(kernels) == (0 if root.name == NEW and name in CLONED else 1)


CLONED: set[str] = set()


def act(scenario: str, environ: dict[str, str]) -> None:
    if scenario == "clone":
        clone(plan_clone(OLD, NEW, environ))
    else:
        old, new = names(scenario, environ)
        rename(old, new, environ)


def names(scenario: str, environ: dict[str, str]) -> tuple[str, str]:
    """Return what the environment is called before and afterwards."""
    beside = str(Path(environ["GPUENV_DATA_DIR"]).parent / "elsewhere")
    return (f"{beside}/{OLD}", f"{beside}/{NEW}") if scenario == "elsewhere" else (OLD, NEW)


def attempt(root: Path, scenario: str, number: int) -> bool:
    """Return whether it got through."""
    environ = {"GPUENV_DATA_DIR": str(root / "data"), "GPUENV_CACHE_DIR": str(root / "cache"), "PATH": ""}
    old, new = names(scenario, environ)
    make(environ, old, root / "kernels")
    child = os.fork()
    if child == 0:
        kill_before_change(number)
        act(scenario, environ)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    through = os.WIFEXITED(status)
    assert not through or os.WEXITSTATUS(status) == 0
    for name in (old, new):
        mend(find_place(name, environ))
    assert list_interrupted(environ) == ()
    paths = {environment.paths.name: environment.paths.path for environment in list_all(environ)}
    both, last = {old, new}, {old, new} if scenario == "clone" else {new}
    assert set(paths) in ({old}, last), (number, paths)
    beside = find_place(old, environ).path.parent
    assert set(beside.iterdir()) == set(paths.values()), number
    assert not through or set(paths) == last
    CLONED.update(both & {new} if scenario == "clone" else ())
    for name, path in paths.items():
        check_whole(path, name, environ)
    kernels = {path.name for path in (root / "kernels").iterdir() if (path / "kernel.json").exists()}
    assert len(kernels) == 1, (number, kernels)
    assert len(list((root / "data" / "elsewhere").glob("[!.]*"))) <= len(paths)
    assert not through or scenario == "clone" or "thesis" in kernels.pop()
    logs = [log.name for log in (root / "data" / "logs").glob("*.log")]
    assert logs == [find_place(next(iter(paths)), environ).log(MOMENT).name], (number, logs)
    return through


def main(directory: str, scenario: str) -> None:
    number = 0
    while not attempt(Path(directory) / str(number), scenario, number):
        number += 1
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
