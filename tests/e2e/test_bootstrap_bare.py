"""The bootstrap script for real on machines without a Python: twice, killed on the way, removed again."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import certifi
import pytest
from bare_root import BareRoot, lacking
from conda_channel import ChannelServer
from conda_packages import RUNNING, CondaPackage, python_package
from index_server import IndexServer, serve_indexes
from installed_wheels import write_wheels
from micromamba import Micromamba, write_micromamba
from running import make_program
from serving import Site, serve
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

from gpuenv import __version__

pytest.importorskip("rattler")
_LACKING = lacking()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(_LACKING is not None, reason=str(_LACKING))]

SUPPORT = Path(__file__).parents[1] / "support"
TORCH = "2.14.1"
PLACE = ".local/share/gpuenv/bootstrap"


@dataclass(frozen=True)
class Lab:
    """A lab's mirrors, its wheels, and the script that it gives to newcomers."""

    folder: Path
    index: IndexServer
    channel: Site
    micromamba: Micromamba

    @property
    def script(self) -> Path:
        return self.folder / "bootstrap.sh"

    @property
    def pinned(self) -> Path:
        """The same with a lock in it."""
        return self.folder / "pinned.sh"

    def forget(self) -> None:
        self.index.forget()
        self.channel.asked.clear()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    tool = write_micromamba(_folder(folder / "micromamba"), folder / "micromamba" / "root")
    with serve_indexes() as index, serve() as site:
        for wheel in write_wheels(_folder(folder / "house")):
            if not wheel.name.startswith("gpuenv-"):
                index.publish(wheel, "pypi")
        index.publish(_hostile(folder / "hostile"), "pypi")
        index.publish(tiny_torch(folder / "torch", f"{TORCH}+cpu"), "pytorch", "cpu")
        index.publish(tiny_torchvision(folder / "torch", "0.29.1+cpu"), "pytorch", "cpu")
        ChannelServer(site).publish("conda-forge", _channel(tool), under="/anaconda/cloud")
        item = Lab(_folder(folder / "given"), index, site, tool)
        (item.folder / "lab.toml").write_text(_lab_toml(index, site), encoding="utf-8")
        program = make_program(folder / "user")
        for words in (("-o", item.script), ("-o", item.pinned, "--pin")):
            done = program.run("bootstrap", "--from", item.folder / "lab.toml", *words)
            assert (done.status, done.err) == (0, f"wrote {words[1]}\n")
        yield item


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _hostile(folder: Path) -> Path:
    """Return what somebody put onto the index under gpuenv's name, as the very version that is wanted."""
    ends = "import sys\nsys.exit('a stranger was here')\n"
    return tiny_wheel(
        folder, "gpuenv", __version__, files={"gpuenv/__init__.py": ends, "gpuenv/__main__.py": ends}
    )


def _lab_toml(index: IndexServer, site: Site) -> str:
    return f"""
mirrors = ["lab"]
python = "{RUNNING}"

[environments.paper]
requirements = ["torch=={TORCH}"]
cuda = "cpu"

[[mirror]]
name = "lab"
pypi = {{simple = "{index.pypi}"}}
torch = {{address = "{index.pytorch}", layout = "pep503", hashes = true}}
conda = {{root = "{site.url}/anaconda", pkgs = [], cloud = ["conda-forge"]}}
"""


def _channel(tool: Micromamba) -> tuple[CondaPackage, ...]:
    """Return conda-forge as far as it is needed; its micromamba keeps all in its root, as ever."""
    settings = f'XDG_CACHE_HOME="$MAMBA_ROOT_PREFIX" SSL_CERT_FILE={certifi.where()}'
    words = shlex.join((sys.executable, str(SUPPORT / "micromamba.py"), str(tool.program)))
    wrapped = f'#!/bin/sh\nexport {settings}\nexec {words} "$MAMBA_ROOT_PREFIX" "$@"\n'
    return (
        python_package(f"{RUNNING}.99"),
        CondaPackage("libzlib", "1.3.1", "hb9d3cd8_2", 2),
        CondaPackage("tzdata", "2024b", "hc8b5060_0", subdir="noarch"),
        CondaPackage("pip", "24.3.1", "pyh8b19718_0", subdir="noarch", depends=("python",), python=True),
        CondaPackage(
            "micromamba", "2.8.1", "0", files={"bin/micromamba": wrapped.encode()}, ending=".tar.bz2"
        ),
    )


