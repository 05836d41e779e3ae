"""Plans and environments for accelerators that are no NVIDIA GPUs, from pages that are really read."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from accelerated import (
    AMD,
    ascend,
    battlemage,
    fake_torch,
    macbook,
    orin,
    publish_accelerators,
    publish_amd,
    radeon,
    saved,
)
from index_server import Fault, IndexServer, dead_url, serve_indexes
from packaging.utils import canonicalize_name
from running import Done, Program
from tiny_wheels import tiny_wheel

from gpuenv.model.machine import Machine

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="ROCm and XPU have builds for x86_64")

ROCM = {"hip": "7.2.26015", "gpus": [["AMD Radeon RX 7900 XTX", [11, 0]]], "gfx": ["gfx1100"]}
WORKING = {
    "rocm7.2": fake_torch("2.12.0+rocm7.2", architectures=["gfx1100"], **ROCM),
    "xpu": fake_torch("2.12.0+xpu", xpu="20260000", architectures=["bmg"], gpus=["Intel Arc B580"]),
}


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    server.files.clear()
    publish_accelerators(server, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def amd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexServer]:
    with serve_indexes() as index:
        index.files.clear()
        publish_amd(index, tmp_path_factory.mktemp("amd"), "gfx1010", "gfx1201")
        yield index


def plan(program: Program, machine: Machine, mirrors: tuple[str, ...], *more: str) -> Done:
    return program.run("plan", "--json", "--machine", saved(program, machine), *mirrors, *more)


@pytest.fixture
def dockerfile(program: Program, mirrors: tuple[str, ...]) -> str:
    done = program.run("dockerfile", "torch", "--machine", saved(program, radeon()), *mirrors)
    assert done.status == 0, done.err
    return done.out


def test_an_image_for_amd_is_given_its_devices_and_checks_its_code(dockerfile: str) -> None:
    assert '--device /dev/kfd --device /dev/dri --group-add "$(stat -c %g /dev/kfd)" torch' in dockerfile
    assert "torch==2.12.0+rocm7.2 --hash=sha256:" in dockerfile
    assert '"--rocm", "--gpu", "gfx1100"]' in dockerfile
    assert "HEALTHCHECK NONE" in dockerfile
    assert not re.search(r"NVIDIA_|docker run.* --gpus|ENTRYPOINT", dockerfile)


def versions(done: Done) -> dict[str, str]:
    return {item["name"]: item["version"] for item in done.data["packages"]}


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    fields = {canonicalize_name(item.metadata["Name"]): item.version for item in distributions(path=places)}
    return {name: version for name, version in fields.items() if name not in {"pip", "setuptools"}}


@pytest.mark.parametrize(
    ("machine", "variant", "stack"),
    [
        (radeon(), "rocm7.2", {"torch": "2.12.0+rocm7.2", "torchvision": "0.27.0+rocm7.2"}),
        (battlemage(), "xpu", {"torch": "2.12.0+xpu", "torchvision": "0.27.0+xpu"}),
        (ascend(), "npu", {"torch": "2.6.0+cpu", "torch-npu": "2.6.0.post5"}),
        (macbook(), "mps", {"torch": "2.12.0", "torchvision": "0.27.0"}),
    ],
    ids=("rocm", "xpu", "npu", "mps"),
)
def test_the_newest_build_of_the_kind_that_the_pages_list_is_planned(
    program: Program,
    server: IndexServer,
    mirrors: tuple[str, ...],
    machine: Machine,
    variant: str,
    stack: dict[str, str],
) -> None:
    """What the tables know to be newer and no page lists is not; a page a project and index is read, once."""
    done = plan(program, machine, mirrors)
    assert done.data["variant"] == variant
    assert {name: version for name, version in versions(done).items() if name != "numpy"} == stack
    assert all(item["sha256"] for item in done.data["packages"])
    pages = {path: count for path, count in server.count().items() if path.endswith("/")}
    read = {f"/{root}/{name}/" for root in ("whl", "simple") for name in ("torch", "torchvision")}
    assert pages.keys() >= read
    assert pages.keys() - read <= {"/whl/torch-npu/", "/simple/torch-npu/", "/simple/numpy/"}
    assert set(pages.values()) == {1}


@pytest.mark.parametrize("fault", ["500", "garbage", "reset"])
def test_a_page_that_is_down_is_told_and_the_next_source_serves(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], fault: Fault
) -> None:
    with server.failing(fault, "/whl/"):
        down = plan(program, radeon(), mirrors)
    assert (down.status, down.error["code"]) == (4, "index-unread")
    assert f"{server.pytorch}/torch/" in json.dumps(down.error)
    beside = plan(program, radeon(), ("--mirror", f"{dead_url()}/whl", *mirrors))
    assert beside.torch == "2.12.0+rocm7.2"


def test_a_folder_of_one_variant_serves_that_variant(program: Program, server: IndexServer) -> None:
    folder = f"{server.pytorch}/rocm6.4"
    done = plan(program, radeon(), ("--mirror", folder, "--mirror", server.pypi))
    assert (done.torch, done.package("torch")["index"]) == ("2.9.1+rocm6.4", folder)


@pytest.mark.parametrize("manager", ["uv", "pip"])
@pytest.mark.parametrize(
    ("gpu", "variant", "triton"),
    [("gfx1100", "rocm7.2", "triton-rocm"), ("Arc B580", "xpu", "triton-xpu")],
    ids=("rocm", "xpu"),
)
def test_what_was_planned_is_installed_and_proved(
    program: Program,
    server: IndexServer,
    mirrors: tuple[str, ...],
    manager: str,
    gpu: str,
    variant: str,
    triton: str,
) -> None:
    """Triton is the one of torch's own index: PyPI's package of that name is a stub."""
    program = program.with_(FAKE_TORCH=WORKING[variant])
    how = ("--gpu", gpu, "--manager", manager, "--yes", "--json", *mirrors)
    asked = ("torch", "torchvision", *how)
    made = program.run("create", "trial", *asked)
    assert made.status == 0, made.said
    assert made.data["verify"]["devices"][0]["ok"]
    expected = {"torch": f"2.12.0+{variant}", "torchvision": f"0.27.0+{variant}", triton: "3.7.0"}
    assert installed(program.environments / "trial") == expected
    pinned = ("torch==2.12.0", "torchvision==0.27.0", *how[:2], "--python", made.data["python"], "--json")
    with server.failing("500", "/"):
        offline = program.run("plan", *pinned, *mirrors, "--offline")
    (torch, *_), (known, *_) = offline.data["packages"], made.data["packages"]
    assert (torch["url"], torch["sha256"]) == (known["url"], known["sha256"])  # by the pages that were kept


@pytest.mark.slow
def test_amds_own_index_brings_the_code_of_the_device_alone(
    program: Program, amd: IndexServer, mirrors: tuple[str, ...]
) -> None:
    """No build of the PyTorch index has code for a gfx1010."""
    own = ("--mirror", f"{amd.pytorch}/{AMD}", *mirrors)
    done = plan(program, radeon("gfx1010"), own, "torch")
    assert done.data["variant"] == "rocm7.14.0"
    assert done.package("torch")["extras"] == ["device-gfx1010"]
    lock = program.root / "pylock.toml"
    card = ("--gpu", "gfx1010")
    written = program.run("plan", "torch", *card, *own, "--format", "pylock.toml", "-o", lock)
    assert written.status == 0, written.said
    names = re.findall(r'^name = "(.*)"', lock.read_text(encoding="utf-8"), re.MULTILINE)
    assert names == ["amd-torch-device-gfx1010", "rocm", "torch"]
    settings = {**ROCM, "hip": "7.14.60850", "gfx": ["gfx1010"], "architectures": ["gfx1010"]}
    proved = program.with_(FAKE_TORCH=fake_torch("2.12.0+rocm7.14.0", **settings))
    expected = {"torch": "2.12.0+rocm7.14.0", "rocm": "7.14.0", "amd-torch-device-gfx1010": "2.12.0"}
    for name, words in (("pages", ("torch", *own)), ("lock", ("--from-lock", lock, *own))):
        made = proved.run("create", name, *words, *card, "--yes", "--json")
        assert made.status == 0, made.said
        assert installed(program.environments / name) == expected
    refused = program.run("create", "x", "--from-lock", lock, "--gpu", "gfx1201", "--yes", "--json")
    assert (refused.status, refused.error["code"]) == (3, "lock-unfit")


JETSON_TAG = "cp310-cp310-linux_aarch64"


@pytest.fixture(scope="module")
def jetson(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A mirror of the boards' index; PyPI has a torch of the same version for ARM servers."""
    here = tmp_path_factory.mktemp("jetson")
    server.publish(tiny_wheel(here, "torch", "2.8.0", tag=JETSON_TAG), "pytorch", "cu126")
    servers = JETSON_TAG.replace("linux", "manylinux_2_28")
    server.publish(tiny_wheel(here, "torch", "2.8.0", tag=servers), "pypi")
    return f"{server.pytorch}/cu126"


@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_no_file_of_pypi_is_taken_for_the_boards_of_the_same_version(
    program: Program, server: IndexServer, jetson: str, manager: str
) -> None:
    asked = ("torch==2.8.0", "--machine", saved(program, orin()), "--manager", manager)
    asked = (*asked, "--mirror", jetson, "--mirror", server.pypi)
    done = program.run("plan", *asked, "--json")
    torch = done.package("torch")
    assert torch["url"] == f"{jetson}/torch-2.8.0-{JETSON_TAG}.whl"
    named = f"torch @ {torch['url']}#sha256={torch['sha256']}"
    assert named in done.data["steps"][-1]["argv"]
    for format_ in ("requirements.txt", "pyproject", manager):
        assert torch["url"] in program.run("plan", *asked, "--format", format_).out
    lock = program.run("plan", *asked, "--format", "pylock.toml").out
    assert torch["url"] in lock
    assert "manylinux" not in lock
