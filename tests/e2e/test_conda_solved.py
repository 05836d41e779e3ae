"""Each environment.yml that is written for the 22 machines solves to the CUDA build that was planned."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conda_channel import write_channel
from conda_world import make_world
from mirrored import Table, tables
from packaging.version import Version
from ruamel.yaml import YAML

from gpuenv.formats.environment_yml import render_environment
from gpuenv.formats.pixi import render_pixi_of_conda
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.machine_json import render_machine
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import make_plan
from gpuenv.planning.options import PlanOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

rattler = pytest.importorskip("rattler")

pytestmark = pytest.mark.slow

CHANNELS = ("conda-forge", "pytorch")
TURING = parse_compute_capability("7.5")
TABLES = {table.name: table for table in tables()}


def planned(root: Path, table: Table, channel: str) -> Plan | None:
    """The plan for a machine, from what is known of the channel; None where it is refused."""
    file = root / f"{table.name}.json"
    file.write_text(json.dumps(render_machine(table.machine)), encoding="utf-8")
    options = PlanOptions(
        machines=(file,), python=table.python, manager="conda", channel=channel, offline=True
    )
    environ = {
        "HOME": str(root), "PATH": os.defpath, "GPUENV_CACHE_DIR": str(root / "cache"),
        "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
    }  # fmt: skip
    try:
        return make_plan(options, environ, target=str(root / "environment"))
    except Unsatisfiable:
        return None


@pytest.fixture(scope="module", params=CHANNELS)
def plans(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan | None]:
    root = tmp_path_factory.mktemp("plans")
    return {name: planned(root, table, request.param) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def channels(plans: dict[str, Plan | None], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Channels with every build of each torch that is planned, those for the CPU among them."""
    releases = {plan.packages[0].version for plan in plans.values() if plan}
    platforms = tuple(sorted({plan.conda.subdir for plan in plans.values() if plan and plan.conda}))
    world = make_world(keep=lambda row: row["torch"] in releases, subdirs=platforms)
    root = tmp_path_factory.mktemp("channels")
    return {
        name: write_channel(root / name, packages, ("repodata.json",)) for name, packages in world.items()
    }


@dataclass(frozen=True)
class Asked:
    """What a file asks of a solver."""

    channels: list[str]
    specs: list[str]
    subdir: str
    cuda: str | None


def solve(asked: Asked, channels: dict[str, str]) -> dict[str, Any]:
    """What py-rattler makes of a file on the machine, by name."""
    virtual = [("__glibc", "2.39"), ("__unix", "0"), ("__linux", "6.8")]
    if asked.cuda:
        virtual.append(("__cuda", asked.cuda))
    records = asyncio.run(
        rattler.solve(
            [rattler.Channel(channels[name]) for name in asked.channels],
            [rattler.MatchSpec(spec, strict=False) for spec in asked.specs],
            gateway=rattler.Gateway(),
            platforms=[rattler.Subdir(asked.subdir), rattler.Subdir("noarch")],
            virtual_packages=[
                rattler.GenericVirtualPackage(
                    rattler.PackageName(name), rattler.Version(version), rattler.BuildString("0")
                )
                for name, version in virtual
            ],
        )
    )
    return {record.name.normalized: record for record in records}


def read_back(plan: Plan) -> Asked:
    """Read the environment.yml; it leaves the CUDA to the machine."""
    assert plan.conda is not None
    document = YAML(typ="safe").load(io.StringIO(render_environment(plan)))
    specs = [item for item in document["dependencies"] if isinstance(item, str)]
    named = [name for name in document["channels"] if name != "nodefaults"]
    return Asked(named, specs, plan.conda.subdir, plan.conda.cuda)


def read_back_pixi(plan: Plan) -> Asked:
    document = tomllib.loads(render_pixi_of_conda(plan))
    (subdir,) = document["workspace"]["platforms"]
    cuda = document.get("system-requirements", {}).get("cuda")
    specs = [f"{name} {_fields(answer)}" for name, answer in document["dependencies"].items()]
    return Asked(document["workspace"]["channels"], specs, subdir, cuda)


def _fields(told: str | dict[str, str]) -> str:
    return told if isinstance(told, str) else f"{told['version']} {told.get('build', '*')}"


@pytest.mark.parametrize("name", TABLES)
def test_the_file_solves_to_the_planned_build(
    name: str, plans: dict[str, Plan | None], channels: dict[str, str]
) -> None:
    plan = plans[name]
    if plan is None:
        return
    torch = plan.packages[0]
    solved = solve(read_back(plan), channels)
    value = solved["pytorch"]
    build = str(value.build)
    variant = str(torch.variant)
    mark = "cpu" if variant == "cpu" else variant.removeprefix("cu")
    assert (str(value.version), mark in build.replace(".", "")) == (torch.version, True), build
    assert ("cpu" in build) == (variant == "cpu")
    for companion in plan.packages[1:]:
        assert str(solved[companion.name].version) == companion.version
    old = any(gpu.compute_capability and gpu.compute_capability < TURING for gpu in plan.machines[0].gpus)
    if old and "cudnn" in solved:
        assert Version(str(solved["cudnn"].version)) < Version("9.11"), "it has left this GPU"


@pytest.mark.parametrize("name", TABLES)
def test_pixi_toml_solves_to_the_same_set(
    name: str, plans: dict[str, Plan | None], channels: dict[str, str]
) -> None:
    plan = plans[name]
    if plan is None:
        return
    by_conda, by_pixi = (solve(requested, channels) for requested in (read_back(plan), read_back_pixi(plan)))
    assert {name: record.file_name for name, record in by_pixi.items()} == {
        name: record.file_name for name, record in by_conda.items()
    }


def test_most_machines_are_served(plans: dict[str, Plan | None]) -> None:
    """Where conda-forge refuses, it has no build for the GPU: the oldest ones have only wheels."""
    served = [name for name, plan in plans.items() if plan]
    assert len(served) >= 12, sorted(set(plans) - set(served))
    assert all(plan.variant != "cpu" for plan in plans.values() if plan and plan.machines[0].gpus)
