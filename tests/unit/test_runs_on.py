"""What a wheel runs on agrees with the rules that a plan goes by."""

from __future__ import annotations

from packaging.version import Version

from gpuenv.matrix.inspect_wheel import drivers_for, generations_for
from gpuenv.model.capability import parse_architecture
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import Platform
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.wheels.metadata import WheelFacts, WheelMetadata

KNOWLEDGE = load_knowledge()


def facts(
    architectures: str, variant: str = "cu126", cudnn: str | None = None, platform: Platform = "linux-64"
) -> WheelFacts:
    requires = (f"nvidia-cudnn-{variant[:4]}=={cudnn}",) if cudnn else ()
    listed = tuple(map(parse_architecture, architectures.split()))
    metadata = WheelMetadata("torch", Version("2.7.1"), requires, None)
    return WheelFacts("x.whl", metadata, Version("2.7.1"), Variant(variant), (), (), platform, listed)


def runs_on(wheel: WheelFacts) -> dict[str, list[str]]:
    return {
        f"{item.architecture} {item.through}": list(map(str, item.capabilities))
        for item in generations_for(wheel, KNOWLEDGE)
    }


def test_machine_code_runs_on_later_gpus_of_its_major_version() -> None:
    fields = runs_on(facts("sm_80 sm_90"))
    assert fields["Ampere machine code"] == ["8.0", "8.6"]
    assert fields["Ada machine code"] == ["8.9"]
    assert fields["Hopper machine code"] == ["9.0"]
    assert not any(name.startswith(("Turing", "Blackwell")) for name in fields)


def test_ptx_runs_on_later_generations_that_its_cuda_knew() -> None:
    assert "Blackwell ptx" in runs_on(facts("sm_80 compute_90", "cu128"))
    assert "Blackwell ptx" not in runs_on(facts("sm_80 compute_90", "cu126"))


def test_a_cudnn_that_left_a_generation_behind_counts() -> None:
    assert "Kepler machine code" in runs_on(facts("sm_37 sm_70", "cu118", "8.7.0.84"))
    assert "Kepler machine code" not in runs_on(facts("sm_37 sm_70", "cu118", "9.1.0.70"))


def test_a_linux_wheel_runs_under_windows_drivers_too() -> None:
    linux, windows = drivers_for(facts("sm_80"), KNOWLEDGE)
    assert (linux.os, str(linux.least), str(linux.native)) == ("linux", "525.60.13", "560.35.05")
    assert windows.os == "windows"
    assert [item.os for item in drivers_for(facts("sm_80", platform="win-64"), KNOWLEDGE)] == ["windows"]


def test_a_cpu_build_needs_neither() -> None:
    wheel = facts("", "cpu")
    assert (generations_for(wheel, KNOWLEDGE), drivers_for(wheel, KNOWLEDGE)) == ((), ())


def test_every_generation_names_its_gpus() -> None:
    turing = generations_for(facts("sm_75"), KNOWLEDGE)[0]
    assert "Tesla T4" in turing.names
