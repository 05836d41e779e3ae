"""Pythons of machines that nothing is brought to: they limit the plan, and are told apart."""

from __future__ import annotations

import pytest
from deciding import Asked, decided, gpu_machine
from fleets import fleet_of
from msgspec.structs import replace

from gpuenv.fleet.grouping.groups import split
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import FoundPython, Machine
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.target import choose_target

H100 = gpu_machine("580.95.05", "NVIDIA H100")


def knowledge() -> Knowledge:
    return load_knowledge()


def with_pythons(*versions: str) -> Machine:
    return replace(
        H100, pythons=tuple(FoundPython(version, f"/usr/bin/python{version}") for version in versions)
    )


@pytest.mark.parametrize("versions", [(), ("3.8.18",), ("3.8.18", "3.11.2")])
def test_a_node_has_the_pythons_it_told_and_no_others(versions: tuple[str, ...]) -> None:
    """Not even those that uv would bring, nor any where it told of none."""
    options = PlanOptions(manager="pip", on_nodes=True)
    target = choose_target((with_pythons(*versions),), (), cpu=False)
    offers = offer_pythons(options, "pip", target, knowledge(), {})
    assert sorted(offer.version for offer in offers) == sorted(versions)
    assert all(offer.installed and offer.path is None for offer in offers)


def test_a_command_to_repeat_has_no_option_that_a_fleet_has_not() -> None:
    assert PlanOptions(manager="pip", on_nodes=True, offline=True).as_typed == (("--offline", ""),)


def test_machines_that_share_no_python_share_no_plan() -> None:
    machines = [H100, H100, H100]
    question = Asked((H100,)).question()
    kinds, resolver = fleet_of(machines, question, [["3.8"], ["3.12"], ["3.8", "3.12"]])
    assert len(kinds) == 3
    assert len(split(kinds, resolver).groups) == 2


def test_an_old_python_gets_the_torch_that_has_wheels_for_it_and_hears_what_a_newer_would_bring() -> None:
    old = decided(Asked((H100,), pythons=("3.8",), manager="pip"))
    assert old.plan is not None
    assert old.plan.python == "3.8"
    (advice,) = (item for item in old.plan.advice if "Python" in item.needs)
    words = advice.text.split()
    newer = decided(Asked((H100,), (f"torch=={words[1]}",), pythons=(words[4],), manager="pip"))
    assert newer.plan is not None
    assert newer.plan.packages[0].version.startswith(words[1])
    before = f"3.{int(words[4].partition('.')[2]) - 1}"
    assert decided(Asked((H100,), (f"torch=={words[1]}",), pythons=(before,), manager="pip")).plan is None


def test_a_python_that_has_everything_needs_no_advice() -> None:
    plan = decided(Asked((H100,))).plan
    assert plan is not None
    assert [item for item in plan.advice if "Python" in item.needs] == []


def test_no_python_at_all_is_a_reason() -> None:
    refused = decided(Asked((H100,), pythons=(), manager="pip"))
    assert refused.error is not None
    assert "no Python" in str(refused.error.because)
