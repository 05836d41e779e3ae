"""`matrix inspect` and `matrix refresh` as they are typed: what they print, and how they end."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Done, Program
from serving import Site, serve
from torch_wheels import packed_bundle, wheel_bytes
from wheel_shop import Manner, WheelShop

NAME = "torch-2.15.0-cp312-cp312-manylinux_2_28_x86_64.whl"
WHEEL = wheel_bytes(
    version="2.15.0", variant="cu132", flags="sm_75 sm_90", requires=("nvidia-cudnn-cu13==9.26.0.51",)
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def shop(site: Site) -> WheelShop:
    return WheelShop(site)


def run(home: Path, *arguments: str) -> Done:
    environ = {
        "GPUENV_DATA_DIR": str(home / "data"),
        "GPUENV_CACHE_DIR": str(home / "cache"),
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
    }
    return Program(home, environ).run("matrix", *arguments, cwd=home)


def document(done: Done) -> dict[str, Any]:
    return dict(json.loads(done.out))


def test_a_wheel_is_told_in_words_and_as_json(tmp_path: Path, shop: WheelShop) -> None:
    url = shop.offer(NAME, WHEEL)
    (tmp_path / NAME).write_bytes(WHEEL)
    words = run(tmp_path, "inspect", NAME)
    assert (words.status, words.err) == (0, "")
    for text in ("torch 2.15.0 (cu132)", "cuDNN 9.26.0.51", "sm_75 sm_90", "Tesla T4", "580.65.06"):
        assert text in words.out
    answer = document(run(tmp_path, "inspect", url, "--json"))["data"]
    assert (answer["cuda"], answer["architectures"], answer["evidence"]) == (
        "13.2",
        ["sm_75", "sm_90"],
        "wheel",
    )
    assert 0 < answer["received"] < 2 * len(WHEEL)
    assert [item["os"] for item in answer["drivers"]] == ["linux", "windows"]
    assert {item["architecture"] for item in answer["gpus"]} == {"Turing", "Hopper"}
    assert not (tmp_path / "data").exists()


def test_a_companion_is_told_too(tmp_path: Path) -> None:
    name = "torchvision-0.40.0-py3-none-win_amd64.whl"
    (tmp_path / name).write_bytes(
        wheel_bytes("torchvision", "0.40.0", variant="cu132", requires=("torch==3.0.0",))
    )
    answer = document(run(tmp_path, "inspect", name, "--json"))["data"]
    assert (answer["project"], answer["variant"], answer["requires"]) == (
        "torchvision",
        "cu132",
        ["torch==3.0.0"],
    )


@pytest.mark.parametrize(
    ("content", "manner", "status", "code"),
    [
        (WHEEL[:-40], "ranges", 2, "wheel-broken"),
        (WHEEL, "liar", 2, "wheel-broken"),
        (b"<html>no</html>", "ranges", 2, "wheel-not-a-zip"),
        (wheel_bytes(members={"../../evil": "x"}), "ranges", 2, "wheel-unsafe-names"),
        (wheel_bytes(members={"torch/version.py": b"x" * (5 << 20)}), "ranges", 2, "wheel-too-large"),
        (WHEEL, "whole", 4, "no-ranges"),
        (WHEEL, "missing", 4, "wheel-unreachable"),
    ],
)
def test_a_bad_wheel_is_one_clear_error_and_nothing_is_written(
    tmp_path: Path, shop: WheelShop, content: bytes, manner: Manner, status: int, code: str
) -> None:
    url = shop.offer(NAME, content, manner=manner)
    done = run(tmp_path, "inspect", url, "--json")
    assert (done.status, document(done)["error"]["code"]) == (status, code)
    outside = [path for path in tmp_path.rglob("*") if "cache" not in path.parts]
    assert outside == []
    if manner == "ranges":
        (tmp_path / NAME).write_bytes(content)
        again = run(tmp_path, "inspect", NAME, "--json")
        assert (again.status, document(again)["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("place", "status", "code"),
    [
        ("nowhere/" + NAME, 2, "no-file"),
        ("torch.zip", 2, "no-wheel-name"),
        ("http://[broken/" + NAME, 2, "no-wheel-name"),
        ("numpy-2.0.0-cp312-cp312-win_amd64.whl", 2, "unknown-project"),
        ("http://127.0.0.1:1/" + NAME, 4, "wheel-unreachable"),
        ("", 2, "no-wheel-name"),
    ],
)
def test_what_is_no_wheel_is_one_clear_error(tmp_path: Path, place: str, status: int, code: str) -> None:
    done = run(tmp_path, "inspect", place, "--json")
    assert (done.status, document(done)["error"]["code"]) == (status, code)
    assert document(done)["error"]["fixes"]


def test_a_refresh_tells_what_it_read(tmp_path: Path, shop: WheelShop) -> None:
    shop.offer("torch-3.0.0+cu132-cp312-cp312-manylinux_2_28_x86_64.whl", wheel_bytes(variant="cu132"))
    dry = run(tmp_path, "refresh", "--index", shop.index, "--only", "torch>=3", "--dry-run")
    assert dry.out.startswith("torch 3.0.0+cu132 linux-64: torch-3.0.0+cu132-")
    done = run(tmp_path, "refresh", "--index", shop.index, "--only", "torch>=3")
    assert (done.status, done.out) == (0, "torch 3.0.0+cu132 linux-64: cu132 sm_80 sm_90 compute_90\n")
    assert "1 wheels read" in done.err
    shown = document(run(tmp_path, "show", "torch", "--json"))["data"]["rows"]
    assert [row["evidence"] for row in shown if row["torch"] == "3.0.0"] == ["wheel"]
    again = document(run(tmp_path, "refresh", "--index", shop.index, "--only", "torch>=3", "--json"))
    assert (again["command"], again["data"]["read"], again["warnings"]) == ("matrix refresh", [], [])


def test_a_refresh_without_an_index_ends_with_4(tmp_path: Path) -> None:
    done = run(tmp_path, "refresh", "--index", "http://127.0.0.1:1/simple", "--json")
    assert (done.status, document(done)["error"]["code"]) == (4, "no-index")
    bad = run(tmp_path, "refresh", "--only", "torch>>1", "--json")
    assert (bad.status, document(bad)["error"]["code"]) == (2, "bad-requirement")


def test_a_build_for_rocm_tells_its_chips(tmp_path: Path, shop: WheelShop) -> None:
    """The list is read by ranges, and each chip named with its products."""
    name = "torch-2.13.0+rocm7.2-cp312-cp312-manylinux_2_28_x86_64.whl"
    wheel = wheel_bytes(version="2.13.0", variant="rocm7.2", flags="gfx90a gfx1100", requires=())
    answer = document(run(tmp_path, "inspect", shop.offer(name, wheel), "--json"))["data"]
    assert (answer["variant"], answer["targets"], answer["evidence"]) == (
        "rocm7.2",
        ["gfx90a", "gfx1100"],
        "wheel",
    )
    assert [row["architecture"] for row in answer["chips"]] == ["gfx90a", "gfx1100"]
    (tmp_path / name).write_bytes(wheel)
    words = run(tmp_path, "inspect", name).out
    assert "compiled for gfx90a gfx1100" in words
    assert "runs on Navi 31 (gfx1100): Radeon RX 7900" in words


def test_a_build_for_rocm_without_a_list_is_read_up_to_its_kernels(tmp_path: Path) -> None:
    """Only when asked for: the kernels are many megabytes in."""
    name = "torch-2.13.0+rocm7.2-cp312-cp312-linux_x86_64.whl"
    kernels = b"\x7fELF" + packed_bundle("gfx906", "gfx1030") + bytes(70_000)
    members = {"torch/lib/libtorch_hip.so": kernels + random.Random(1).randbytes(500_000)}  # noqa: S311
    wheel = wheel_bytes(version="2.13.0", variant="rocm7.2", flags=None, requires=(), members=members)
    (tmp_path / name).write_bytes(wheel)
    answer = document(run(tmp_path, "inspect", name, "--json"))["data"]
    assert (answer["targets"], answer["evidence"]) == ([], "assumed")
    answer = document(run(tmp_path, "inspect", name, "--thorough", "--json"))["data"]
    assert answer["targets"] == ["gfx906", "gfx1030"]


@pytest.mark.slow
def test_builds_for_xpu_and_macos_tell_what_they_need(tmp_path: Path) -> None:
    """The targets of XPU, and the least macOS by the tag."""
    name = "torch-2.13.0+xpu-cp312-cp312-manylinux_2_28_x86_64.whl"
    wheel = wheel_bytes(version="2.13.0", variant="xpu", flags="pvc bmg dg2", requires=())
    (tmp_path / name).write_bytes(wheel)
    answer = document(run(tmp_path, "inspect", name, "--json"))["data"]
    assert (answer["variant"], answer["targets"]) == ("xpu", ["pvc", "bmg", "dg2"])
    assert "20.1.0" in [row["architecture"] for row in answer["chips"]]
    mac = "torch-2.12.0-cp312-none-macosx_14_0_arm64.whl"
    (tmp_path / mac).write_bytes(wheel_bytes(version="2.12.0", variant=None, flags=None, requires=()))
    answer = document(run(tmp_path, "inspect", mac, "--json"))["data"]
    assert (answer["platform"], answer["least_macos"]) == ("osx-arm64", "14.0")