def machine(lab: Lab, root: Path, **more: Any) -> BareRoot:
    """Return a machine of the lab's that knows nothing of Python yet."""
    given = {"programs": ("curl", "bzip2", "flock"), **more}
    made = BareRoot(root, visible=(SUPPORT, lab.folder), writable=(lab.micromamba.program.parent,), **given)
    assert made.run("sh", "-c", ":") == (0, "")  # which makes the mount points
    lab.forget()
    return made


def bootstrap(bare: BareRoot, script: Path, *words: str) -> str:
    """Run a script to its end; return what it printed."""
    status, out = bare.run("sh", script, *words)
    log = bare.home / PLACE / "log"
    assert status == 0, out + (log.read_text(encoding="utf-8") if log.exists() else "")
    return out


def torch_of(bare: BareRoot) -> str:
    """What the environment says as its user calls it."""
    command = f"/home/student/{PLACE}/gpuenv"
    status, out = bare.run(
        command, "run", "paper", "--", "python", "-c", "import torch; print(torch.__version__)"
    )
    assert status == 0, out
    return out.strip()


def test_a_machine_without_a_python_gets_what_the_lab_asks_for(lab: Lab, tmp_path: Path) -> None:
    """A second run changes nothing and asks nobody; what was made goes without a trace.

    The index has a gpuenv of the same version: nobody asks for it.
    """
    bare = machine(lab, tmp_path)
    before = bare.files()
    message = bootstrap(bare, lab.script, "--launcher")
    assert message.splitlines()[-1] == "paper: /home/student/.local/bin/gpuenv run paper -- python"
    assert torch_of(bare) == f"{TORCH}+cpu"
    assert not any("gpuenv" in path for _, path, _ in lab.index.asked)
    made = bare.files()
    lab.forget()
    assert bootstrap(bare, lab.script).splitlines()[0] == "`paper` is there and works"
    recorded = "home/.local/share/gpuenv/envs/paper/gpuenv.json"  # by verify, as ever
    assert changed(made, bare.files()) <= {f"home/{PLACE}/log", recorded}
    assert (lab.index.asked, lab.channel.asked) == ([], [])
    bootstrap(bare, lab.script, "--uninstall", "--yes")
    assert bare.files() == before


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_killed_at_any_point_it_goes_on_where_it_was(lab: Lab, tmp_path: Path) -> None:
    bare = machine(lab, tmp_path)
    before = bare.files()
    conda, files = "/anaconda/cloud/conda-forge/linux-64", lab.index.failing
    with stuck(lab.channel, f"{conda}/micromamba-2.8.1-0.tar.bz2") as reached:
        kill(bare, lab, reached)
    with stuck(lab.channel, f"{conda}/python-{RUNNING}.99-h0000000_0_cpython.conda") as reached:
        kill(bare, lab, reached)
    with files("hang", "/packages/uv-"):
        kill(bare, lab, lambda: any(path.startswith("/packages/uv-") for _, path, _ in lab.index.asked))
    with files("hang", "/whl/cpu/torch-"):
        kill(bare, lab, lambda: any(path.startswith("/whl/cpu/torch-") for _, path, _ in lab.index.asked))
    record = bare.home / ".local/share/gpuenv/envs/paper/gpuenv.json"
    bare.variables["FAKE_TORCH"] = json.dumps({"faults": [["matmul", "cpu", "hang"]]})
    kill(bare, lab, record.exists)
    bare.variables.clear()
    requested = len(lab.channel.asked)
    bootstrap(bare, lab.script)
    assert len(lab.channel.asked) == requested  # the Python was whole
    assert torch_of(bare) == f"{TORCH}+cpu"
    bootstrap(bare, lab.script, "--uninstall", "--yes")
    assert bare.files() == before


