"""What doctor gives to be pasted: commands that can help where they are given, and none elsewhere."""

from __future__ import annotations

import shlex

import pytest
from msgspec.structs import replace

from gpuenv import matrices
from gpuenv.checks.diagnosis import CheckVerdict, diagnose
from gpuenv.doctor.repair_steps import Repair, what_repairs
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.findings import (
    CondaPackage,
    Dist,
    Findings,
    Interpreter,
    KernelFindings,
    PciDevice,
    TorchFiles,
)
from gpuenv.model.machine import Driver, DriverVersion, Gpu, Machine, System, Toolkit
from gpuenv.model.variant import CudaVersion
from gpuenv.planning.load_knowledge import load_knowledge

PLACE, USER_SITE = "/my envs/e/site", "/home/u/.local"
MACHINE = Machine(
    System("linux", "x86_64", "glibc", "2.39"),
    Driver(DriverVersion("570.133.07"), CudaVersion(12, 8)),
    (Gpu(0, "NVIDIA L4", ComputeCapability(8, 9)),),
)
PYTHON = Interpreter(
    "/my envs/e/bin/python", "3.12.4", "/my envs/e", "/usr", "x86_64", 64,
    packages=(PLACE,), user_site=USER_SITE,
)  # fmt: skip
BARE = Findings("/my envs/e", MACHINE, PYTHON)
PIP = Dist("pip", "25.0", PLACE)
TORCH = TorchFiles(PLACE, "2.7.1+cu126", "cu126", architectures=("sm_80", "sm_89"))
WITH_TORCH = replace(BARE, torch=TORCH, dists=(Dist("torch", "2.7.1+cu126", PLACE, "uv"),))
QUOTED = "'/my envs/e/bin/python'"


def told(findings: Findings, check: str) -> CheckVerdict:
    diagnosis = diagnose(findings, load_knowledge(), matrices.load("checks"))
    return next(verdict for verdict in diagnosis.checks if verdict.id == check)


def words(findings: Findings, check: str) -> list[str]:
    return shlex.split(told(findings, check).command or "")


# An environment has pip, or uv installs into it.


def test_onnxruntime_is_mended_by_the_pip_that_is_there_else_by_uv() -> None:
    both = (Dist("onnxruntime", "1.20", PLACE), Dist("onnxruntime-gpu", "1.20", PLACE))
    with_pip = replace(WITH_TORCH, dists=(*WITH_TORCH.dists, *both, PIP))
    assert told(with_pip, "D60").command == (
        f"{QUOTED} -m pip uninstall -y onnxruntime onnxruntime-gpu && {QUOTED} -m pip install onnxruntime-gpu"
    )
    for others in ((), (replace(PIP, place=USER_SITE),)):
        without = replace(WITH_TORCH, dists=(*WITH_TORCH.dists, *both, *others))
        assert told(without, "D60").command == (
            f"uv pip uninstall --python {QUOTED} onnxruntime onnxruntime-gpu && "
            f"uv pip install --python {QUOTED} onnxruntime-gpu"
        )


@pytest.mark.parametrize(("dists", "manager"), [((), "uv"), ((PIP,), "pip")])
def test_where_torch_is_lacking_the_command_installs_what_fits(dists: tuple[Dist, ...], manager: str) -> None:
    values = words(replace(BARE, dists=dists), "D39")
    plan, install = values[: values.index("&&")], values[values.index("&&") + 1 :]
    assert plan[:2] == ["gpuenv", "plan"]
    assert plan[2:6] == ["--python", "3.12", "--manager", manager]
    assert install[-2:] == ["-r", plan[-1]]
    assert PYTHON.path in install
    only_user = replace(BARE, foreign_torch=(("/u/torch", "user-only"),), dists=dists)
    assert words(only_user, "D38") == values


def test_the_systems_python_gets_an_environment() -> None:
    locked = replace(BARE, python=replace(PYTHON, locked="/usr/lib/EXTERNALLY-MANAGED"))
    assert told(locked, "D39").command == "gpuenv create NAME"


