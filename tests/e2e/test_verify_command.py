"""`verify` and `doctor` as a user types them: which environment they mean, and what a CPU build is worth."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch

TORCH = "torch==2.14.1"
H100 = FakeGpu("NVIDIA H100 PCIe", "9.0")
IDLE = "NVIDIA H100 PCIe is not used"


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")


def made(program: Program, name: str, mirrors: tuple[str, ...], *more: str) -> Path:
    done = program.run("create", name, TORCH, *more, "--yes", "--json", *mirrors)
    assert done.status == 0, done.out + done.err
    return Path(done.data["environment"]["path"])


@pytest.mark.slow
def test_a_cpu_build_on_a_machine_with_a_gpu_is_proven_only_where_it_was_requested(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    moved = made(program, "moved", mirrors)
    assert program.run("verify", "moved").status == 0
    fake_nvidia_smi(program.bin, "535.104.05", H100)
    made(program, "requested", mirrors, "--cuda", "cpu")
    for command in ("verify", "doctor"):
        assert program.run(command, moved, "--json").status == 6
        done = program.run(command, "requested")
        assert done.status == 0, done.out + done.err
        assert IDLE in done.out
    assert program.run("verify", "moved", "--json").error["code"] == "cpu-build"
    assert program.run("doctor", "moved", "--json").error["code"] == "D01"
    broken_nvidia_smi(program.bin, "NVIDIA-SMI has failed because it couldn't communicate with the driver", 9)
    assert program.run("verify", "moved").status == 6
    assert program.run("verify", "requested").status == 0


@pytest.mark.slow
def test_without_a_name_it_is_the_active_environment_else_the_only_one(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    own = program.with_(VIRTUAL_ENV=sys.prefix, PATH=f"{sys.prefix}/bin")
    for command in ("verify", "doctor"):
        refused = own.run(command, "--json")
        assert (refused.status, refused.error["code"]) == (2, "no-such-environment")
    first = made(program, "first", mirrors)
    for command in ("verify", "doctor"):
        assert own.run(command, "--json").data["environment"] == str(first)
    second = made(program, "second", mirrors)
    for command in ("verify", "doctor"):
        refused = own.run(command, "--json")
        assert (refused.status, refused.error["code"]) == (2, "environment-not-named")
        assert [fix["command"] for fix in refused.error["fixes"]] == [
            f"gpuenv {command} first", f"gpuenv {command} second"
        ]  # fmt: skip
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            active = program.with_(**{name: str(second)})
            assert active.run(command, "--json").data["environment"] == str(second)
    answer = own.run("verify")
    assert "first · torch 2.14.1+cpu" in answer.err
