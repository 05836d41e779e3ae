"""Machines with other accelerators, and tiny wheels of their kinds on the indexes of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from index_server import IndexServer
from running import Program
from tiny_wheels import TAG, tiny_torch, tiny_torchvision, tiny_wheel

from gpuenv.model.accelerator import Accelerator
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.machine import Gpu, Machine, System
from gpuenv.model.machine_json import render_machine

LINUX = System("linux", "x86_64", "glibc", "2.39")
AMD = "multi-arch"  # its folder beside those of the variants
AMD_TAG = TAG.replace("manylinux_2_28", "linux")


def radeon(gfx: str = "gfx1100") -> Machine:
    card = Accelerator("rocm", "AMD", 0, f"AMD Radeon {gfx}", gfx, discrete=True)
    return Machine(LINUX, accelerators=(card,))


def battlemage() -> Machine:
    card = Accelerator("xpu", "Intel", 0, "Intel Arc B580", "20.1.0", discrete=True)
    return Machine(LINUX, accelerators=(card,))


def ascend() -> Machine:
    card = Accelerator("npu", "Huawei", 0, "Ascend 910B", "Ascend910B", discrete=True)
    return Machine(LINUX, accelerators=(card,), cann="8.5.0")


def macbook(macos: str = "15.1") -> Machine:
    chip = Accelerator("mps", "Apple", 0, "Apple M2", "M2", discrete=False)
    return Machine(System("macos", "aarch64", macos=macos), accelerators=(chip,))


def orin() -> Machine:
    board = Gpu(0, "Orin (nvgpu)", parse_compute_capability("8.7"))
    return Machine(System("linux", "aarch64", "glibc", "2.35"), gpus=(board,), l4t="36.4.3")


def saved(program: Program, machine: Machine) -> Path:
    """Write a machine as `detect --json` does."""
    file = program.root / "machine.json"
    document = {"schema_version": 1, "command": "detect", "ok": True, "data": render_machine(machine)}
    file.write_text(json.dumps({**document, "warnings": [], "error": None}), encoding="utf-8")
    return file


def publish_accelerators(server: IndexServer, here: Path) -> None:
    """Publish what the PyTorch index and PyPI have for each kind, of this Python."""

    def build(torch: str, vision: str, local: str, triton: str) -> None:
        requires = (f"{triton}==3.7.0 ; platform_system == 'Linux'",)
        server.publish(tiny_torch(here, f"{torch}+{local}", requires=requires), "pytorch", local)
        server.publish(tiny_torchvision(here, f"{vision}+{local}"), "pytorch", local)
        server.publish(tiny_wheel(here, triton.replace("-", "_"), "3.7.0", tag=TAG), "pytorch", local)

    build("2.9.1", "0.24.1", "rocm6.4", "pytorch-triton-rocm")
    build("2.12.0", "0.27.0", "rocm7.2", "triton-rocm")
    build("2.12.0", "0.27.0", "xpu", "triton-xpu")
    server.publish(tiny_torch(here, "2.6.0+cpu"), "pytorch", "cpu")
    server.publish(
        tiny_wheel(here, "torch_npu", "2.6.0.post5", tag=TAG, requires=("torch==2.6.0+cpu",)), "pypi"
    )
    for name in ("pytorch_triton_rocm", "triton_rocm", "triton_xpu"):  # PyPI has stubs of these names
        server.publish(tiny_wheel(here / "stubs", name, "9.9.9"), "pypi")
    python = TAG.partition("-")[0]
    mac = f"{python}-{python}-macosx_14_0_arm64"
    server.publish(tiny_wheel(here, "torch", "2.12.0", tag=mac), "pypi")
    server.publish(tiny_wheel(here, "torchvision", "0.27.0", tag=mac.replace("14", "11")), "pypi")


def publish_amd(server: IndexServer, here: Path, *devices: str) -> None:
    """Publish AMD's own multi-arch index, as a mirror of it: the code for a device comes by an extra."""
    extras = tuple(f"device-{item}" for item in devices)
    code = (f'amd-torch-{extra}==2.12.0 ; extra == "{extra}"' for extra in extras)
    requires = ("rocm==7.14.0", *code)
    wheels = [
        tiny_torch(here, "2.12.0+rocm7.14.0", requires=requires, tag=AMD_TAG, extras=extras),
        tiny_wheel(here, "rocm", "7.14.0"),
        *(tiny_wheel(here, f"amd_torch_device_{item}", "2.12.0", tag=AMD_TAG) for item in devices),
    ]
    for wheel in wheels:
        server.publish(wheel, "pytorch", AMD)


def fake_torch(version: str, **facts: Any) -> str:
    """FAKE_TORCH of a torch that has the device of its kind and works on it."""
    return json.dumps({"version": version, **facts})
