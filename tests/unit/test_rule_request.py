"""Rule `request`: what was asked, and the promise that a CPU build is never chosen by surprise."""

from __future__ import annotations

import pytest
from building import case, on
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.variant import Variant
from gpuenv.resolution.request import Request, parse_cuda_option, parse_requirements
from gpuenv.resolution.rules import requested

VARIANTS = st.sampled_from(["cpu", "cu118", "cu126", "cu130", "rocm6.3", "xpu", "cu121_full"])
ASKED = st.sampled_from(["auto", "cpu", "cu126", "12.6"])
GPUS = st.lists(st.sampled_from(["3.7", "8.6", "12.0"]), max_size=2)


def ask(*requirements: str, cuda: str = "auto") -> Request:
    return Request(parse_requirements(requirements), variant=parse_cuda_option(cuda))


@given(VARIANTS, ASKED, GPUS)
def test_a_cpu_build_is_in_question_only_where_it_was_asked_or_there_is_no_gpu(
    variant: str, cuda: str, gpus: list[str]
) -> None:
    target = on("535.104.05", *gpus) if gpus else on()
    build = case("2.7.1", "cpu", "") if variant == "cpu" else case("2.7.1", variant)
    request = ask(cuda=cuda)
    if requested.in_question(build, request, target):
        assert Variant(variant).is_known
        allowed = cuda == "cpu" or (cuda == "auto" and not gpus)
        assert (variant == "cpu") is allowed


@pytest.mark.parametrize(
    ("requirement", "fits"),
    [
        ("torch==2.7.1", True),
        ("torch==2.7.1+cu126", True),
        ("torch==2.7.1+cu118", False),
        ("torch===2.7.1+cu126", True),
        ("torch>=2.7,<2.8", True),
        ("torch>2.7.1", False),
        ("torch!=2.7.1", False),
        ("torch~=2.7", True),
        ("torch==2.7.*", True),
        ("torch<=2.7.1", True),
        ("torch", True),
        ("torchvision", True),
    ],
)
def test_a_build_of_the_pytorch_index_fits_with_and_without_its_local_version(
    requirement: str, fits: bool
) -> None:
    assert bool(requested.check(case("2.7.1", "cu126"), ask(requirement))) is not fits


def test_a_build_of_pypi_has_no_local_version() -> None:
    build = case("2.7.1", "cu126", index="pypi")
    assert not requested.check(build, ask("torch==2.7.1"))
    assert requested.check(build, ask("torch==2.7.1+cu126"))


@pytest.mark.parametrize(
    ("requirement", "fits"),
    [("torch", False), ("torch>=2.15", False), ("torch>=2.16.0rc1", True), ("torch==2.16.0rc1", True)],
)
def test_a_pre_release_is_taken_only_where_one_is_named(requirement: str, fits: bool) -> None:
    failures = requested.check(case("2.16.0rc1", "cu130"), ask(requirement))
    assert bool(failures) is not fits
    if requirement == "torch":
        assert (
            failures[0].summarize(failures)
            == "torch 2.16.0rc1+cu130 is a pre-release, which was not requested"
        )


def test_a_variant_is_the_one_asked_for() -> None:
    (failure,) = requested.check(case("2.7.1", "cu118"), ask(cuda="12.6"))
    assert failure.detail == "torch 2.7.1+cu118 is not for cu126"
