"""The README's first line on six plain machines: verified, or the one sentence that is true."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from replica_network import Network
from running import Done, Program
from tiny_stack import installed
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
RTX_3090 = FakeGpu("NVIDIA GeForce RTX 3090", "8.6")
MIRRORS = ("tuna", "sjtu", "sjtu_store", "nju", "aliyun", "cernet", "huawei")
ARCHITECTURES = ("sm_80", "sm_86", "sm_90")


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every shelf holds a torch that installs; PyPI's own is a CUDA build, as in truth."""
    here = tmp_path_factory.mktemp("wheels")
    for shelf in network.shelves:
        shelf.without |= {"-2.15.0", "-0.29.2"}  # releases of which there is no wheel that installs
    network.publish(tiny_torch(here / "pypi", "2.14.1", cuda="13.0", architectures=ARCHITECTURES))
    network.publish(tiny_torchvision(here / "pypi", "0.29.1"))
    for variant, cuda in (("cpu", None), ("cu126", "12.6")):
        build = tiny_torch(here / variant, f"2.14.1+{variant}", cuda=cuda, architectures=ARCHITECTURES)
        network.publish(build, variant)
        network.publish(tiny_torchvision(here / variant, f"0.29.1+{variant}"), variant)
    network.publish(tiny_wheel(here, "numpy", "2.3.0"))


@pytest.fixture
def machine(program: Program, network: Network) -> Program:
    """A machine that knows the replicas as the official indexes and the mirrors."""
    file = program.root / "etc" / "mirrors.toml"
    file.parent.mkdir()
    file.write_text(network.configuration, encoding="utf-8")
    return program.with_(GPUENV_CONFIG=str(file), NO_PROXY=network.no_proxy)


def create_first(machine: Program) -> Done:
    """Type the README's line; `--yes` stands for the answer at the prompt."""
    return machine.run("create", "myenv", "--yes", "--json")


def assert_verified(done: Done) -> None:
    assert done.status == 0, done.out + done.err
    assert all(device["ok"] for device in done.data["verify"]["devices"])


def warned(done: Done) -> str:
    return " ".join(warning["message"] for warning in done.envelope["warnings"])


@pytest.mark.slow
def test_without_a_gpu_pypi_alone_gives_its_own_build_and_says_so(machine: Program, network: Network) -> None:
    with network.down("official", "r2", *MIRRORS):
        done = create_first(machine)
    assert_verified(done)
    assert done.package("torch")["version"] == "2.14.1"
    assert {"torchvision", "numpy"} <= set(installed(machine.environments / "myenv"))
    assert network.official.url.removeprefix("http://").split(":")[0] in warned(done)


@pytest.mark.slow
def test_without_a_gpu_a_wheelhouse_with_torch_alone_is_enough(
    machine: Program, network: Network, tmp_path: Path
) -> None:
    tiny_torch(tmp_path / "house", "2.14.1+cpu")
    with network.down(*network.replicas):
        done = create_first(machine.with_(GPUENV_FIND_LINKS=str(tmp_path / "house")))
    assert_verified(done)
    assert set(installed(machine.environments / "myenv")) == {"torch"}
    assert "torchvision" in warned(done)


def test_without_a_gpu_and_an_index_it_is_said_in_few_words(machine: Program, network: Network) -> None:
    with network.down(*network.replicas):
        done = machine.run("create", "myenv", "--yes")
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) <= 12
    assert "no build" not in done.err


@pytest.mark.slow
def test_with_mirrors_alone_a_gpu_gets_a_cuda_build(machine: Program, network: Network) -> None:
    fake_nvidia_smi(machine.bin, "570.133.07", RTX_3090)
    gpu = machine.with_(FAKE_TORCH=json.dumps({"gpus": [[RTX_3090.name, [8, 6]]]}))
    with network.down("official", "r2", "pypi", "pypi_files"):
        done = create_first(gpu)
    assert_verified(done)
    assert done.package("torch")["version"] == "2.14.1+cu126"
    assert any(name in warned(done) for name in ("nju", "aliyun", "sjtu", "cernet"))


@pytest.mark.slow
def test_with_one_python_alone_that_one_is_taken(machine: Program, network: Network) -> None:
    done = create_first(machine)
    assert_verified(done)
    assert done.data["python"] == PYTHON


def in_read_only_home(machine: Program, *arguments: str) -> Done:
    """Run gpuenv where the home can be read alone, by root as well."""
    home = str(machine.home)
    view = [
        str(shutil.which("bwrap")),
        "--bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--ro-bind",
        home,
        home,
    ]
    argv = [*view, "--chdir", str(machine.root / "work"), sys.executable, "-m", "gpuenv", *arguments]
    done = subprocess.run(
        argv, env=machine.environ, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        timeout=120, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def bubblewrap() -> None:
    program = shutil.which("bwrap")
    if program is None or subprocess.run([program, "--bind", "/", "/", "true"], check=False).returncode:
        pytest.skip("bubblewrap was not found, or may not be used")


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_a_read_only_home_is_named_with_the_way_round_it(machine: Program) -> None:
    at_home = machine.with_(GPUENV_DATA_DIR=None, GPUENV_CACHE_DIR=None)
    done = in_read_only_home(at_home, "create", "myenv", "--yes")
    assert (done.status, done.out) == (2, "")
    assert str(machine.home) in done.err
    assert "GPUENV_DATA_DIR" in done.err


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_beside_a_read_only_home_another_data_folder_serves(machine: Program) -> None:
    elsewhere = machine.with_(GPUENV_CACHE_DIR=None)
    assert_verified(in_read_only_home(elsewhere, "create", "myenv", "--yes", "--json"))
