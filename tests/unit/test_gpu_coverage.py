"""What builds do on GPUs, as the page of the matrices tells it, is what the decision goes by."""

from __future__ import annotations

from typing import Any

import pytest
from building import build, on
from deciding import Asked, gpu_machine

from gpuenv.knowledge.records import SYSTEMS, DriverOs
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.machine import Driver, DriverVersion, Machine, System
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.gpu_coverage import (
    Coverage,
    cover,
    driver_need,
    find_generations,
    runs_on,
)
from gpuenv.resolution.resolve import decide
from gpuenv.resolution.rules import driver, gpu_code

KNOWLEDGE = load_knowledge()
JUDGED_HERE = {"driver", "kernels", "library", "platform"}


@pytest.mark.parametrize(
    ("variant", "architectures", "gpu", "facts", "covered"),
    [
        ("cu126", "sm_80 sm_90", "8.6", {}, "native"),
        ("cu128", "sm_90 compute_90", "12.0", {}, "ptx"),
        ("cu126", "sm_80 sm_90", "7.0", {}, "no-code"),
        ("cu126", "sm_80 compute_90", "12.0", {}, "library-before"),
        ("cu118", "sm_37 sm_80", "3.7", {"cudnn": "9.1.0.70"}, "library-left"),
        ("cu118", "sm_37 sm_80", "3.7", {"cudnn": "8.7.0.84"}, "native"),
        ("cu118", "sm_30 compute_30", "3.7", {}, "native"),
        ("cu118", "compute_30", "3.7", {}, "no-driver"),  # no driver for Kepler compiles for CUDA 11.8
        ("cu126", "sm_37", "3.7", {}, "library-left"),  # cuBLAS left it with CUDA 12
        ("cu126", "", "8.6", {}, "unknown"),
        ("cu999", "sm_80", "8.6", {}, "unknown"),  # nobody knows the least driver
    ],
)
def test_a_build_is_covered_or_the_reason_told(
    variant: str, architectures: str, gpu: str, facts: dict[str, Any], covered: Coverage
) -> None:
    made = build("2.7.1", variant, architectures, **facts)
    assert cover(made, parse_compute_capability(gpu), KNOWLEDGE) == covered


@pytest.mark.slow
@pytest.mark.parametrize(
    ("driver_version", "gpus", "short"),
    [
        ("470.256.02", ("3.7",), {}),
        ("535.104.05", ("7.0", "9.0"), {}),
        ("580.95.05", ("6.1",), {"platform": "win-64"}),
        ("535.183.01", ("7.0",), {"glibc": "2.17"}),
        ("580.95.05", ("9.0",), {"platform": "linux-aarch64"}),
        ("550.54.14", ("10.0",), {}),
        ("460.91.03", ("8.6",), {"wsl": True}),
    ],
)
def test_builds_run_where_no_such_rule_of_the_decision_rejects_them(
    driver_version: str, gpus: tuple[str, ...], short: dict[str, Any]
) -> None:
    question = Asked((gpu_machine(driver_version, *gpus, **short),)).question()
    decision = decide(question)
    rejected = {
        (judged.candidate.torch, judged.candidate.variant, judged.candidate.kind)
        for judged in decision.rejected
        if {failure.rule for failure in judged.failures} & JUDGED_HERE
    }
    for solution in decision.choices:
        assert solution.candidate.row is not None
        assert runs_on(solution.candidate.row, question.target, KNOWLEDGE) is (
            solution.candidate.cuda is not None
        )
    for torch_build in KNOWLEDGE.builds_of(question.target.platform):
        if runs_on(torch_build, question.target, KNOWLEDGE):
            assert (torch_build.torch, torch_build.variant, torch_build.index) not in rejected
    assert decision.choices


def test_a_build_for_another_platform_runs_nowhere_else() -> None:
    made = build("2.7.1", "cu126", "sm_80", platform="win-64", tags=("win_amd64",))
    assert not runs_on(made, on("580.95.05", "8.6"), KNOWLEDGE)
    assert runs_on(made, on("580.95.05", "8.6", platform="win-64"), KNOWLEDGE)


def test_the_glibc_counts() -> None:
    assert runs_on(build(), on("580.95.05", "8.6", glibc="2.28"), KNOWLEDGE)
    assert not runs_on(build(), on("580.95.05", "8.6", glibc="2.17"), KNOWLEDGE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_from_the_branch_told_on_every_driver_compiles_ptx(system: DriverOs) -> None:
    """The page compares with one number: below it no branch may be native, above it all must be."""
    for cuda in {torch_build.cuda for torch_build in KNOWLEDGE.builds if torch_build.cuda}:
        need = driver_need(cuda, system, KNOWLEDGE)
        assert need is not None
        assert need.least == getattr(driver.least_driver(cuda, system, KNOWLEDGE), "version", None)
        for branch, _ in KNOWLEDGE.branches[system]:
            machine = Machine(System(system, "x86_64"), Driver(DriverVersion(f"{branch}.10")))
            native = need.branch is not None and branch >= need.branch
            assert driver.is_native(cuda, machine, KNOWLEDGE) is native


def test_every_compute_capability_stands_in_one_generation() -> None:
    generations = find_generations(KNOWLEDGE)
    listed = [capability for item in generations for capability in (*item.capabilities, *item.integrated)]
    assert sorted(listed) == sorted(KNOWLEDGE.generations)
    names = [item.name for item in generations]
    assert names[names.index("Kepler") :] == [
        "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "Rubin",
    ]  # fmt: skip
    assert all(item.capabilities for item in generations)


def test_integrated_devices_stand_apart() -> None:
    ampere = next(item for item in find_generations(KNOWLEDGE) if item.name == "Ampere")
    assert list(map(str, ampere.capabilities)) == ["8.0", "8.6"]
    assert list(map(str, ampere.integrated)) == ["8.7"]


def test_what_covers_natively_is_machine_code_by_the_rule() -> None:
    for torch_build in KNOWLEDGE.builds:
        if torch_build.cuda and torch_build.torch.major > 1 and torch_build.index == "pypi":
            for capability in KNOWLEDGE.generations:
                code = any(
                    gpu_code.runs_machine_code(architecture, capability, torch_build.cuda, KNOWLEDGE)
                    for architecture in torch_build.architectures
                )
                assert code or cover(torch_build, capability, KNOWLEDGE) != "native"
