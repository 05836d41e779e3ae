"""Rule `kernels`: what code runs on what GPU."""

from __future__ import annotations

import pytest
from building import case, on, target
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.capability import ComputeCapability, parse_architecture, parse_compute_capability
from gpuenv.model.variant import CudaVersion
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.rules import gpu_code

KNOWLEDGE = load_knowledge()
CAPABILITIES = st.builds(ComputeCapability, st.integers(1, 15), st.integers(0, 9))


@pytest.mark.parametrize(
    ("architecture", "gpu", "runs"),
    [
        ("sm_80", "8.6", True),
        ("sm_86", "8.0", False),
        ("sm_80", "9.0", False),
        ("sm_70", "7.5", True),
        ("sm_90a", "9.0", True),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_120", "12.1", True),
        ("sm_100", "12.0", False),
        ("sm_72", "7.5", False),  # Xavier's code is Xavier's alone
        ("sm_80", "8.7", False),  # Orin runs no other code before CUDA 13.2
        ("sm_87", "8.7", True),
        ("compute_80", "8.0", False),  # PTX is no machine code
    ],
)
def test_machine_code_runs_on_later_gpus_of_its_major_version(
    architecture: str, gpu: str, runs: bool
) -> None:
    code, capability = parse_architecture(architecture), parse_compute_capability(gpu)
    assert gpu_code.runs_machine_code(code, capability, CudaVersion(12, 6), KNOWLEDGE) is runs


def test_orin_runs_code_of_its_generation_from_cuda_13_2() -> None:
    code, orin = parse_architecture("sm_80"), parse_compute_capability("8.7")
    assert gpu_code.runs_machine_code(code, orin, CudaVersion(13, 2), KNOWLEDGE)
    assert not gpu_code.runs_machine_code(code, orin, CudaVersion(13, 0), KNOWLEDGE)


@pytest.mark.parametrize(
    ("architecture", "gpu", "runs"),
    [
        ("compute_80", "12.0", True),
        ("compute_80", "7.5", False),
        ("compute_90a", "10.0", False),
        ("compute_90a", "9.0", True),
        ("compute_100f", "10.3", True),
        ("compute_100f", "12.0", False),
        ("sm_80", "8.0", False),
    ],
)
def test_ptx_runs_on_anything_later(architecture: str, gpu: str, runs: bool) -> None:
    assert gpu_code.runs_ptx(parse_architecture(architecture), parse_compute_capability(gpu)) is runs


@given(CAPABILITIES, CAPABILITIES)
def test_machine_code_never_crosses_a_major_version(one: ComputeCapability, other: ComputeCapability) -> None:
    code = parse_architecture(f"sm_{one.major}{one.minor}")
    if gpu_code.runs_machine_code(code, other, CudaVersion(13, 2), KNOWLEDGE):
        assert (one.major, one.minor) <= (other.major, other.minor)
        assert one.major == other.major


def test_ptx_counts_only_under_a_driver_that_can_compile_it() -> None:
    build = case("2.7.1", "cu128", "sm_90 compute_90")
    assert not gpu_code.check(build, on("570.133.07", "12.0"), KNOWLEDGE)
    (failure,) = gpu_code.check(build, on("550.54.14", "12.0"), KNOWLEDGE)
    assert failure.detail == (
        "torch 2.7.1+cu128 supports 12.0 only through PTX, which needs a driver that supports CUDA 12.8"
    )


def test_the_same_gpu_under_two_drivers_is_judged_under_both() -> None:
    build = case("2.7.1", "cu128", "sm_90 compute_90")
    newer, older = gpu_machine("570.133.07", "12.0"), gpu_machine("550.54.14", "12.0")
    assert gpu_code.check(build, target(newer, older), KNOWLEDGE)
    assert gpu_code.check(build, target(older, newer), KNOWLEDGE)


def test_each_kind_of_gpu_is_told_once() -> None:
    failures = gpu_code.check(case(), on("580.95.05", "6.1", "6.1", "12.0", "9.0"), KNOWLEDGE)
    assert [failure.gpu for failure in failures] == ["6.1", "12.0"]
    assert failures[0].detail == "torch 2.7.1+cu126 has code for sm_80 sm_90, none of which runs on 6.1"


def test_a_build_that_the_matrix_does_not_know_fits_no_gpu() -> None:
    (failure,) = gpu_code.check(case(architectures=""), on("580.95.05", "9.0"), KNOWLEDGE)
    assert failure.detail == "what torch 2.7.1+cu126 is compiled for is not in the matrix"


def test_without_gpus_every_build_has_code_enough() -> None:
    assert not gpu_code.check(case(), on(), KNOWLEDGE)
    assert not gpu_code.check(case("2", "cpu", ""), on("580.95.05", "9.0"), KNOWLEDGE)


def test_of_many_builds_the_first_are_named() -> None:
    here = on("580.95.05", "12.0")
    failures = tuple(gpu_code.check(case(f"1.{minor}"), here, KNOWLEDGE)[0] for minor in range(9))
    assert failures[0].summarize(failures) == (
        "torch 1.0+cu126, torch 1.1+cu126, torch 1.2+cu126, torch 1.3+cu126 and 5 more builds have no code "
        "for 12.0"
    )
