"""The decisions that gpuenv is held to, against indexes that list what is published."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from running import Done, Program

WITH_GPU = Path("/dev/nvidiactl").exists()

# driver, GPUs, the torch that is planned
MACHINES = (
    ("470.256.02", ("Tesla K80",), "2.3.1+cu118"),  # the last cu118 build with cuDNN 8, which has Kepler
    ("580.95.05", ("GeForce GTX 1080 Ti",), "2.14.1+cu126"),
    ("535.183.01", ("Tesla P100",), "2.14.1+cu126"),
    ("535.183.01", ("Tesla V100",), "2.14.1+cu126"),
    ("580.95.05", ("Tesla V100",), "2.14.1+cu126"),
    ("450.80.02", ("Tesla V100",), "2.7.1+cu118"),
    ("460.91.03", ("GeForce RTX 3080 Ti",), "2.7.1+cu118"),
    ("470.256.02", ("A100",), "2.7.1+cu118"),
    ("525.60.11", ("GeForce RTX 4090",), "2.7.1+cu118"),
    ("525.60.13", ("Tesla T4",), "2.14.1+cu126"),
    ("550.54.14", ("GeForce RTX 4090",), "2.14.1+cu126"),
    ("535.104.05", ("H100",), "2.14.1+cu126"),
    ("570.133.07", ("GeForce RTX 3080 Ti",), "2.14.1+cu126"),
    ("570.133.07", ("GeForce RTX 5090",), "2.13.0+cu129"),
    ("570.133.07", ("B200",), "2.13.0+cu129"),
    ("580.95.05", ("GeForce RTX 5090",), "2.15.0+cu130"),
    ("580.95.05", ("H100",), "2.15.0+cu130"),
    ("535.183.01", ("Tesla V100", "A100"), "2.14.1+cu126"),
)

# driver, GPUs, what is asked for, what the refusal must name
REFUSALS = (
    ("418.87.01", ("Tesla T4",), ("--python", "3.11"), ("418.87.01", "450.80.02")),
    ("580.95.05", ("GeForce GTX 1080", "GeForce RTX 5090"), (), ("6.1", "12.0")),
    ("535.104.05", ("9.0",), ("torch==2.15.0",), ("580.65.06", "535.104.05", "torch==2.14.1")),
    ("450.80.02", ("Tesla V100",), ("torch==2.12.0",), ("450.80.02", "torch==2.7.1")),
    ("570.133.07", ("GeForce RTX 5090",), ("torch>=2.14",), ("580.65.06", "torch==2.13.0")),
    ("580.95.05", ("GeForce RTX 5090",), ("torch==1.13.1",), ("12.0", "torch==2.7.0")),
)


def described(driver: str, gpus: tuple[str, ...]) -> tuple[str, ...]:
    return ("--driver", driver, *(word for gpu in gpus for word in ("--gpu", gpu)))


def local_variant(done: Done) -> str:
    return done.torch.partition("+")[2]


@pytest.mark.parametrize(("driver", "gpus", "torch"), MACHINES)
def test_the_newest_build_that_works_is_planned(
    shared: Program, mirrors: tuple[str, ...], driver: str, gpus: tuple[str, ...], torch: str
) -> None:
    done = shared.run("plan", "--json", *described(driver, gpus), *mirrors)
    assert done.torch == torch
    assert done.data["variant"] == local_variant(done)
    assert done.package("torchvision")["version"].endswith(f"+{local_variant(done)}")
    assert all(package["url"] and package["filename"] for package in done.data["packages"])


@pytest.mark.parametrize(("driver", "gpus", "asked", "named"), REFUSALS)
def test_what_can_not_work_is_refused_with_fixes_that_do(
    shared: Program,
    mirrors: tuple[str, ...],
    driver: str,
    gpus: tuple[str, ...],
    asked: tuple[str, ...],
    named: tuple[str, ...],
) -> None:
    refused = shared.run("plan", *asked, "--json", *described(driver, gpus), *mirrors)
    assert refused.status == 3
    error = refused.error
    assert error["because"]
    assert all(reason["text"] and reason["source"] for reason in error["because"])
    commands = [fix["command"] for fix in error["fixes"] if fix["command"]]
    assert all(word in json.dumps(error) for word in named)
    assert commands or "update the driver" in json.dumps(error)
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "gpuenv"
        mended = shared.run(*arguments, "--json")
        assert mended.status == 0, mended.out
        assert mended.data["variant"] != "cpu"


def test_old_papers_get_the_build_of_their_time(shared: Program, mirrors: tuple[str, ...]) -> None:
    machine = described("570.133.07", ("GeForce RTX 3080 Ti",))
    done = shared.run("plan", "torch==1.7.1", "--json", *machine, *mirrors)
    assert done.torch == "1.7.1+cu110"
    assert done.data["python"] in {"3.6", "3.7", "3.8", "3.9"}


@pytest.mark.parametrize("gpu", ["Tesla T4", "GeForce RTX 3080 Ti"])
def test_a_refusal_says_which_files_there_are(shared: Program, mirrors: tuple[str, ...], gpu: str) -> None:
    machine = described("570.133.07", (gpu,))
    words = ("torch==1.11.0", "--cuda", "10.2", "--python", "3.11")
    done = shared.run("plan", *words, "--json", *machine, *mirrors)
    assert done.status == 3
    message = json.dumps(done.error)
    assert "3.11" in message or "8.6" in message
    assert "1.11.0" in message


@pytest.mark.parametrize(
    ("driver", "gpus", "torch"),
    [
        ("535.104.05", (FakeGpu("NVIDIA H100 PCIe", "9.0"),), "2.14.1+cu126"),
        ("470.256.02", (FakeGpu("Tesla K80", "3.7"), FakeGpu("Tesla K80", "3.7")), "2.3.1+cu118"),
        ("450.80.02", (FakeGpu("Tesla V100-SXM2-16GB", "7.0"),), "2.7.1+cu118"),
        ("580.95.05", (FakeGpu("NVIDIA GeForce RTX 5090", "12.0"),), "2.15.0+cu130"),
    ],
)
def test_nvidia_smi_is_believed(
    program: Program, mirrors: tuple[str, ...], driver: str, gpus: tuple[FakeGpu, ...], torch: str
) -> None:
    fake_nvidia_smi(program.bin, driver, *gpus)
    done = program.run("plan", "--json", *mirrors)
    assert done.torch == torch
    machine = done.data["machines"][0]
    assert machine["driver"]["version"] == driver
    assert [gpu["compute_capability"] for gpu in machine["gpus"]] == [gpu.capability for gpu in gpus]


def test_nvidia_smi_that_fails_is_a_refusal_with_the_repair(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    broken_nvidia_smi(program.bin, words, 9)
    done = program.run("plan", "--json", *mirrors)
    assert done.status == 3
    assert done.error["because"]
    assert any("--cuda cpu" in fix["text"] for fix in done.error["fixes"])
    detected = program.run("detect", "--json")
    assert detected.data["problems"]
    assert program.run("plan", "--json", "--cuda", "cpu", *mirrors).torch == "2.15.0+cpu"


@pytest.mark.skipif(WITH_GPU, reason="this machine has a GPU")
def test_a_machine_without_gpu_gets_a_cpu_build_and_is_told(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    done = program.run("plan", "--json", *mirrors)
    assert done.torch == "2.15.0+cpu"
    assert done.envelope["warnings"]
    answer = program.run("plan", *mirrors)
    assert "CPU" in answer.out.splitlines()[0]


def test_only_the_devices_that_are_named_count(shared: Program, mirrors: tuple[str, ...]) -> None:
    machine = described("580.95.05", ("GeForce GTX 1080", "GeForce RTX 5090"))
    assert shared.run("plan", "--json", "--device", "1", *machine, *mirrors).torch == "2.15.0+cu130"


@pytest.mark.slow
def test_detect_on_one_machine_is_planned_for_on_another(
    tmp_path: Path, program: Program, shared: Program, mirrors: tuple[str, ...]
) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("NVIDIA H100 PCIe", "9.0"))
    saved = tmp_path / "node7.json"
    saved.write_text(program.run("detect", "--json").out, encoding="utf-8")
    assert shared.run("plan", "--json", "--machine", saved, *mirrors).torch == "2.14.1+cu126"
    piped = shared.run("plan", "--json", "--machine", "-", *mirrors, stdin=saved.read_text(encoding="utf-8"))
    assert piped.torch == "2.14.1+cu126"
    by_powershell = tmp_path / "utf-16.json"
    by_powershell.write_text(saved.read_text(encoding="utf-8"), encoding="utf-16")
    assert shared.run("plan", "--json", "--machine", by_powershell, *mirrors).torch == "2.14.1+cu126"


def test_one_plan_works_on_several_machines(
    tmp_path: Path, program: Program, shared: Program, mirrors: tuple[str, ...]
) -> None:
    saved = []
    for driver, gpu in (
        ("580.95.05", FakeGpu("NVIDIA H100 PCIe", "9.0")),
        ("535.183.01", FakeGpu("V100", "7.0")),
    ):
        fake_nvidia_smi(program.bin, driver, gpu)
        file = tmp_path / f"{driver}.json"
        file.write_text(program.run("detect", "--json").out, encoding="utf-8")
        saved += ["--machine", file]
    done = shared.run("plan", "--json", *saved, *mirrors)
    assert done.torch == "2.14.1+cu126"
    assert len(done.data["machines"]) == 2


@pytest.mark.slow
def test_machines_share_a_python_whatever_its_patch_release(
    tmp_path: Path, program: Program, shared: Program, mirrors: tuple[str, ...]
) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("NVIDIA H100 PCIe", "9.0"))
    document = json.loads(program.run("detect", "--json").out)
    saved: list[str | Path] = []
    for versions in (("3.12.1", "3.11.4"), ("3.13.0", "3.11.9")):
        pythons = [{"version": each, "path": f"/{each}", "free_threaded": False} for each in versions]
        document["data"]["pythons"] = pythons
        file = tmp_path / f"{versions[0]}.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        saved += ["--machine", file]
    done = shared.run("plan", "--json", *saved, *mirrors)
    assert done.data["python"] == "3.11"
    assert done.envelope["warnings"] == []


def test_pip_can_be_planned_for_a_machine_whose_pythons_are_not_known(
    shared: Program, mirrors: tuple[str, ...]
) -> None:
    machine = described("580.95.05", ("9.0",))
    done = shared.run("plan", "--json", "--manager", "pip", "--platform", "win-64", *machine, *mirrors)
    assert done.torch == "2.15.0+cu130"
    assert done.package("torch")["filename"].endswith("-win_amd64.whl")
