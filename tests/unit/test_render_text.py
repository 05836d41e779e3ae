"""Format `text`: the plan and the machine for a person, whole."""

from __future__ import annotations

import pytest
from deciding import gpu_machine, machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, cpu_plan, package, plan

from gpuenv.formats.json import render_plan_data
from gpuenv.formats.machine import render_machine_text
from gpuenv.formats.text import render_text
from gpuenv.i18n.amounts import render_size
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Gpu, Machine, Toolkit
from gpuenv.model.plan import Advice
from gpuenv.model.variant import CudaVersion


def test_a_plan_is_told_in_a_few_lines() -> None:
    assert render_text(plan()) == (
        "NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)\n"
        "torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv\n"
        "  from torch.example.com, 2 files, at least 2.6 GB to fetch, and their dependencies\n"
        "  torch 2.15.0 needs driver 580.65.06 or newer\n"
    )


def test_the_reasons_and_what_was_rejected_come_with_verbose() -> None:
    assert render_text(plan(), verbose=True).removeprefix(render_text(plan())) == (
        "  because CUDA 12.6 needs driver 525.60.13 or newer [matrix cuda.json]\n"
        "  not torch 2.15.0 (cu130): driver: needs driver 580.65.06 [cuda.json]\n"
    )


def test_a_cpu_build_is_said_in_the_first_line_and_pypis_builds_with_their_variant() -> None:
    assert render_text(cpu_plan()) == (
        "a CPU build: torch will not use a GPU\n"
        "no NVIDIA GPU, linux x86_64\n"
        "torch 2.15.0 (cpu) · Python 3.12 · uv\n"
        "  from pypi.example.com, 1 file, size not known, and their dependencies\n"
    )


def test_what_a_resolver_added_is_counted() -> None:
    more = tuple(package(name, "1.0", None, size=1_000_000) for name in ("numpy", "sympy"))
    rendered = render_text(plan(packages=plan().packages + more))
    assert " · 2 other packages · " in rendered
    assert "4 files, at least 2.6 GB to fetch\n" in rendered


def test_several_machines_have_a_line_each_and_gpus_alike_are_counted() -> None:
    eight = gpu_machine("450.80.02", *["A100-SXM4-40GB"] * 8, "9.0")
    lines = render_text(plan(machines=(eight, H100))).splitlines()
    assert lines[0] == "8 x NVIDIA A100-SXM4-40GB (8.0), GPU (9.0), driver 450.80.02 (up to CUDA 11.0)"
    assert lines[1].startswith("NVIDIA H100")


def test_a_machine_whose_driver_is_broken_is_not_called_one_without_gpu() -> None:
    assert render_machine_text(machine({"problems": ["no-driver"]})).startswith(
        "an unusable NVIDIA driver or GPU, linux x86_64\n"
    )


@given(st.text(max_size=30))
def test_no_text_from_outside_breaks_a_line_or_reaches_the_terminal_raw(text: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"evil {text}\n\x1b[2J", ComputeCapability(9, 0)),))
    rendered = render_text(plan(machines=(hostile,), advice=(Advice(text, text),)), verbose=True)
    assert len(rendered.splitlines()) == 6
    assert all(line.isprintable() for line in rendered.split("\n"))
    assert all(line.isprintable() for line in render_machine_text(hostile, verbose=True).split("\n"))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_500_000, "1.5 MB"),
        (2_900_000_000, "2.9 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_sizes_are_told_in_powers_of_1000(size: int, text: str) -> None:
    assert render_size(size) == text


def test_a_machine_is_told_with_what_detect_found() -> None:
    known = Machine(
        replace(H100.system, wsl=True, container="docker"),
        H100.driver,
        (*H100.gpus, Gpu(1, None, None, 8192, mig=True, visible=False)),
        toolkit=Toolkit(CudaVersion(11, 5), "/usr/bin/nvcc"), facts=(("driver.version", "nvidia-smi"),),
    )  # fmt: skip
    assert render_machine_text(known, verbose=True) == (
        "NVIDIA H100 (9.0), GPU (?), driver 535.104.05 (up to CUDA 12.2)\n"
        "  0: NVIDIA H100, compute capability 9.0, memory not known\n"
        "  1: GPU, compute capability not known, 8192 MiB, MIG on, hidden by CUDA_VISIBLE_DEVICES\n"
        "linux x86_64, glibc 2.35, WSL2, in a docker container\n"
        "CUDA toolkit 11.5 (/usr/bin/nvcc)\n"
        "  the driver supports up to CUDA 12.2; the toolkit is only used to build extensions\n"
        "  driver.version: nvidia-smi\n"
    )


def test_the_json_form_has_every_key_of_the_design() -> None:
    data = render_plan_data(plan())
    assert {
        "machines", "python", "variant", "manager", "packages", "steps", "why", "rejected", "advice",
    } <= set(data)  # fmt: skip
    assert data["machines"][0]["driver"] == {"version": "535.104.05", "cuda": "12.2"}
    assert data["packages"][0]["version"] == "2.14.1+cu126"
    assert data["steps"][0]["argv"][:2] == ["uv", "venv"]
    assert data["rejected"][0] == {
        "name": "torch", "version": "2.15.0", "variant": "cu130", "rule": "driver",
        "detail": "needs driver 580.65.06", "source": "cuda.json",
    }  # fmt: skip
