"""A week with one environment, from the first command to the last: nothing is left behind."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from running import Done, Program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="POSIX shells")]

TORCH = "2.14.1+cu126"
SHELLS = ("bash", "dash", "zsh", "fish")
H100 = FakeGpu("NVIDIA H100 PCIe", "9.0")
STACK = ("torch==2.14.1", "torchvision")


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, TORCH, cuda="12.6", architectures=("sm_90",)), "pytorch", "cu126")
    server.publish(tiny_torchvision(here, "0.29.1+cu126"), "pytorch", "cu126")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "torch>=2")), "pypi")
    server.publish(tiny_wheel(here, "byhand", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "wantsold", "1.0", requires=("torch==2.6.0",)), "pypi")
    server.publish(tiny_wheel(here, "ipykernel", "6.30"), "pypi")


def activated(program: Program, shell: str, words: str) -> subprocess.CompletedProcess[str]:
    """Activate `paper` in a shell as a user would, and run `words` there."""
    gpuenv = shlex.join([sys.executable, "-m", "gpuenv"])
    line = f"{gpuenv} activate paper --shell {shell}"
    script = f"{line} | source; {words}" if shell == "fish" else f'eval "$({line})"; {words}'
    return subprocess.run(
        [str(shutil.which(shell)), "-c", script],
        env=program.environ, cwd=program.root / "work", capture_output=True, encoding="utf-8", timeout=60,
        check=False,
    )  # fmt: skip


def packages(program: Program, name: str) -> dict[str, str]:
    listed = program.run("run", name, "--", "python", "-m", "pip", "list", "--format", "json")
    assert listed.status == 0, listed.err
    return {item["name"]: item["version"] for item in json.loads(listed.out)}


def ok(done: Done) -> Done:
    assert done.status == 0, done.out + done.err
    return done


def everything(program: Program) -> set[str]:
    """All files of the user that hold something, but what uv and pip share with others and the fake's own.

    Locks are empty: to remove one could let two programs hold it.
    """
    shared = (program.home / ".cache", program.root / "tmp", program.bin)
    return {
        str(path.relative_to(program.root))
        for path in program.root.rglob("*")
        if not any(path.is_relative_to(folder) for folder in shared)
        if path.is_symlink() or (path.is_file() and path.stat().st_size)
    }


def test_a_week_leaves_nothing_behind(
    program: Program, mirrors: tuple[str, ...], server: IndexServer
) -> None:
    user = program.with_(
        PIP_INDEX_URL=server.pypi,
        PATH=os.pathsep.join((str(program.bin), "/usr/bin", "/bin")),
        FAKE_TORCH=json.dumps({"gpus": [[H100.name, [9, 0]]]}),
    )
    fake_nvidia_smi(program.bin, "535.104.05", H100)
    before = everything(program)

    # Monday: made, and entered from every shell
    path = Path(
        ok(user.run("create", "paper", *STACK, "--yes", "--json", *mirrors)).data["environment"]["path"]
    )
    for shell in filter(shutil.which, SHELLS):
        entered = activated(
            user, shell, "python -c 'import sys, torch; print(sys.prefix, torch.__version__)'"
        )
        assert (entered.returncode, entered.stdout) == (0, f"{path} {TORCH}\n"), (shell, entered.stderr)

    # Tuesday: pip by hand adds what it may, and torch stays
    ok(user.run("run", "paper", "--", "pip", "install", "byhand"))
    refused = user.run("run", "paper", "--", "pip", "install", "wantsold")
    assert refused.status != 0
    assert packages(user, "paper")["byhand"] == "1.0"
    assert packages(user, "paper")["torch"] == TORCH

    # Wednesday: gpuenv adds a package, a newer release of it comes, and a notebook wants a kernel
    ok(user.run("install", "paper", "mylib", "--yes", "--json"))
    assert packages(user, "paper")["mylib"] == "2.0"
    server.publish(tiny_wheel(program.root / "tmp", "mylib", "2.1", requires=("torch>=2",)), "pypi")
    ok(user.run("update", "paper", "--yes", "--json"))
    assert packages(user, "paper")["mylib"] == "2.1"
    ok(user.run("kernel", "paper", "--yes", "--json"))

    # Thursday: somebody's pip puts a CPU build in torch's place, and the doctor mends it
    cpu = tiny_torch(program.root / "tmp", "2.14.1+cpu")
    unheld = {**user.environ, "PIP_CONSTRAINT": "", "PIP_CONFIG_FILE": os.devnull}
    forced = (path / "bin" / "python", "-m", "pip", "install", "--no-deps", "--force-reinstall", cpu)
    subprocess.run(list(map(str, forced)), check=True, capture_output=True, env=unheld)
    assert user.run("verify", "paper", "--json").status == 6
    ok(user.run("doctor", "paper", "--fix", "--yes", "--json", *mirrors))
    assert packages(user, "paper")["torch"] == TORCH

    # Friday: handed on, copied, renamed
    exported = ok(user.run("export", "paper", "--format", "requirements.txt"))
    assert f"torch=={TORCH}" in exported.out
    ok(user.run("clone", "paper", "copy", "--yes", "--json"))
    ok(user.run("rename", "copy", "second", "--json"))
    assert packages(user, "second") == packages(user, "paper")
    assert {item["name"] for item in ok(user.run("list", "--json")).data["environments"]} == {
        "paper",
        "second",
    }

    # Saturday: all of it goes
    for name in ("paper", "second"):
        ok(user.run("remove", name, "--yes", "--json"))
    ok(user.run("cache", "clean", "--yes", "--json"))
    assert everything(program) - before == set()
