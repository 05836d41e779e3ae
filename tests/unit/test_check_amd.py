"""Where a ROCm build looks for its GPU: /dev/kfd on Linux, /dev/dxg under WSL2, no device file on Windows."""

from __future__ import annotations

import pytest

from gpuenv.checks.driver import amd
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.findings import Findings, Interpreter, Node, PciDevice, TorchFiles
from gpuenv.model.machine import Gpu, Machine, System
from gpuenv.planning.load_knowledge import load_knowledge

LINUX, WINDOWS = System("linux", "x86_64"), System("windows", "x86_64")
WSL = System("linux", "x86_64", wsl=True)
CARD = Accelerator("rocm", "AMD", 0, "AMD Radeon RX 7900 XTX", "gfx1100")
IRIS = Accelerator("xpu", "Intel", 0)
KFD, DXG = Node("/dev/kfd", usable=True), Node("/dev/dxg", usable=True)
NVIDIA = Gpu(0, "NVIDIA GeForce RTX 3060", None)


@pytest.mark.parametrize(
    ("machine", "nodes", "pci", "verdict", "case"),
    [
        (Machine(LINUX, accelerators=(CARD,)), (KFD,), (), "ok", None),
        (Machine(LINUX, accelerators=(CARD,)), (), (), "problem", "no-device"),
        (Machine(LINUX), (Node("/dev/kfd", usable=False),), (), "problem", "closed"),
        (Machine(WINDOWS, accelerators=(CARD,)), (), (), "ok", None),
        (Machine(WINDOWS, accelerators=(IRIS,)), (), (), "skipped", None),
        (Machine(WSL), (DXG,), (), "ok", None),
        (Machine(WSL), (), (), "problem", "no-dxg"),
        (Machine(LINUX, gpus=(NVIDIA,)), (), (), "problem", "nvidia"),
        (Machine(WINDOWS, gpus=(NVIDIA,)), (), (), "problem", "nvidia"),
        (Machine(WINDOWS, gpus=(NVIDIA,), accelerators=(CARD,)), (), (), "ok", None),
        (Machine(LINUX, gpus=(NVIDIA,)), (KFD,), (PciDevice("1002", "744c", "030000"),), "ok", None),
    ],
)
def test_the_device_is_the_systems(
    machine: Machine, nodes: tuple[Node, ...], pci: tuple[PciDevice, ...], verdict: str, case: str | None
) -> None:
    torch = TorchFiles("/e/torch", "2.9.1+rocm6.4", "rocm6.4")
    findings = Findings("/e", machine, Interpreter("/e/bin/python"), torch=torch, nodes=nodes, pci=pci)
    outcome = amd.judge(findings, load_knowledge())
    assert (outcome.verdict, outcome.case) == (verdict, case)
