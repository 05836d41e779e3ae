"""Machines without NVIDIA GPUs, described by hand: names, architectures and releases as people type them."""

from __future__ import annotations

import pytest

from gpuenv.model.errors import UsageError
from gpuenv.model.machine import Machine, System
from gpuenv.model.machine_json import parse_machine, render_machine
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import describe
from gpuenv.planning.options import PlanOptions

HERE = Machine(System("linux", "x86_64", "glibc", "2.36"))


def described(*gpus: str, **options: str | bool) -> Machine:
    machine = describe(HERE, PlanOptions(gpus=gpus, **options), load_knowledge())  # type: ignore[arg-type]
    assert parse_machine(render_machine(machine)) == machine
    return machine


@pytest.mark.parametrize(
    ("text", "kind", "architecture"),
    [
        ("RX 7900 XTX", "rocm", "gfx1100"), ("Radeon RX 7900 XTX", "rocm", "gfx1100"),
        ("AMD Radeon RX 7900 XTX", "rocm", "gfx1100"), ("rx7900xtx", "rocm", "gfx1100"),
        ("7900 XTX", "rocm", "gfx1100"), ("W7900", "rocm", "gfx1100"), ("RX 580", "rocm", "gfx803"),
        ("MI300X", "rocm", "gfx942"), ("AMD Instinct MI250X", "rocm", "gfx90a"),
        ("Strix Halo", "rocm", "gfx1151"),
        ("Radeon 8060S", "rocm", "gfx1151"), ("Radeon 780M", "rocm", "gfx1103"),
        ("gfx1100", "rocm", "gfx1100"),
        ("GFX90A", "rocm", "gfx90a"), ("Arc B580", "xpu", "20.1.0"), ("Intel Arc B580", "xpu", "20.1.0"),
        ("B580", "xpu", "20.1.0"), ("20.1.0", "xpu", "20.1.0"), ("UHD 630", "xpu", "gen9"),
        ("UHD630", "xpu", "gen9"), ("bmg-g21", "xpu", "20.1.0"), ("PTL-H", "xpu", "30.0.4"),
        ("nvl-s", "xpu", "30.4.4"), ("acm-g10", "xpu", "12.55.8"), ("mtl-u", "xpu", "12.70.4"),
        ("RX Vega 64", "rocm", "gfx900"), ("Radeon RX Vega 56", "rocm", "gfx900"),
        ("Vega 64", "rocm", "gfx900"),
        ("Steam Deck", "rocm", "gfx1033"), ("BC-250", "rocm", "gfx1013"), ("BC250", "rocm", "gfx1013"),
        ("Instinct MI450X", "rocm", "gfx1250"), ("MI455X", "rocm", "gfx1250"),
        ("AMD Ryzen AI Max+ 395", "rocm", "gfx1151"),
        ("Apple M1", "mps", "M1"), ("M1", "mps", "M1"), ("M3 Max", "mps", "M3"), ("Apple M4", "mps", "M4"),
        ("Ascend 910B", "npu", "Ascend910B"),
        ("910B", "npu", "Ascend910B"), ("Ascend 910B3", "npu", "Ascend910B"),
        ("Gaudi 2", None, None), ("Gaudi2", None, None), ("Moore Threads MTT S80", None, None),
        ("MLU370-X8", None, None), ("Hygon K100 AI", None, None),
    ],
)  # fmt: skip
def test_names_and_architectures_of_every_vendor_are_known(
    text: str, kind: str | None, architecture: str | None
) -> None:
    machine = described(text)
    assert [(item.kind, item.architecture) for item in machine.accelerators] == [(kind, architecture)]
    assert (machine.gpus, machine.driver, machine.without_gpu) == ((), None, True)
    assert machine.system.os == ("macos" if kind == "mps" else "linux")


@pytest.mark.parametrize(
    ("text", "code", "fix"),
    [
        ("M4", "ambiguous-gpu", 'use --gpu "Apple M4"'),
        ("780M", "ambiguous-gpu", 'use --gpu "AMD Radeon 780M Graphics"'),
        (
            "AMD Radeon Graphics",
            "unknown-gpu",
            "or specify its compute capability or architecture, such as --gpu 8.6 or --gpu gfx1100",
        ),
        ("RX 7900 XTZ", "unknown-gpu", 'did you mean --gpu "AMD Radeon RX 7900 XTX"?'),
        ("GeForce RTX 3080 Tie", "unknown-gpu", 'did you mean --gpu "NVIDIA GeForce RTX 3080 Ti"?'),
        (
            "8",
            "unknown-gpu",
            "or specify its compute capability or architecture, such as --gpu 8.6 or --gpu gfx1100",
        ),
    ],
)
def test_what_is_not_clear_is_refused_with_names_of_all_vendors(text: str, code: str, fix: str) -> None:
    with pytest.raises(UsageError) as caught:
        described(text)
    assert caught.value.code == code
    assert fix in [item.text for item in caught.value.fixes]


