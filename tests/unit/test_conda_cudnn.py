"""The cuDNN that a solver adds to conda-forge's torch serves every GPU of the machine."""

from __future__ import annotations

from typing import Any

import pytest
from conda_deciding import plan_of_channel
from deciding import gpu_machine, machine
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv import matrices
from gpuenv.model.conda import CondaRecord
from gpuenv.model.plan import Plan
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.conda.builds import knowledge_of_channel
from gpuenv.resolution.conda.cudnn import needed_cudnn, with_needed_cudnn

FLOORS = [row for row in matrices.load("libraries") if row["kind"] == "floor" and row["library"] == "cudnn"]
ROW = next(
    row
    for row in matrices.load("conda")
    if (row["channel"], row["torch"], row["variant"], row["platform"])
    == ("conda-forge", "2.7.1", "cu129", "linux-64")
)


def record(*depends: str, **facts: Any) -> CondaRecord:
    given: dict[str, Any] = {
        "name": "pytorch", "version": "2.7.1", "build": "cuda129_mkl_py312_h0_300", "build_number": 300,
        "subdir": "linux-64", "channel": "conda-forge", "filename": "x.conda", "url": "", **facts,
    }  # fmt: skip
    return CondaRecord(depends=depends, **given)


def limit(plan: Plan) -> str | None:
    assert plan.conda is not None
    values = [spec.partition(" ")[2] for spec in plan.conda.specs if spec.startswith("cudnn ")]
    return values[0] if values else None


@pytest.mark.parametrize(
    ("driver", "gpus", "wanted"),
    [
        ("535.104.05", ["Tesla V100-SXM2-16GB"], "<9.11"),
        ("535.104.05", ["Tesla V100-SXM2-16GB", "NVIDIA A100"], "<9.11"),
        ("580.65.06", ["GeForce GTX 1080 Ti"], "<9.11"),
        ("470.82.01", ["Tesla K80"], "<8.9"),
        ("535.104.05", ["Tesla T4"], None),
        ("535.104.05", ["NVIDIA H100"], None),
    ],
)
def test_a_gpu_that_newer_releases_left_keeps_the_solver_at_older_ones(
    driver: str, gpus: list[str], wanted: str | None
) -> None:
    plan = plan_of_channel("conda-forge", gpu_machine(driver, *gpus), "torch")
    assert limit(plan) == wanted
    answers = [reason for reason in plan.why if "cudnn <" in reason.text]
    assert bool(answers) == bool(wanted)
    assert all(reason.source.startswith("https://") for reason in answers)


def test_what_is_let_in_serves_each_gpu_by_the_raw_rows() -> None:
    capability = (7, 0)
    plan = plan_of_channel("conda-forge", gpu_machine("535.104.05", "7.0"), "torch")
    wanted = SpecifierSet(limit(plan) or "")
    for row in FLOORS:
        least = tuple(map(int, row["min_compute_capability"].split(".")))
        if capability < least and row["cuda"] is None:
            assert not wanted.contains(row["from"])
    assert wanted.contains("9.10.2.21")


@pytest.mark.parametrize(
    "plan",
    [
        plan_of_channel("pytorch", gpu_machine("535.104.05", "Tesla V100-SXM2-16GB"), "torch"),
        plan_of_channel("conda-forge", machine({}), "torch"),
        plan_of_channel(
            "conda-forge", gpu_machine("535.104.05", "Tesla V100-SXM2-16GB"), "torch", cuda="cpu"
        ),
    ],
    ids=["it is part of the package", "no GPU", "a CPU build"],
)
def test_elsewhere_there_is_nothing_to_keep(plan: Plan) -> None:
    assert limit(plan) is None


# what packages need


@pytest.mark.parametrize(
    ("depends", "least"),
    [
        (("python", "cudnn >=9.10.1.4,<10.0a0"), "9.10.1.4"),
        (("libcudnn >=9.13.0.50,<10.0a0",), "9.13.0.50"),
        (("cudnn 8.*",), None),
        (("libcudnn-dev",), None),
        ((), None),
    ],
)
def test_the_least_release_stands_in_what_a_package_needs(
    depends: tuple[str, ...], least: str | None
) -> None:
    version = needed_cudnn(record(*depends))
    assert (str(version) if version else None) == least


def cudnn_known(*records: CondaRecord) -> str | None:
    knowledge = knowledge_of_channel(load_knowledge(), (ROW,), "conda-forge")
    (build,) = with_needed_cudnn(knowledge, records).builds
    return build.cudnn


def test_the_channel_tells_more_than_the_matrix() -> None:
    """A later build of the same release may need a newer one: the oldest will do."""
    older, newer = record("cudnn >=9.10.1.4,<10.0a0"), record("cudnn >=9.13.0.50,<10.0a0")
    assert cudnn_known() == ROW["cudnn"] == "9"
    assert cudnn_known(newer) == "9.13.0.50"
    assert cudnn_known(newer, older) == "9.10.1.4"
    assert cudnn_known(newer, record("python >=3.12")) == "9"
    assert cudnn_known(record("cudnn >=9.13", build="cuda126_h0_0"), record("cudnn >=9", name="x")) == "9"


@given(st.lists(st.text(st.sampled_from("libcudn >=<.0123456789,*a"), max_size=30), max_size=3))
def test_any_needs_tell_a_version_or_none(depends: list[str]) -> None:
    version = needed_cudnn(record(*depends))
    assert version is None or isinstance(version, Version)
