"""What a plan must work on: the machines, and the GPUs that count."""

from __future__ import annotations

from typing import Any

import pytest
from deciding import gpu_machine, machine
from msgspec.structs import replace

from gpuenv.model.errors import GpuenvError, Unsatisfiable, UsageError
from gpuenv.model.machine import HARMLESS_PROBLEMS, DriverVersion, Gpu, Machine
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.target import Target, choose_target


def capabilities(target: Target) -> list[str]:
    return [str(gpu.capability) for gpu in target.gpus]


@pytest.mark.parametrize(
    ("short", "devices", "expected"),
    [
        ({"gpus": ["6.1", "12.0"]}, (), ["6.1", "12.0"]),
        ({"gpus": ["6.1", "12.0"]}, (1,), ["12.0"]),
        ({"gpus": ["6.1", "12.0"]}, (1, 0, 1), ["12.0", "6.1"]),
        ({"gpus": ["6.1", "12.0"], "hidden": [0]}, (), ["12.0"]),
        ({"gpus": ["6.1", "12.0"], "hidden": [0]}, (0,), ["6.1"]),  # what is named counts, hidden or not
        ({"gpus": ["6.1", "12.0"], "hidden": [0, 1]}, (), ["6.1", "12.0"]),
        ({"gpus": ["6.1", "?mystery"]}, (0,), ["6.1"]),
        ({"gpus": ["6.1"], "problems": ["gpu-lost"]}, (), ["6.1"]),
        ({"gpus": ["6.1"], "problems": ["mig", "vgpu"]}, (), ["6.1"]),
    ],
)
def test_the_gpus_that_count(short: dict[str, Any], devices: tuple[int, ...], expected: list[str]) -> None:
    item = machine({"driver": "535.104.05", **short})
    assert capabilities(choose_target((item,), devices, cpu=False)) == expected


@pytest.mark.parametrize(
    ("short", "code"),
    [
        ({"problems": ["driver-not-loaded"]}, "driver-not-loaded"),
        ({"problems": ["no-driver"]}, "no-driver"),
        ({"problems": ["nvidia-smi-timeout"]}, "nvidia-smi-timeout"),
        ({"problems": ["something-new"]}, "something-new"),
        ({"driver": "535.104.05"}, "no-devices"),
        ({"driver": "535.104.05", "gpus": ["9.0"], "problems": ["driver-mismatch"]}, "driver-mismatch"),
        ({"driver": "540.4.0", "gpus": ["8.7"], "problems": ["tegra"]}, "tegra"),
        ({"gpus": ["?mystery"]}, "capability-unknown"),
    ],
)
def test_hardware_that_cannot_be_used_is_refused_and_never_ends_as_cpu(
    short: dict[str, Any], code: str
) -> None:
    with pytest.raises(Unsatisfiable) as raised:
        choose_target((machine(short),), (), cpu=False)
    assert raised.value.code == code
    assert raised.value.fixes


@pytest.mark.parametrize("problem", sorted(HARMLESS_PROBLEMS))
def test_a_harmless_problem_leaves_a_machine_without_gpu(problem: str) -> None:
    assert choose_target((machine({"problems": [problem]}),), (), cpu=False).gpus == ()


def test_a_cpu_build_that_was_asked_for_needs_no_gpu() -> None:
    assert choose_target((machine({"problems": ["driver-not-loaded"]}),), (), cpu=True).gpus == ()


@pytest.mark.parametrize(
    ("machines", "devices", "error"),
    [
        ((machine({}),), (0,), "no-such-device"),
        ((gpu_machine("535.104.05", "9.0"),), (1,), "no-such-device"),
        ((machine({}), machine({"platform": "win-64"})), (), "mixed-platforms"),
    ],
)
def test_devices_and_machines_must_be_there_and_alike(
    machines: tuple[Machine, ...], devices: tuple[int, ...], error: str
) -> None:
    with pytest.raises(UsageError) as raised:
        choose_target(machines, devices, cpu=False)
    assert raised.value.code == error
    assert raised.value.fixes


@pytest.mark.parametrize("arch", ["riscv64", "ppc64le", ""])
def test_a_platform_without_builds_is_refused(arch: str) -> None:
    with pytest.raises(GpuenvError) as raised:
        choose_target((machine({"arch": arch}),), (), cpu=True)
    assert raised.value.code == "platform-unsupported"


def test_a_newer_driver_is_imagined_only_where_an_older_one_is_stated() -> None:
    several = (
        gpu_machine("535.104.05", "9.0"),
        gpu_machine("595.45.04", "9.0"),
        machine({"gpus": ["9.0"]}),
        gpu_machine("551.61", "8.9", wsl=True),
    )
    changed = choose_target(several, (), cpu=False).with_driver(DriverVersion("580.65.06"), load_knowledge())
    drivers = [str(gpu.machine.driver.version) if gpu.machine.driver else None for gpu in changed.gpus]
    assert drivers == ["580.65.06", "595.45.04", None, "580.65.06"]
    assert [gpu.machine for gpu in changed.gpus] == list(changed.machines)
    assert str(changed.machines[0].driver and changed.machines[0].driver.cuda) == "13.0"


def test_a_gpu_that_answers_with_errors_is_told_and_can_be_left_out() -> None:
    whole = machine({"driver": "570.1", "gpus": ["7.5", "9.0"], "problems": ["gpu-error"]})
    lost = replace(whole, gpus=(whole.gpus[0], Gpu(1, None, None), replace(whole.gpus[1], index=2)))
    with pytest.raises(Unsatisfiable) as raised:
        choose_target((lost,), (), cpu=False)
    assert raised.value.code == "gpu-error"
    assert raised.value.message == "GPU 1 could not be identified"
    assert [fix.text for fix in raised.value.fixes] == ["exclude it with --device 0 --device 2"]
    assert capabilities(choose_target((lost,), (0, 2), cpu=False)) == ["7.5", "9.0"]