def test_a_name_of_several_devices_is_clear_where_no_build_is_made_for_any() -> None:
    (device,) = described("Iris Xe").accelerators
    assert (device.kind, device.vendor) == ("xpu", "Intel")


@pytest.mark.parametrize(
    "text", ["GB10", "NVIDIA GB200", "GH200 480GB", "Jetson Thor", "AGX Orin", "Orin Nano"]
)
def test_gpus_beside_an_arm_processor_tell_the_platform(text: str) -> None:
    machine = described(text)
    assert machine.system.arch == "aarch64"
    assert machine.source_of("system.arch").startswith("matrix: product name")
    assert described(text, platform="linux-64").system.arch == "x86_64"
    assert described("RTX 4090").system.arch == "x86_64"


def test_cards_of_several_makers_stand_side_by_side() -> None:
    machine = described("RX 7900 XTX", "8.6", "RX 580", "Arc B580")
    assert [(item.vendor, item.index) for item in machine.accelerators] == [
        ("AMD", 0), ("AMD", 1), ("Intel", 0),
    ]  # fmt: skip
    assert [gpu.index for gpu in machine.gpus] == [0]
    assert machine.kind == "cuda"


def test_a_mac_has_its_gpu_unless_one_is_named() -> None:
    assert [item.kind for item in described(platform="osx-arm64").accelerators] == ["mps"]
    assert described(platform="osx-64").accelerators == ()
    machine = described("M2", macos="14.5")
    assert (machine.system.os, machine.system.macos) == ("macos", "14.5")
    assert [item.architecture for item in machine.accelerators] == ["M2"]
    assert described(macos="13.0").system.arch == "aarch64"


def test_releases_are_facts_with_their_option() -> None:
    machine = described("gfx1100", amdgpu="6.16.13", wsl=True)
    assert (machine.amdgpu, machine.source_of("amdgpu"), machine.system.wsl) == (
        "6.16.13",
        "option --amdgpu",
        True,
    )
    machine = described("Ascend 910B", cann="8.2.RC1")
    assert (machine.cann, machine.source_of("cann")) == ("8.2.RC1", "option --cann")


def test_a_jetson_is_known_by_its_release_and_its_jetpack() -> None:
    for options in ({"l4t": "36.4.3"}, {"jetpack": "6.2"}):
        machine = described(**options)
        assert (machine.l4t, machine.system.arch) == ("36.4.3", "aarch64")
        assert [str(gpu.compute_capability) for gpu in machine.gpus] == ["8.7"]
    for release in ("39.2", "39.0.1"):  # of Orin, and of Thor; one that is not listed is as the one before it
        assert [str(gpu.compute_capability) for gpu in described(l4t=release).gpus] == ["8.7", "11.0"]
    assert [str(gpu.compute_capability) for gpu in described("11.0", l4t="39.2").gpus] == ["11.0"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"macos": "Sonoma"}, "bad-release"),
        ({"macos": "14", "platform": "linux-64"}, "bad-release"),
        ({"wsl": True, "platform": "win-64"}, "bad-release"),
        ({"cann": "latest"}, "bad-release"),
        ({"amdgpu": "6", "platform": "linux-64"}, "bad-release"),
        ({"l4t": "R36"}, "bad-release"),
        ({"jetpack": "99"}, "unknown-jetpack"),
    ],
)
def test_what_can_not_be_is_a_usage_error(options: dict[str, str | bool], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        described(**options)
    assert caught.value.code == code


@pytest.mark.parametrize("options", [{"platform": "osx-arm64"}, {"macos": "15.1"}, {"accelerator": "mps"}])
def test_what_else_is_said_of_the_machine_tells_whose_name_it_is(options: dict[str, str | bool]) -> None:
    assert [item.name for item in described("M4", **options).accelerators] == ["Apple M4"]