@contextmanager
def stuck(site: Site, path: str) -> Iterator[Callable[[], bool]]:
    """Let a file never come to its end; tell whether it was asked for."""
    usual = site.routes[path]
    reached = threading.Event()

    def hang(_: object) -> None:
        reached.set()
        site.closing.wait(60)

    site.routes[path] = hang
    try:
        yield reached.is_set
    finally:
        site.routes[path] = usual


def kill(bare: BareRoot, lab: Lab, reached: Callable[[], bool]) -> None:
    """Run the script and kill it, with all that it started, once it has got to a point."""
    with bare.start("sh", lab.script) as process:
        ends = time.monotonic() + 60
        while not reached() and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        got_there = reached() and process.poll() is None
        process.kill()
        out, _ = process.communicate()
    assert got_there, out


@pytest.mark.campaign
def test_an_old_python_is_passed_over_and_wheels_beside_the_script_are_enough(
    lab: Lab, tmp_path: Path
) -> None:
    """All programs are busybox, wget among them; no index is asked for gpuenv, and torch is a lock's."""
    no_proxy = {"http_proxy": ""}  # busybox' wget knows no exceptions
    bare = machine(lab, tmp_path, programs=(), busybox=True, variables=no_proxy)
    old = bare.bin / "python3"
    old.write_text("#!/bin/sh\necho 'Python 3.6.8' >&2\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    before = bare.files()
    shutil.copytree(lab.folder.parent / "house", lab.folder / "wheels")
    shutil.copy(
        lab.folder.parent / "hostile" / f"gpuenv-{__version__}-py3-none-any.whl", lab.folder / "wheels"
    )
    try:
        bootstrap(bare, lab.pinned)
    finally:
        shutil.rmtree(lab.folder / "wheels")
    assert not any(path.startswith(("/simple/gpuenv/", "/simple/typer/")) for path in lab.index.count())
    assert torch_of(bare) == f"{TORCH}+cpu"
    bootstrap(bare, lab.pinned, "--uninstall", "--yes")
    assert bare.files() == before


@pytest.mark.campaign
def test_a_folder_with_all_in_it_needs_no_index(lab: Lab, tmp_path: Path) -> None:
    """What is there already and right is not fetched again, what is not right is replaced."""
    folder = lab.folder / "everything"
    program = make_program(tmp_path / "user")
    requested = ("bootstrap", "--from", lab.folder / "lab.toml", "--pin", "-o", f"{folder}/")
    done = program.run(*requested)
    assert done.status == 0, done.err
    assert f"to fetch into {folder}/wheels\n" in done.err
    (folder / "bootstrap.sh").unlink()
    (wheel,) = (folder / "wheels").glob("torch-*.whl")
    right = wheel.read_bytes()
    wheel.write_bytes(b"half of i")
    kept = {path: path.stat().st_mtime_ns for path in (folder / "wheels").iterdir()}
    assert program.run(*requested).status == 0
    assert wheel.read_bytes() == right
    again = {path for path, then in kept.items() if path.stat().st_mtime_ns != then}
    assert {path.name.partition("-")[0] for path in again} == {"torch", "gpuenv"}
    unreachable = {"no_proxy": "", "NO_PROXY": ""}  # the proxy leads nowhere
    bare = machine(lab, tmp_path / "bare", variables=unreachable)
    (bare.bin / f"python{RUNNING}").symlink_to(sys.executable)
    before = bare.files()
    bootstrap(bare, folder / "bootstrap.sh")
    assert torch_of(bare) == f"{TORCH}+cpu"
    assert (lab.index.asked, lab.channel.asked) == ([], [])  # nor would they have been reached
    bootstrap(bare, folder / "bootstrap.sh", "--uninstall", "--yes")
    assert bare.files() == before
