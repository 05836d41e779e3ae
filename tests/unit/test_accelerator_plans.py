"""Plans for machines with other accelerators, against a table that was written by hand from the facts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sampling import every

from gpuenv.formats.text import render_text
from gpuenv.model.accelerator import Accelerator, AcceleratorKind
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import GpuenvError
from gpuenv.model.machine import FoundPython, Gpu, Machine, Problem, System
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

TABLE = Path(__file__).parents[1] / "fixtures" / "accelerator_machines.txt"
LINES = TABLE.read_text(encoding="utf-8").splitlines()
ROWS = [tuple(cell.strip() for cell in line.split("|")) for line in LINES if line and line[0] != "#"]
KINDS: dict[str, tuple[AcceleratorKind | None, str]] = {
    "amd": ("rocm", "AMD"),
    "intel": ("xpu", "Intel"),
    "apple": ("mps", "Apple"),
    "ascend": ("npu", "Huawei"),
    "other": (None, ""),
}
VENDORS = {"MooreThreads": "Moore Threads"}


def machine_of(text: str) -> Machine:
    """Read `linux amd:gfx1036i amd:gfx1100 amdgpu=6.2.4`."""
    system, *words = text.split()
    facts = dict(word.split("=") for word in words if "=" in word)
    devices = [word.split(":") for word in words if ":" in word]
    gpus: tuple[Gpu, ...] = ()
    if system.startswith("jetson-"):
        gpus = (Gpu(0, None, parse_compute_capability(system.removeprefix("jetson-"))),)
    return Machine(
        system_of(system),
        gpus=gpus,
        accelerators=tuple(accelerator(index, *device) for index, device in enumerate(devices)),
        amdgpu=facts.get("amdgpu"),
        l4t=facts.get("l4t"),
        cann=facts.get("cann"),
    )


def system_of(name: str) -> System:
    if name.startswith("macos-"):
        arch = "x86_64" if "x86" in name else "aarch64"
        return System("macos", arch, macos=name.rpartition("-")[2])
    if name == "windows":
        return System("windows", "x86_64")
    arch = "aarch64" if name == "aarch64" or name.startswith("jetson") else "x86_64"
    return System("linux", arch, "glibc", "2.39", wsl=name == "wsl")


def accelerator(index: int, maker: str, architecture: str) -> Accelerator:
    kind, vendor = KINDS[maker]
    if kind is None:
        return Accelerator(None, VENDORS.get(architecture, architecture), index)
    name, integrated = architecture.removesuffix("i"), architecture.endswith("i") or kind == "mps"
    return Accelerator(kind, vendor, index, architecture=name, discrete=not integrated)


def planned(machine: str, request: str, home: Path) -> Plan:
    words = request.split()
    named = {"cuda": "auto", "accelerator": "auto"}
    while words and words[0].startswith("--"):
        named[words[0].removeprefix("--")], words = words[1], words[2:]
    options = PlanOptions(
        requirements=tuple(words), here=machine_of(machine), offline=True, manager="uv", **named,  # type: ignore[arg-type]
    )  # fmt: skip
    return make_plan(options, environ_of(home), target=str(home / "env"))


def environ_of(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home), "PATH": "", "GPUENV_CACHE_DIR": str(home), "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
    }  # fmt: skip


def test_the_table_has_a_reason_for_each_row() -> None:
    assert len(ROWS) >= 60
    assert all(len(row) == 4 and row[0] and row[2] and row[3] for row in ROWS)
    assert len({row[:2] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("machine", "asked", "outcome", "why"), every(5, ROWS))
def test_a_machine_gets_what_the_facts_say(
    machine: str, asked: str, outcome: str, why: str, tmp_path: Path
) -> None:
    wanted, _, said = outcome.partition(":")
    if wanted == "refused":
        with pytest.raises(GpuenvError) as refused:
            planned(machine, asked, tmp_path)
        assert refused.value.exit_code == 3, why
        reasons = (reason.text for reason in refused.value.because)
        fixes = (fix.text for fix in refused.value.fixes)
        assert said.strip() in " ".join((str(refused.value), *reasons, *fixes)), why
        return
    plan = planned(machine, asked, tmp_path)
    codes = {warning.code for warning in plan.warnings}
    if wanted == "cpu":
        assert plan.variant == "cpu", why
        first, *rest = render_text(plan).splitlines()
        shown = " ".join((first, *rest)) if "torch==" in said else first
        assert said.strip().replace("torch==", "torch ") in shown, why
        assert "CPU build" in first, why
        return
    variant, *others = outcome.split()
    pins = [word for word in others if not word.startswith("~")]
    assert plan.variant == variant, why
    assert set(pins) <= set(plan.pins), why
    assert {word[1:] for word in others if word.startswith("~")} <= codes, why
    assert "cuda-build-on-cpu" not in codes


def test_what_torch_requires_comes_from_the_index_that_torch_is_from(tmp_path: Path) -> None:
    """PyPI's triton is CUDA's; from ROCm 7.14 on ROCm itself is required: the index is named."""
    bundled = planned("linux amd:gfx906", "", tmp_path).sources
    assert "https://download.pytorch.org/whl/pytorch-triton-rocm/" in bundled.find_links
    assert not bundled.extra_index_urls
    required = planned("linux amd:gfx1201", "", tmp_path).sources
    assert required.extra_index_urls == ("https://download.pytorch.org/whl/rocm7.14",)
    amds = planned("linux amd:gfx1031", "", tmp_path)
    assert amds.sources.extra_index_urls == ("https://repo.amd.com/rocm/whl-multi-arch",)
    assert [package.extras for package in amds.packages[:2]] == [("device-gfx1031",)] * 2
    intel = planned("linux intel:20.1.0", "", tmp_path)
    assert "https://download.pytorch.org/whl/triton-xpu/" in intel.sources.find_links
    assert intel.packages[0].url is not None
    assert intel.packages[0].url.startswith("https://download.pytorch.org/whl/xpu/torch-2.14.1")


@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_where_the_address_for_a_board_is_not_known_its_index_alone_can_serve_torch(
    manager: str, tmp_path: Path
) -> None:
    """Uv takes a project from the first index that has it, pip the best file of all."""
    index = "https://pypi.jetson-ai-lab.io/jp6/cu126"
    options = PlanOptions(l4t="36.4.3", platform="linux-aarch64", manager=manager, offline=True)
    plan = make_plan(options, environ_of(tmp_path), target=str(tmp_path / "env"))
    assert plan.pins[0].startswith("torch==")
    indexes = (plan.sources.index_url, plan.sources.extra_index_urls, plan.sources.find_links)
    assert indexes == ((None, (index,), ()) if manager == "uv" else (index, (), ()))


def test_a_python_under_rosetta_is_refused_with_a_native_one_proposed(tmp_path: Path) -> None:
    """Its installers would look for x86_64's wheels, which end at torch 2.2.2 and have no GPU."""
    told = Problem("rosetta-python", "the Python that runs gpuenv is for x86_64, under Rosetta")
    mac = replace(machine_of("macos-15 apple:M2"), problems=(told,), pythons=(FoundPython("3.12", "/p"),))
    for asked in ({}, {"cuda": "cpu"}):
        options = PlanOptions(here=mac, offline=True, manager="uv", **asked)
        with pytest.raises(GpuenvError) as refused:
            make_plan(options, environ_of(tmp_path), target=str(tmp_path / "env"))
        assert (refused.value.exit_code, refused.value.code) == (3, "rosetta-python")
        assert any("macos-aarch64" in (fix.command or "") for fix in refused.value.fixes)
    intel = PlanOptions(here=mac, offline=True, manager="uv", platform="osx-64")
    assert make_plan(intel, environ_of(tmp_path), target=str(tmp_path / "env")).pins[0] == "torch==2.2.2"


@pytest.mark.parametrize(
    ("options", "pin"),
    [
        ({"platform": "osx-arm64", "macos": "14.5"}, "torch==2.15.0"),
        ({"platform": "osx-64", "macos": "13.6"}, "torch==2.2.2"),
        ({"gpus": ("gfx1201",)}, "torch==2.14.0+rocm7.14"),
    ],
)
def test_a_conda_tool_installs_wheels_and_a_channel_asked_for_is_told_to_be_left(
    options: dict[str, Any], pin: str, tmp_path: Path
) -> None:
    asked = PlanOptions(manager="conda", offline=True, **options)
    plan = make_plan(asked, environ_of(tmp_path), target=str(tmp_path / "env"))
    assert plan.pins[0] == pin
    assert "channel-not-read" not in {warning.code for warning in plan.warnings}
    asked = PlanOptions(manager="conda", channel="conda-forge", offline=True, **options)
    plan = make_plan(asked, environ_of(tmp_path), target=str(tmp_path / "env"))
    assert plan.pins[0] == pin
    assert "channel-not-read" in {warning.code for warning in plan.warnings}
