"""A companion is the build for torch's CUDA, or the plan says that it is another: offline, of every torch."""

from __future__ import annotations

import pytest
from deciding import Asked, decided, machine
from packaging.version import Version
from published import Published
from sampling import every

from gpuenv import matrices
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_knowledge

DRIVERS = ("450.102.04", "535.104.05", "580.95.05")
TORCHES = sorted(
    {row["torch"] for row in matrices.load("companions") if row["project"] == "xformers" and "torch" in row},
    key=Version,
)


@pytest.mark.parametrize(
    ("torch", "driver"), every(9, ((torch, driver) for torch in TORCHES for driver in DRIVERS))
)
def test_xformers_is_of_torchs_cuda_or_told_to_be_of_another(torch: str, driver: str) -> None:
    machines = (machine({"driver": driver, "gpus": ["NVIDIA A100-PCIE-40GB"]}),)
    requirements = (f"torch=={torch}", "xformers")
    plan = decided(Asked(machines, requirements, published=Published(offline=True))).plan
    if plan is None:
        return
    xformers = next(package for package in plan.packages if package.name == "xformers")
    told = [warning.message for warning in plan.warnings if warning.code == "companion-cuda"]
    assert bool(told) == (xformers.variant != plan.variant)
    if told:
        own, torchs = Variant(str(xformers.variant)).cuda, Variant(str(plan.variant)).cuda
        assert f"CUDA {own}, torch for {torchs}" in told[0]
        assert not has_build(xformers.version, str(plan.variant))


def has_build(version: str, variant: str) -> bool:
    """Whether a file of the release is known in the folder of a variant, for Linux."""
    rows = (row for row in matrices.load("wheels") if row["project"] == "xformers")
    return any(
        row.get("subdir") == variant and row["filename"].split("-")[1].partition("+")[0] == version
        for row in rows
        if "linux" in row["filename"]
    )


def test_each_file_known_by_its_address_is_of_a_variant_that_its_torch_has() -> None:
    knowledge = load_knowledge()
    builds = {(build.torch, str(build.variant)) for build in knowledge.builds_of("linux-64")}
    rows = [row for row in matrices.load("wheels") if row["project"] == "xformers" and row.get("subdir")]
    assert rows
    for row in rows:
        release = Version(row["filename"].split("-")[1].partition("+")[0])
        torches = knowledge.torches_of("xformers", release)
        assert any((torch, row["subdir"]) in builds for torch in torches), row
