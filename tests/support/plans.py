"""Plans for tests of formats: whole values, so that a snapshot shows all that is printed."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from deciding import gpu_machine, machine
from msgspec.structs import replace

from gpuenv.model.errors import Because
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Advice, Plan, PlannedPackage, PlanWarning, Rejection, Sources, Step

H100 = gpu_machine("535.104.05", "NVIDIA H100")
WINDOWS = gpu_machine("551.61", "RTX 4090", platform="win-64")
NOWHERE: Machine = machine({})
INDEX = "https://torch.example.com/whl"


def package(name: str, version: str, variant: str | None = "cu126", **facts: Any) -> PlannedPackage:
    filename = f"{name}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    given: dict[str, Any] = {
        "index": INDEX, "filename": filename, "url": f"{INDEX}/{filename}", "sha256": None,
        "size": None, "evidence": "matrix", **facts,
    }  # fmt: skip
    return PlannedPackage(name, version, variant, **given)


def plan(**facts: Any) -> Plan:
    """Return a plan of torch and torchvision with numpy beside them, changed by `facts`."""
    made = Plan(
        machines=(H100,),
        python="3.12",
        python_path=None,
        variant="cu126",
        manager="uv",
        packages=(
            package("torch", "2.14.1+cu126", size=2_600_000_000),
            package("torchvision", "0.29.1+cu126"),
        ),
        pins=("torch==2.14.1+cu126", "torchvision==0.29.1+cu126"),
        requirements=("numpy>=1.26",),
        constraints=("setuptools<82",),
        sources=Sources(None, (), (f"{INDEX}/torch/", f"{INDEX}/torchvision/")),
        steps=(
            Step(("uv", "venv", "--python", "3.12", ".venv"), "create an environment with Python 3.12"),
            Step(
                ("uv", "pip", "install", "--python", ".venv", "torch==2.14.1+cu126", "numpy>=1.26"),
                "install torch from the source of its build",
            ),
        ),
        why=(Because("CUDA 12.6 needs driver 525.60.13 or newer", "matrix cuda.json"),),
        rejected=(Rejection("torch", "2.15.0", "cu130", "driver", "needs driver 580.65.06", "cuda.json"),),
        advice=(Advice("torch 2.15.0 needs driver 580.65.06 or newer", "driver 580.65.06 or newer"),),
        warnings=(PlanWarning("assumed", "not seen"),),
    )
    return replace(made, **facts)


def cpu_plan() -> Plan:
    return plan(
        machines=(NOWHERE,),
        variant="cpu",
        packages=(package("torch", "2.15.0", "cpu", index="https://pypi.example.com/simple"),),
        pins=("torch==2.15.0",),
        requirements=(),
        constraints=(),
        advice=(),
    )


def locked_file(name: str, version: str, **facts: Any) -> LockedFile:
    """Return a file of the installer's own index."""
    filename = f"{name}-{version}-py3-none-any.whl"
    given: dict[str, Any] = {
        "filename": filename, "url": f"https://files.example.com/{filename}",
        "index": "https://pypi.example.com/simple", "sha256": sha256(filename.encode()).hexdigest(),
        "size": None, **facts,
    }  # fmt: skip
    return LockedFile(name, version, **given)


def locked(made: Plan | None = None, *more: LockedFile, **facts: Any) -> Locked:
    """Return all that a plan brings: its stack, numpy and setuptools that it asks for, and tinydep."""
    made = made or plan()
    stack = tuple(
        locked_file(
            planned.name, planned.version, filename=planned.filename, url=planned.url, index=planned.index
        )
        for planned in made.packages
    )
    others = (locked_file("numpy", "2.1.0"), locked_file("setuptools", "81.0"), locked_file("tinydep", "1.0"))
    return replace(Locked(made, (*stack, *others, *more), made.sources), **facts)
