"""What a plan says of its companions: by what each was paired, where its metadata names no one torch."""

from __future__ import annotations

from typing import Any

import pytest
from deciding import Asked, Outcome, decided, gpu_machine, machine

from gpuenv.formats.text import render_text
from gpuenv.model.errors import Because


def outcome_of(*requirements: str, gpu: str = "NVIDIA H100") -> Outcome:
    return decided(Asked((gpu_machine("580.95.05", gpu),), requirements))


def told(project: str, *requirements: str, gpu: str = "NVIDIA H100") -> list[Because]:
    outcome = outcome_of("torch", *requirements, gpu=gpu)
    assert outcome.plan is not None
    return [reason for reason in outcome.plan.why if reason.text.startswith(f"{project} ")]


@pytest.mark.parametrize(
    ("requirements", "text"),
    [
        (
            ("torchvision",),
            "torchvision 0.29.2 is compatible with torch 2.15.0 according to the CUDA in its `version.py`",
        ),
        (("torchaudio",), "torchaudio 2.11.0 is compatible with torch 2.15.0 according to its project"),
        (
            ("xformers",),
            "xformers 0.0.35 is compatible with torch 2.14.1 according to the CUDA in its `cpp_lib.json`",
        ),
        (
            ("torchvision==0.29.2", "torch==2.14.1"),
            "torchvision 0.29.2 is compatible with torch 2.14.1 according to the lower bound",
        ),
    ],
)
def test_a_pair_that_metadata_does_not_decide_is_explained(requirements: tuple[str, ...], text: str) -> None:
    (reason,) = told(requirements[0].partition("==")[0], *requirements)
    assert reason.text.startswith(text)
    assert reason.source


@pytest.mark.parametrize(
    ("project", "requirements"),
    [
        ("torchvision", ("torchvision", "torch==2.13.0")),
        ("xformers", ("xformers", "torch==2.8.0")),
        ("torchdata", ("torchdata",)),  # it holds no CUDA code: any bound will do
    ],
)
def test_one_that_pins_its_torch_needs_no_words(project: str, requirements: tuple[str, ...]) -> None:
    assert told(project, *requirements) == []


def test_a_cpu_plan_tells_it_too() -> None:
    outcome = decided(Asked((gpu_machine("580.95.05", "NVIDIA H100"),), ("torch", "torchvision"), cuda="cpu"))
    assert outcome.plan is not None
    assert any("torchvision 0.29.2 is compatible with" in reason.text for reason in outcome.plan.why)


def test_it_is_said_only_where_reasons_are_asked_for() -> None:
    plan = outcome_of("torch", "torchvision").plan
    assert plan is not None
    assert "according to the CUDA in its `version.py`" in render_text(plan, verbose=True)
    assert "version.py" not in render_text(plan)


def test_kernels_that_the_driver_compiles_are_warned_of() -> None:
    plan = outcome_of("torch", "xformers", gpu="GeForce RTX 5090").plan
    assert plan is not None
    (warning,) = [item for item in plan.warnings if item.code == "ptx"]
    assert "runs xformers 0.0.35 through PTX" in warning.message


@pytest.mark.parametrize(
    ("where", "floor"),
    [
        ({"driver": "535.104.05"}, "525.60.13"),
        ({"driver": "531.79", "wsl": True}, "527.41"),
        ({"driver": "531.79", "platform": "win-64"}, "527.41"),
    ],
)
def test_a_build_for_a_newer_cuda_than_the_drivers_says_why_it_works(
    where: dict[str, Any], floor: str
) -> None:
    """One line of the plan, with the floor of the system whose driver it is; its source with the reasons."""
    requested = Asked((machine({**where, "gpus": ["NVIDIA H100"]}),), ("torch==2.14.1",))
    plan = decided(requested).plan
    assert plan is not None
    (reason,) = plan.compatibility
    driver = plan.machines[0].driver
    assert driver is not None
    assert reason.text == (
        f"CUDA 12.6 build on a driver for CUDA {driver.cuda}: "
        f"works by CUDA minor-version compatibility (driver >= {floor})"
    )
    assert reason in plan.why
    assert reason.source.startswith("docs.nvidia.com/")
    assert reason.source.endswith("; nvidia-smi")
    assert [line.strip() for line in render_text(plan).splitlines()].count(reason.text) == 1


@pytest.mark.parametrize("short", [{"driver": "570.133.07", "gpus": ["NVIDIA H100"]}, {}])
def test_a_driver_of_the_builds_own_cuda_needs_no_words(short: dict[str, Any]) -> None:
    plan = decided(Asked((machine(short),), ("torch==2.14.1",), cuda=None if short else "cpu")).plan
    assert plan is not None
    assert plan.compatibility == ()
