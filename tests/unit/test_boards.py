"""Boards before Thor need NVIDIA's own wheels, however they are named; Thor and desktop cards do not."""

from __future__ import annotations

import pytest
from deciding import machine
from msgspec.structs import replace

from gpuenv.host.describe import describe_machine
from gpuenv.knowledge.jetson_boards import with_board_told
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.machine import Gpu, Machine
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.target import choose_target

KNOWLEDGE = load_knowledge()


def described(gpu: str, platform: str | None) -> Machine:
    made = describe_machine(
        None, driver=None, gpus=(gpu,), platform=platform, glibc=None, knowledge=KNOWLEDGE
    )
    return with_board_told(made, KNOWLEDGE)


@pytest.mark.parametrize("platform", [None, "linux-aarch64"])
@pytest.mark.parametrize(
    "gpu", ["Jetson AGX Orin", "8.7", "Jetson Xavier NX", "7.2", "Jetson Nano", "5.3", "Jetson TX2", "6.2"]
)
def test_a_board_before_thor_is_refused_with_the_wheels_that_it_needs(gpu: str, platform: str | None) -> None:
    with pytest.raises(Unsatisfiable, match="install NVIDIA's wheels for its JetPack") as raised:
        choose_target((described(gpu, platform),), (), cpu=False)
    assert raised.value.code == "tegra"
    assert raised.value.because[0].source


@pytest.mark.parametrize("gpu", ["11.0", "8.6", "GeForce RTX 3080 Ti", "GB200"])
def test_any_other_gpu_can_be_planned_for(gpu: str) -> None:
    assert choose_target((described(gpu, "linux-aarch64"),), (), cpu=False).gpus


def test_what_the_driver_calls_the_gpu_of_a_board_tells_it() -> None:
    orin = machine({"driver": "540.4.0", "gpus": ["?Orin (nvgpu)"], "platform": "linux-aarch64"})
    assert [problem.code for problem in with_board_told(orin, KNOWLEDGE).problems] == ["tegra"]
    assert with_board_told(replace(orin, gpus=(Gpu(0, None, None),)), KNOWLEDGE).problems == ()


def test_a_board_is_told_once() -> None:
    reported = described("8.7", "linux-aarch64")
    assert with_board_told(reported, KNOWLEDGE) == reported
    assert choose_target((reported,), (), cpu=True).gpus == ()
