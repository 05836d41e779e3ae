"""Rule `driver`: the floors of CUDA, by system, and how they are told."""

from __future__ import annotations

import pytest
from building import case, on, target
from deciding import gpu_machine

from gpuenv.model.variant import parse_cuda_version
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.rules import driver

KNOWLEDGE = load_knowledge()


@pytest.mark.parametrize(
    ("stated", "variant", "fits"),
    [
        ("525.60.13", "cu126", True),
        ("525.60.11", "cu126", False),
        ("450.80.02", "cu118", True),
        ("450.80.01", "cu118", False),
        ("450.51.06", "cu110", True),  # the release's own floor lies below its family's
        ("580.65.06", "cu132", True),
        ("580.65.05", "cu130", False),
        ("440.33.01", "cu102", True),
        ("440.32", "cu102", False),
        ("418.39", "cu101", True),
        ("999.99", "cu101", True),
    ],
)
def test_a_build_needs_the_floor_of_its_family_or_of_its_release(
    stated: str, variant: str, fits: bool
) -> None:
    assert bool(driver.check(case("1", variant), on(stated, "8.0"), KNOWLEDGE)) is not fits


@pytest.mark.parametrize("short", [{"wsl": True}, {"platform": "win-64"}])
def test_under_wsl2_and_on_windows_the_floors_of_windows_count(short: dict[str, object]) -> None:
    assert driver.check(case("2", "cu126"), on("527.40", "8.0", **short), KNOWLEDGE)
    assert not driver.check(case("2", "cu126"), on("527.41", "8.0", **short), KNOWLEDGE)


def test_a_cpu_build_a_machine_without_gpu_and_an_unstated_driver_need_none() -> None:
    assert not driver.check(case("2", "cpu", ""), on("340.1", "8.0"), KNOWLEDGE)
    assert not driver.check(case("2", "cu132"), on(), KNOWLEDGE)
    assert not driver.check(case("2", "cu132"), on(None, "8.0"), KNOWLEDGE)


def test_drivers_are_told_with_their_zeros_and_their_source() -> None:
    (failure,) = driver.check(case("2", "cu130"), on("535.104.05", "8.0"), KNOWLEDGE)
    assert failure.detail == "CUDA 13.0 needs driver 580.65.06 or newer, this machine has 535.104.05"
    assert "nvidia-smi" in failure.source
    assert failure.summarize((failure,)) == (
        "builds for CUDA 13.0 need driver 580.65.06 or newer; this machine has 535.104.05"
    )


def test_builds_of_one_floor_are_told_together_and_a_long_row_of_floors_is_cut() -> None:
    here = on("390.87", "8.0")
    few = [driver.check(case("2", f"cu{cuda}"), here, KNOWLEDGE)[0] for cuda in (130, 126, 132, 121)]
    assert few[0].summarize(tuple(few)) == (
        "builds for CUDA 12.1 and 12.6 need driver 525.60.13 or newer, those for CUDA 13.0 and 13.2 need "
        "driver 580.65.06 or newer; this machine has 390.87"
    )
    many = [driver.check(case("2", f"cu{cuda}"), here, KNOWLEDGE)[0] for cuda in (92, 100, 101, 102, 118)]
    assert many[0].summarize(tuple(many)) == (
        "builds for CUDA 9.2 need driver 396.37 or newer, those for newer CUDA releases need even newer "
        "drivers; this machine has 390.87"
    )


def test_the_oldest_driver_of_several_machines_counts() -> None:
    several = target(gpu_machine("580.95.05", "8.0"), gpu_machine("535.104.05", "8.0"))
    (failure,) = driver.check(case("2", "cu130"), several, KNOWLEDGE)
    assert failure.detail.endswith("one of the machines has 535.104.05")


def test_a_cuda_without_a_known_floor_fits_no_gpu() -> None:
    (failure,) = driver.check(case("9", "cu990"), on("999.9", "8.0"), KNOWLEDGE)
    assert failure.summarize((failure,)) == "the minimum driver for CUDA 99.0 is not known"


@pytest.mark.parametrize(("cuda", "native"), [("12.2", True), ("12.6", False), ("11.8", True)])
def test_a_driver_is_native_to_the_cuda_it_supports(cuda: str, native: bool) -> None:
    machine = gpu_machine("535.104.05", "8.0")
    assert driver.is_native(parse_cuda_version(cuda), machine, KNOWLEDGE) is native
