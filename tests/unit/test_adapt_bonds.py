"""What torch and packages beside it pin of each other decides which of them moves."""

from __future__ import annotations

import pytest
from deciding import gpu_machine
from lefts import adapted, left, question_of
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv import matrices
from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.bonds import broken_bonds
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer

RTX_4090 = gpu_machine("550.54.14", "GeForce RTX 4090")
RTX_5090 = gpu_machine("580.95.05", "GeForce RTX 5090")


def changed(project: Project, here: Machine) -> list[str]:
    return [f"{item.old} -> {item.new}" for item in adapted(project, here)[1]]


def torch_for(project: Project, here: Machine) -> str:
    return str(adapted(project, here)[0].choices[0].candidate.torch)


def test_a_pin_of_what_torch_pins_itself_follows_the_torch_that_is_pinned() -> None:
    project = left("torch==2.5.1", "triton==3.0.0")
    changes = adapted(project, RTX_4090)[1]
    assert [(item.old, item.new, item.why) for item in changes] == [
        ("triton==3.0.0", "triton==3.1.0", "torch 2.5.1 requires triton==3.1.0")
    ]


def test_it_follows_the_torch_that_moves() -> None:
    changes = changed(left("torch==2.5.1", "triton==3.0.0 ; sys_platform == 'linux'"), RTX_5090)
    assert "torch==2.5.1 -> torch==2.7.0+cu128" in changes
    assert "triton==3.0.0 ; sys_platform == 'linux' -> triton==3.3.0; sys_platform == \"linux\"" in changes


def test_torch_that_no_file_pins_is_chosen_by_the_pin_of_what_it_requires() -> None:
    project = left("triton==2.1.0", "torch>=2.0", "numpy==1.26.2")
    assert torch_for(project, RTX_4090) == "2.1.2"
    assert changed(project, RTX_4090) == []


def test_a_least_release_that_torch_requires_moves_a_pin_below_it_no_further() -> None:
    assert changed(left("torch==2.6.0", "typing-extensions==4.8.0"), RTX_4090) == [
        "typing-extensions==4.8.0 -> typing-extensions==4.10.0"
    ]


def test_what_goes_with_torch_as_it_stands_is_left_alone() -> None:
    lines = ("torch==2.6.0", "triton>=3.0", "typing-extensions==4.12.2", "sympy==1.13.1", "jinja2==3.1.0")
    assert changed(left(*lines), RTX_4090) == []


@pytest.mark.parametrize(
    "beside",
    [
        (),
        pytest.param(("torch>=2.0",), marks=pytest.mark.slow),
        pytest.param(("torch",), marks=pytest.mark.slow),
    ],
)
def test_a_package_whose_releases_pin_torch_chooses_it(beside: tuple[str, ...]) -> None:
    project = left("vllm==0.6.3", *beside)
    assert torch_for(project, RTX_4090) == "2.4.0"
    assert changed(project, RTX_4090) == []


def test_it_moves_to_its_nearest_release_for_a_torch_that_runs_here() -> None:
    nearest, changes = adapted(left("vllm==0.6.3"), RTX_5090)
    assert ("vllm==0.6.3", "vllm==0.9.0") in [(item.old, item.new) for item in changes]
    assert nearest.choices[0].candidate.torch == Version("2.7.0")


def test_it_moves_where_torch_is_pinned_to_another() -> None:
    assert changed(left("torch==2.5.1", "vllm==0.6.3"), RTX_4090) == ["vllm==0.6.3 -> vllm==0.6.4"]


def test_one_without_a_known_release_for_the_pinned_torch_stays_and_is_named() -> None:
    nearest, changes = adapted(left("torch==2.15.0", "vllm==0.6.3"), RTX_5090)
    pins = [(pin.project, pin.text) for pin in nearest.moved(nearest.choices[0])]
    assert pins == [("vllm", None)]
    assert changes == ()


@pytest.mark.slow
def test_each_build_goes_with_what_its_row_pins_and_with_no_other_release() -> None:
    question = question_of(left("torch"), RTX_4090)
    python, rows = PythonOffer("3.12"), matrices.load("dependencies")
    pinned = {
        (row["torch"], row["variant"]): {item for item in row["requires"] if item.startswith("triton")}
        for row in rows
        if row["kind"] == "build" and row["platform"] == "linux-64"
    }
    releases = set().union(*pinned.values())
    compared = 0
    for triton in sorted(item for item in releases if "==" in item):
        requirements = (*question.request.requirements, Requirement(triton))
        asking = question.with_request(replace(question.request, requirements=requirements))
        for candidate in question.candidates:
            own = pinned.get((str(candidate.torch), str(candidate.variant)), set())
            broken = [pin.text for pin in broken_bonds(candidate, python, asking)]
            assert broken == ([] if not own or triton in own else sorted(own)), candidate.label
            compared += bool(own)
    assert compared > len(releases)


def test_condas_torch_is_not_judged_by_what_wheels_require() -> None:
    question = question_of(left("torch==2.5.1", "triton==3.0.0"), RTX_4090)
    wheels = next(item for item in question.candidates if str(item.torch) == "2.5.1" and item.kind == "pypi")
    assert broken_bonds(wheels, PythonOffer("3.12"), question)
    assert not broken_bonds(replace(wheels, kind="conda"), PythonOffer("3.12"), question)
