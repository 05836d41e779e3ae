"""What comes along unasked and what is left out, and PyPI's build where no CPU build can be reached."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Done, Program

H100 = ("--driver", "535.104.05", "--gpu", "9.0", "--glibc", "2.35", "--python", "3.12")
NO_GPU = pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a GPU")
TORCH = "torch-2.13.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
NUMPY = "numpy-2.1.0-cp312-cp312-manylinux_2_17_x86_64.whl"


def warned(done: Done) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in done.envelope["warnings"]}


@NO_GPU
def test_without_a_gpu_and_a_cpu_build_the_build_of_pypi_is_planned_and_said(
    program: Program, server: IndexServer
) -> None:
    done = program.run("plan", "--json", "--mirror", server.pypi)
    assert (done.status, done.torch, done.data["variant"]) == (0, "2.15.0", "cu132")
    facts = warned(done)
    assert "cpu" not in facts
    assert "download.pytorch.org/whl/cpu" in facts["cuda-build-on-cpu"]
    text = program.run("plan", "--mirror", server.pypi)
    assert (text.status, text.out.splitlines()[0][:11]) == (0, "on the CPU:")


@NO_GPU
def test_a_cpu_build_that_was_asked_for_is_refused_with_the_way_out(
    program: Program, server: IndexServer
) -> None:
    done = program.run("plan", "--json", "--cuda", "cpu", "--mirror", server.pypi)
    assert done.status == 3
    commands = [shlex.split(fix["command"]) for fix in done.error["fixes"] if fix["command"]]
    assert ["gpuenv", "plan", "--mirror", server.pypi] in commands


@pytest.mark.parametrize("capability", ["3.0", "6.1"])
def test_with_a_gpu_nothing_is_planned_for_the_cpu(
    program: Program, server: IndexServer, capability: str
) -> None:
    words = ("torch>=2.13", "--driver", "470.57.02", "--gpu", capability, "--mirror", server.pypi)
    done = program.run("plan", "--json", *words)
    assert done.status == 3
    assert "cuda-build-on-cpu" not in done.out


@pytest.mark.slow
def test_a_wheelhouse_that_has_torch_alone_is_enough(program: Program, tmp_path: Path) -> None:
    (tmp_path / TORCH).touch()
    words = ("--json", "--find-links", tmp_path, "--offline", *H100)
    done = program.run("plan", *words)
    assert [package["name"] for package in done.data["packages"]] == ["torch"]
    assert (done.torch, done.data["requirements"]) == ("2.13.0+cu126", [])
    assert warned(done)["left-out"].startswith("torchvision and numpy were omitted: ")
    (tmp_path / NUMPY).touch()
    with_numpy = program.run("plan", *words)
    assert with_numpy.data["requirements"] == ["numpy"]
    message = warned(with_numpy)["left-out"]
    assert message.startswith("torchvision was omitted: ")
    assert "torch torchvision" in message
    assert "--offline" not in message
    typed = program.run("plan", "torch", "torchvision", *words)
    assert "left-out" not in typed.out  # what somebody typed is required


@pytest.mark.slow
def test_a_numpy_that_does_not_fit_does_not_come_along(program: Program, tmp_path: Path) -> None:
    (tmp_path / TORCH).touch()
    (tmp_path / NUMPY.replace("cp312", "cp311")).touch()
    words = ("--json", "--find-links", tmp_path, "--offline", *H100)
    assert "no wheel of numpy for Python 3.12" in warned(program.run("plan", *words))["left-out"]


@pytest.mark.slow
def test_what_is_made_looks_whether_the_index_has_numpy(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    words = ("--driver", "535.104.05", "--gpu", "9.0", *mirrors)
    shown = program.run("plan", "--json", *words)
    assert shown.data["requirements"] == ["numpy"]
    assert "/simple/numpy/" not in server.count()
    made = program.run("create", "env", "--dry-run", "--json", *words)
    assert made.data["requirements"] == []
    assert "numpy was omitted: no wheel of numpy" in warned(made)["left-out"]
