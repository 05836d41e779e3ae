"""What is preferred to what, one criterion against the next: of two builds that work, which comes first."""

from __future__ import annotations

from typing import Any

import pytest
from building import listing
from deciding import machine
from msgspec.structs import replace
from published import wheel

from gpuenv.model.index import Listing
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import WheelFile
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import Request, parse_requirements
from gpuenv.resolution.resolve import build_input, decide
from gpuenv.resolution.target import choose_target

NEW = machine({"driver": "580.95.05", "gpus": ["9.0"]})  # for CUDA 13.0
# for CUDA 12.2: what is newer runs too, not natively
OLD = machine({"driver": "535.104.05", "gpus": ["9.0"]})


def torch(version: str, python: str = "cp312", **facts: Any) -> WheelFile:
    tag = "manylinux_2_28_x86_64" if version.startswith("2.8") or "+cu12" in version else "linux_x86_64"
    return wheel(f"torch-{version}-{python}-{python}-{tag}.whl", **facts)


def preferred(here: Machine, *listings: Listing, offline: bool = False, **wanted: Any) -> list[Solution]:
    """Return what is decided among the files of the listings alone, the best first."""
    request = Request(parse_requirements(wanted.pop("requirements", ("torch",))), offline=offline, **wanted)
    target = choose_target((here,), (), cpu=False)
    offers = tuple(PythonOffer(f"3.{minor}") for minor in (11, 12, 13))
    return list(decide(build_input(request, target, load_knowledge(), listings, offers)).choices)


def labels(solutions: list[Solution]) -> list[str]:
    return [str(solution.torch.file.version) for solution in solutions]


def test_a_newer_torch_comes_before_a_listed_one() -> None:
    files = listing(torch("2.8.0+cu126", assumed=True), torch("2.7.1+cu126"))
    assert labels(preferred(NEW, files)) == ["2.8.0+cu126", "2.7.1+cu126"]


def test_listed_comes_before_assumed_whatever_the_cuda() -> None:
    newest, older = torch("2.8.0+cu129"), torch("2.8.0+cu126")
    assert labels(preferred(NEW, listing(older, newest))) == ["2.8.0+cu129", "2.8.0+cu126"]
    assumed = listing(older, replace(newest, assumed=True))
    assert labels(preferred(NEW, assumed)) == ["2.8.0+cu126", "2.8.0+cu129"]


def test_listed_comes_before_assumed_though_the_assumed_one_is_native() -> None:
    files = listing(torch("2.7.1+cu126"), torch("2.7.1+cu118", assumed=True))
    assert [(solution.native, solution.is_assumed) for solution in preferred(OLD, files)] == [
        (False, False),
        (True, True),
    ]


def test_of_two_files_of_a_build_the_listed_one_is_taken() -> None:
    files = listing(torch("2.8.0+cu126", assumed=True)), listing(torch("2.8.0+cu126"), kind="flat")
    (solution,) = preferred(NEW, *files)
    assert not solution.is_assumed


def test_native_comes_before_a_newer_cuda() -> None:
    files = listing(torch("2.7.1+cu126"), torch("2.7.1+cu118"))
    assert labels(preferred(OLD, files)) == ["2.7.1+cu118", "2.7.1+cu126"]
    assert labels(preferred(NEW, files)) == ["2.7.1+cu126", "2.7.1+cu118"]


def test_a_newer_cuda_comes_before_an_earlier_python() -> None:
    files = listing(torch("2.8.0+cu126", "cp311"), torch("2.8.0+cu129", "cp312"))
    assert labels(preferred(NEW, files)) == ["2.8.0+cu129", "2.8.0+cu126"]


def test_the_newest_python_comes_first() -> None:
    files = listing(*(torch("2.8.0+cu126", python) for python in ("cp311", "cp313", "cp312")))
    assert [solution.python.version for solution in preferred(NEW, files)] == ["3.13", "3.12", "3.11"]


def test_what_is_optional_counts_less_than_the_torch_and_more_than_that_it_is_listed() -> None:
    stack = {"requirements": ("torch", "torchvision"), "optional": ("torchvision",)}
    vision = listing(
        wheel("torchvision-0.22.1+cu118-cp312-cp312-manylinux_2_28_x86_64.whl"), project="torchvision"
    )
    files = listing(torch("2.7.1+cu128"), torch("2.7.1+cu118", assumed=True), torch("2.6.0+cu118"))
    best = preferred(NEW, files, vision, **stack)
    assert labels(best)[:2] == ["2.7.1+cu118", "2.7.1+cu128"]
    assert [len(solution.left_out) for solution in best[:2]] == [0, 1]


@pytest.mark.parametrize(("offline", "first"), [(False, "2.8.0+cu126"), (True, "2.7.1+cu126")])
def test_offline_what_lies_in_a_wheelhouse_comes_before_all_that_lies_elsewhere(
    offline: bool, first: str
) -> None:
    here = listing(torch("2.7.1+cu126"), kind="directory")
    solutions = preferred(NEW, listing(torch("2.8.0+cu126")), here, offline=offline)
    assert labels(solutions)[0] == first


def test_beside_a_wheelhouse_what_is_only_assumed_comes_last() -> None:
    here = listing(torch("2.7.1+cu126"), kind="directory")
    assert labels(preferred(NEW, listing(torch("2.8.0+cu126", assumed=True)), here)) == [
        "2.7.1+cu126",
        "2.8.0+cu126",
    ]