def test_no_command_asks_a_pip_that_may_not_be_there() -> None:
    commands = [case["command"] or "" for row in matrices.load("checks") for case in row["cases"].values()]
    assert [command for command in commands if "-m pip" in command] == []
    assert [command for command in commands if "conda install -c" in command] == []


# conda is for conda's environments.


def test_a_toolkit_is_condas_to_install_where_conda_is() -> None:
    other = replace(
        WITH_TORCH,
        machine=replace(MACHINE, toolkit=Toolkit(CudaVersion(11, 8), "/usr/local/cuda/bin/nvcc")),
        variables=(("CUDA_HOME", "/usr/local/cuda"),),
    )
    assert told(other, "D42").verdict == "warning"
    assert told(other, "D42").command is None
    condas = replace(other, conda=(CondaPackage("python", "3.12.4", "h1_0"),))
    assert told(condas, "D42").command == "conda install -p '/my envs/e' -c conda-forge cuda-nvcc=12.6"


# A distribution's own commands.


@pytest.mark.parametrize(
    ("distribution", "command"),
    [
        (("ubuntu", "debian"), "sudo ubuntu-drivers install"),
        (("linuxmint", "ubuntu", "debian"), "sudo ubuntu-drivers install"),
        (("debian",), None),
        (("fedora",), None),
        ((), None),
    ],
)
def test_a_driver_is_installed_as_the_distribution_does_it_or_by_hand(
    distribution: tuple[str, ...], command: str | None
) -> None:
    lacking = replace(
        BARE,
        machine=replace(MACHINE, driver=None, gpus=()),
        pci=(PciDevice("10de", "27b8", "030000"),),
        distribution=distribution,
    )
    verdict = told(lacking, "D03")
    assert (verdict.verdict, verdict.command) == ("problem", command)
    assert verdict.fix


def test_a_module_is_built_anew_with_apt_on_debians_kin_alone() -> None:
    lacking = replace(
        BARE,
        machine=replace(MACHINE, driver=None, gpus=()),
        pci=(PciDevice("10de", "27b8", "030000"),),
        kernel=KernelFindings(
            "6.8.0", built=False, built_for=("6.7.0",), libraries=("/usr/lib64/libcuda.so.1",)
        ),
    )
    assert told(lacking, "D20").command is None
    assert "apt install" in (told(replace(lacking, distribution=("debian",)), "D20").command or "")


def test_every_command_of_a_distribution_says_of_which() -> None:
    own = ("apt ", "ubuntu-drivers", "update-initramfs", "shim-signed", "dnf ", "pacman ", "zypper ")
    unsaid = [
        (row["id"], name)
        for row in matrices.load("checks")
        for name, case in row["cases"].items()
        if any(word in (case["command"] or "") for word in own) != ("@" in name)
    ]
    assert unsaid == []


# One torch over another.

STALE = Dist("torch", "2.4.0+cu121", PLACE, "pip", requires=("nvidia-cudnn-cu12==9.1.0.70",))
TWO = replace(WITH_TORCH, dists=(STALE, *WITH_TORCH.dists))


def test_a_torch_over_another_is_told_as_that() -> None:
    verdict = told(TWO, "D44")
    assert verdict.verdict == "problem"
    assert "2.4.0+cu121, 2.7.1+cu126" in str(verdict.cause)
    assert told(TWO, "D30").verdict != "problem"  # which the torch that is there asks for nothing of
    diagnosis = diagnose(TWO, load_knowledge(), matrices.load("checks"))
    repair = what_repairs(diagnosis, TWO)
    assert isinstance(repair, Repair)
    assert repair.reinstall == ("torch",)
    assert repair.attempts[0] == ("torch==2.7.1",)


@pytest.mark.parametrize(
    "other",
    [
        replace(STALE, place=USER_SITE),  # which has its own check
        replace(STALE, installer="conda"),  # so has this
        replace(STALE, version="2.7.1+cu126"),  # an egg-info beside the dist-info
        replace(STALE, name="flit-core"),
    ],
)
def test_what_lies_elsewhere_or_is_of_one_version_is_not_over_another(other: Dist) -> None:
    assert "over another" not in str(told(replace(WITH_TORCH, dists=(*WITH_TORCH.dists, other)), "D44").cause)
