"""Rule `reach`: a file on an index that answers, or the page that is in the way."""

from __future__ import annotations

from building import case, listing
from deciding import Asked, decided, gpu_machine, machine
from published import Published, wheel

from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.collect import collect_candidates
from gpuenv.resolution.resolve import build_input, decide
from gpuenv.resolution.rules import availability
from gpuenv.resolution.target import choose_target

H100 = gpu_machine("580.95.05", "9.0")
NAME = "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
# GPU generations against the drivers that people have: the table that the issue holds the decision to
MACHINES = (
    ("470.57.02", "3.7"), ("580.65.06", "6.1"), ("535.104.05", "6.0"), ("535.104.05", "7.0"),
    ("580.95.05", "7.0"), ("450.80.02", "7.0"), ("460.91.03", "8.6"), ("470.57.02", "8.0"),
    ("525.60.11", "8.9"), ("525.60.13", "7.5"), ("550.54.14", "8.9"), ("535.104.05", "9.0"),
    ("570.133.07", "12.0"), ("570.133.07", "10.0"), ("580.95.05", "12.0"), ("580.95.05", "9.0"),
    ("535.104.05", "7.0", "8.0"), ("570.133.07", "8.6"), ("535.104.05", "8.0"), ("470.57.02", "7.5"),
    ("418.87.00", "7.5"), ("580.95.05", "6.1", "12.0"),
)  # fmt: skip


def test_a_listed_build_is_in_reach() -> None:
    assert not availability.check(case("2.7.1", "cu126", "sm_80", NAME), (listing(problem="down"),))


def test_a_build_that_no_page_lists_is_told_with_the_pages_read() -> None:
    pages = (listing(), listing(kind="pypi"))
    (failure,) = availability.check(case(), pages)
    assert failure.detail == (
        "torch 2.7.1+cu126 is known to the matrix, but not listed on https://pytorch.example.com/torch/, "
        "https://pypi.example.com/torch/"
    )
    assert (
        availability.check(case(), ())[0].detail
        == "torch 2.7.1+cu126 is known to the matrix, but no index was read"
    )


def test_a_page_that_may_hold_the_build_and_did_not_answer_is_named() -> None:
    (failure,) = availability.check(case(), (listing(kind="pypi"), listing(problem="timed out")))
    assert failure.kind == "down"
    assert failure.detail == (
        "torch 2.7.1+cu126: https://pytorch.example.com/torch/, where it may be, could not be read "
        "(timed out)"
    )
    (failure,) = availability.check(case(), (listing(kind="pypi", problem="timed out"), listing()))
    assert failure.kind == "absent"


def test_many_builds_are_told_in_one_sentence() -> None:
    failures = tuple(availability.check(case(f"2.{minor}.0"), (listing(),))[0] for minor in range(6))
    assert failures[0].summarize(failures) == (
        "torch 2.0.0+cu126, torch 2.1.0+cu126, torch 2.2.0+cu126, torch 2.3.0+cu126 and 2 more builds are "
        "known to the matrix, but not listed on https://pytorch.example.com/torch/"
    )


def test_yanked_files_and_those_of_other_systems_do_not_count() -> None:
    files = (
        wheel(NAME, yanked=True),
        wheel("torch-2.7.1+cu126-cp312-cp312-win_amd64.whl"),
        wheel("torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_aarch64.whl"),
    )
    candidates = collect_candidates(
        (listing(*files),), choose_target((H100,), (), cpu=False), load_knowledge()
    )
    assert not any(build.files for build in candidates)


def test_somebodys_own_build_is_never_taken_for_pypis() -> None:
    own = wheel("torch-2.7.1+git1234-cp312-cp312-linux_x86_64.whl")
    foreign = wheel("torch-2.7.1+rocm6.3-cp312-cp312-linux_x86_64.whl")
    candidates = collect_candidates(
        (listing(own, foreign),), choose_target((H100,), (), cpu=False), load_knowledge()
    )
    assert not any(build.files for build in candidates if build.variant.is_cuda_or_cpu)


def test_a_file_without_local_version_is_pypis_build_of_that_release() -> None:
    file = wheel("torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl")
    candidates = collect_candidates(
        (listing(file, kind="pypi"),), choose_target((H100,), (), cpu=False), load_knowledge()
    )
    (build,) = (build for build in candidates if build.files)
    assert build.label == "torch 2.7.1 (cu126)"


def test_pypi_alone_serves_20_of_22_machines_and_never_with_a_cpu_build() -> None:
    alone = Published(pytorch="absent")
    served = []
    for driver, *gpus in MACHINES:
        python = "3.11" if driver.startswith("418") else None
        plan = decided(Asked((gpu_machine(driver, *gpus),), python=python, published=alone)).plan
        served += [plan] if plan else []
    assert len(served) == 20
    assert all(plan.variant.startswith("cu") and "+" not in plan.packages[0].version for plan in served)


def test_a_yanked_file_is_called_so() -> None:
    (failure,) = availability.check(case(), (listing(wheel(NAME, yanked=True)),))
    assert failure.detail == "torch 2.7.1+cu126 was yanked from https://pytorch.example.com/torch/"
    other = wheel(NAME.replace("cu126", "cu128"), yanked=True)
    (failure,) = availability.check(case(), (listing(other),))
    assert failure.kind == "absent"


def test_offline_a_file_that_is_here_comes_before_newer_ones_that_are_only_assumed() -> None:
    question = Asked((machine({}),), ("torch",), published=Published(offline=True)).question()
    assert decide(question).choices[0].is_assumed
    here = listing(wheel("torch-2.12.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"), kind="directory")
    listings = (here, *question.listings)
    again = build_input(question.request, question.target, question.knowledge, listings, question.pythons)
    best = decide(again).choices[0]
    assert not best.is_assumed
