"""Machines described by hand: options take the place of facts, the rest stays, and what can't be is said."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.host.describe import describe_machine
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Driver, DriverVersion, FoundPython, Gpu, Machine, Problem, System
from gpuenv.model.variant import CudaVersion

KNOWLEDGE = Knowledge(
    cuda_rows=({"kind": "branch", "os": "linux", "branch": 535, "cuda": "12.2", "source": "test"},),
    gpu_rows=tuple(
        {"name": name, "compute_capability": cc, "pci_ids": [], "preferred": True, "source": "test", **more}
        for name, cc, more in (
            ("NVIDIA GeForce RTX 3080 Ti", "8.6", {}),
            ("NVIDIA GeForce RTX 3080", "8.6", {}),
            ("GeForce GT 730", "3.5", {"note": "same name also sold with compute capability 2.1"}),
        )
    ),
)
BROKEN = Machine(
    System("linux", "x86_64", "glibc", "2.35"),
    Driver(DriverVersion("418.39")),
    pythons=(FoundPython("3.12.4", "/usr/bin/python3.12"),),
    facts=(
        ("driver.version", "/proc/driver/nvidia"),
        ("system.libc_version", "os.confstr"),
        ("gpus", "nvidia-smi"),
    ),
    problems=(Problem("driver-mismatch", "reboot"), Problem("toolkit-unreadable", "reinstall")),
)


def describe(
    base: Machine | None = None,
    *,
    driver: str | None = None,
    gpus: tuple[str, ...] = (),
    platform: str | None = None,
    glibc: str | None = None,
) -> Machine:
    return describe_machine(
        base, driver=driver, gpus=gpus, platform=platform, glibc=glibc, knowledge=KNOWLEDGE
    )


def test_a_name_and_its_capability_mean_the_same() -> None:
    by_name, by_capability = describe(gpus=("GeForce RTX 3080 Ti",)), describe(gpus=("8.6",))

    assert (
        by_name.gpus[0].compute_capability
        == by_capability.gpus[0].compute_capability
        == ComputeCapability(8, 6)
    )
    assert by_capability.source_of("gpus.0.compute_capability") == "option --gpu"
    assert "RTX 3080 Ti" in by_name.source_of("gpus.0.compute_capability")


def test_gpus_are_numbered_in_the_order_given() -> None:
    assert [gpu.index for gpu in describe(gpus=("9.0", "8.6", "12.0")).gpus] == [0, 1, 2]


def test_a_driver_brings_its_cuda() -> None:
    machine = describe(driver="535.104.05", gpus=("9.0",))

    assert machine.driver == Driver(DriverVersion("535.104.05"), CudaVersion(12, 2))
    assert machine.source_of("driver.version") == "option --driver"
    assert machine.source_of("driver.cuda") == "matrix: driver branch 535"


def test_a_gpu_without_driver_assumes_one_and_is_no_machine_without_gpu() -> None:
    machine = describe(gpus=("9.0",))

    assert machine.driver is None
    assert machine.source_of("driver.version").startswith("assumed: new enough")
    assert not machine.without_gpu
    assert machine.blocking_problems == ()


def test_what_is_not_described_stays_as_it_was() -> None:
    machine = describe(BROKEN, gpus=("9.0",), driver="535.104.05")

    assert machine.pythons == BROKEN.pythons
    assert machine.system == BROKEN.system
    assert machine.source_of("system.libc_version") == "os.confstr"
    assert [problem.code for problem in machine.problems] == ["toolkit-unreadable"]
    assert describe(BROKEN) == BROKEN


def test_a_driver_alone_needs_gpus_that_are_known() -> None:
    with_gpu = Machine(System("linux", "x86_64"), gpus=(Gpu(0, "NVIDIA H100", ComputeCapability(9, 0)),))

    assert describe(with_gpu, driver="535.104.05").gpus == with_gpu.gpus
    for base in (None, BROKEN):
        with pytest.raises(UsageError) as caught:
            describe(base, driver="535.104.05")
        assert "--gpu" in caught.value.fixes[0].text


def test_another_platform_drops_what_belongs_to_this_one() -> None:
    machine = describe(BROKEN, platform="win-64", gpus=("8.6",))

    assert (machine.system.os, machine.system.arch, machine.system.libc) == ("windows", "x86_64", None)
    assert machine.pythons == ()
    assert describe(BROKEN, platform="linux-64") == BROKEN


def test_a_broken_machine_stays_broken_on_another_platform() -> None:
    assert not describe(BROKEN, platform="linux-aarch64").without_gpu


def test_glibc_is_an_option_of_linux() -> None:
    machine = describe(BROKEN, glibc="2.17")

    assert machine.system.libc_version == "2.17"
    assert machine.source_of("system.libc_version") == "option --glibc"
    with pytest.raises(UsageError):
        describe(platform="win-64", glibc="2.17")


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("ambiguous-gpu", {"gpus": ("GeForce GT 730",)}),
        ("bad-driver", {"driver": "newest", "gpus": ("8.6",)}),
        ("bad-glibc", {"glibc": "musl"}),
        ("unknown-gpu", {"gpus": ("RTX 3080 Tie",)}),
        ("unknown-platform", {"platform": "freebsd-64"}),
    ],
)
def test_what_cannot_be_read_is_a_usage_error_with_a_fix(code: str, options: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        describe(**options)  # type: ignore[arg-type]

    assert caught.value.code == code
    assert caught.value.exit_code == 2
    assert caught.value.fixes


def test_an_unknown_name_brings_names_that_are_near() -> None:
    with pytest.raises(UsageError) as caught:
        describe(gpus=("RTX 3080 Tie",))

    assert any("RTX 3080" in fix.text for fix in caught.value.fixes)


OPTION = st.none() | st.text(max_size=12) | st.sampled_from(["535.104.05", "2.17", "win-64", "8.6"])


@given(OPTION, st.lists(OPTION.filter(bool), max_size=2), OPTION, OPTION)
def test_any_options_are_a_machine_or_a_usage_error(
    driver: str | None, gpus: list[str], platform: str | None, glibc: str | None
) -> None:
    with suppress(UsageError):
        machine = describe(driver=driver, gpus=tuple(gpus), platform=platform, glibc=glibc)
        assert len(machine.gpus) == len(gpus)
