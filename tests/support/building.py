"""Small values for tests of one rule: a build, a target, a file, each with what the test is about."""

from __future__ import annotations

from typing import Any

from deciding import machine
from packaging.version import Version
from published import wheel

from gpuenv.model.capability import parse_architecture
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.machine import Machine
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import TorchBuild, WheelFile
from gpuenv.resolution.candidate import Candidate, IndexedFile, release_of
from gpuenv.resolution.target import Target, choose_target

PAGE = "https://torch.example.com/whl/torch/"


def target(*machines: Machine, cpu: bool = False) -> Target:
    return choose_target(machines or (machine({}),), (), cpu=cpu)


def on(driver: str | None = None, *gpus: str, **short: Any) -> Target:
    """Make the target of one machine in short form."""
    stated = {} if driver is None else {"driver": driver}
    return target(machine({**stated, "gpus": list(gpus), **short}))


def build(
    torch: str = "2.7.1", variant: str = "cu126", architectures: str = "sm_80 sm_90", **facts: Any
) -> TorchBuild:
    cuda = Variant(variant).cuda
    given: dict[str, Any] = {
        "platform": "linux-64",
        "index": "pytorch",
        "pythons": ("cp312",),
        "cudnn": None,
        "tags": ("manylinux_2_28_x86_64",),
        "source": "the test",
        "evidence": "wheel",
        **facts,
    }
    listed = tuple(parse_architecture(text) for text in architectures.split())
    return TorchBuild(Version(torch), Variant(variant), cuda, architectures=listed, **given)


def case(
    torch: str = "2.7.1",
    variant: str = "cu126",
    architectures: str = "sm_80 sm_90",
    *files: str,
    **facts: Any,
) -> Candidate:
    """Make a build under judgement, with the files named."""
    row = build(torch, variant, architectures, **facts)
    return Candidate(row.torch, row.variant, row.index, row, tuple(found(name) for name in files))


def listing(*files: WheelFile, project: str = "torch", kind: Any = "pytorch", **facts: Any) -> Listing:
    page = f"https://{kind}.example.com/{project}/"
    return Listing(
        IndexSource(kind, f"https://{kind}.example.com", "the test"), project, files, page, **facts
    )


def found(filename: str, *, kind: Any = "pytorch", order: int = 0, **facts: Any) -> IndexedFile:
    file = wheel(filename, **facts)
    return IndexedFile(
        file, listing(file, project=str(file.name), kind=kind), order, release_of(file.version)
    )
