"""The fewest groups of machines: against every way to part them, decided one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from deciding import PYTHONS, Asked, gpu_machine, machine
from examples import examples
from fleets import DRIVERS, GLIBCS, fleet_of, members_of, plain, table_gpus
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.version import Version
from published import Published

from gpuenv.fleet.grouping.groups import Split, split
from gpuenv.fleet.grouping.machine_classes import MachineClass, equivalence_classes, shared_pythons
from gpuenv.fleet.grouping.set_cover import bits
from gpuenv.model.machine import Machine
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.target import choose_target

GPUS = (
    "Tesla K80", "GeForce GTX 980", "GeForce GTX 1080 Ti", "Tesla P100", "Tesla V100", "Tesla T4", "A100",
    "GeForce RTX 3090", "GeForce RTX 4090", "NVIDIA H100", "B200", "GeForce RTX 5090",
)  # fmt: skip


@cache
def everything(*requirements: str) -> ResolutionInput:
    return Asked((gpu_machine("580.95.05", "NVIDIA H100"),), requirements).question()


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    glibc = draw(st.sampled_from(GLIBCS))
    gpus = draw(st.lists(st.sampled_from(GPUS), max_size=2))
    if not gpus:
        return machine({"glibc": glibc})
    return gpu_machine(draw(st.sampled_from(DRIVERS)), *gpus, glibc=glibc, wsl=draw(st.booleans()))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Machine], list[list[str]]]:
    result = draw(st.lists(machines(), min_size=1, max_size=5))
    subsets = st.lists(st.sampled_from(PYTHONS[1:6]), min_size=1, max_size=4, unique=True)
    return result, [draw(subsets) for _ in result]


PLACES = st.sets(st.integers(0, 999), min_size=3, max_size=12)


def with_some_cases(question: ResolutionInput, places: set[int]) -> ResolutionInput:
    """Leave few builds to decide between: numbers are drawn, as hypothesis would print builds at length."""
    builds = question.candidates
    chosen = {position % len(builds) for position in places}
    # one for the CPU is always there: without any, machines without a GPU hang on the others' builds
    chosen |= {position for position, build in enumerate(builds) if build.label == "torch 2.6.0+cpu"}
    return replace(question, candidates=tuple(builds[position] for position in sorted(chosen)))


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for parts in partitions(rest):
        yield [[first], *parts]
        for position in range(len(parts)):
            yield [*parts[:position], [first, *parts[position]], *parts[position + 1 :]]


def by_hand(
    question: ResolutionInput, result: list[Machine], pythons: list[list[str]]
) -> tuple[set[int], object]:
    """Decide for every set of the machines; return those that nothing serves and the cost of the best."""

    @cache
    def newest(numbers: tuple[int, ...]) -> Version | None:
        shared = set.intersection(*(set(pythons[number]) for number in numbers))
        target = choose_target(tuple(result[number] for number in numbers), (), cpu=False)
        offers = tuple(PythonOffer(version) for version in sorted(shared))
        solutions = decide(replace(question, target=target, pythons=offers)).choices
        return solutions[0].candidate.torch if solutions else None

    everyone = range(len(result))
    sets = (numbers for size in range(1, len(result) + 1) for numbers in combinations(everyone, size))
    # beside others, as a machine without a GPU may have no CPU build and yet run theirs
    served = sorted({number for numbers in sets if newest(numbers) for number in numbers})
    costs = []
    for parts in partitions(served):
        torches = [newest(tuple(part)) for part in parts]
        if all(torches):
            costs.append((len(parts), sorted(torch.release for torch in torches if torch)))
    best = min(costs, default=(0, []), key=_worse)
    return set(everyone) - set(served), best


def _worse(cost: tuple[int, list[tuple[int, ...]]]) -> object:
    count, torches = cost
    return count, [tuple(-part for part in torch) for torch in torches]


def outcome(parted: Split, machine_classes: tuple[MachineClass, ...]) -> tuple[set[int], object]:
    unserved = {number for bit in bits(parted.unserved) for number in machine_classes[bit].numbers}
    torches = sorted(group.choice.candidate.torch.release for group in parted.groups)
    return unserved, (len(torches), torches)


def number_alone(told: tuple[set[int], Any]) -> object:
    """What is promised where machines without a GPU are shared out at the end, by builds of their own.

    Two of one kind might go with two groups, each to make a CUDA build do for others that have no GPU.
    """
    unserved, (count, _) = told
    return unserved, count


@examples(15, 120)
@given(fleets(), PLACES)
def test_no_other_way_to_part_the_machines_is_better(
    fleet: tuple[list[Machine], list[list[str]]], places: set[int]
) -> None:
    """Fewer groups, or, where all have GPUs, as many of which the oldest torch is newer."""
    result, pythons = fleet
    question = with_some_cases(everything("torch"), places)
    kinds, resolver = fleet_of(result, question, pythons)
    parted, best = outcome(split(kinds, resolver), kinds), by_hand(question, result, pythons)
    if any(item.without_gpu for item in result):
        parted, best = number_alone(parted), number_alone(best)
    assert parted == best  # names alone: what pytest prints of questions takes minutes


@examples(8, 60)
@given(st.lists(machines(), min_size=1, max_size=4), PLACES)
def test_it_holds_for_companions_with_code_of_their_own(found: list[Machine], places: set[int]) -> None:
    question = with_some_cases(everything("torch", "xformers"), places)
    same = [machine_with(item, "2.35") for item in found]  # the shelf of `everything` is that of one glibc
    pythons = [list(PYTHONS)] * len(same)
    kinds, resolver = fleet_of(same, question, pythons)
    parted, best = outcome(split(kinds, resolver), kinds), by_hand(question, same, pythons)
    assert parted == best


def machine_with(item: Machine, glibc: str) -> Machine:
    return replace(item, system=replace(item.system, libc_version=glibc))


@examples(2, 12)
@given(st.lists(machines(), min_size=1, max_size=12))
def test_every_group_is_decided_for_all_its_machines_together(found: list[Machine]) -> None:
    question = everything("torch")
    kinds, resolver = fleet_of(found, question)
    parted = split(kinds, resolver)
    numbers: list[int] = []
    for group in parted.groups:
        members = [number for bit in bits(group.mask) for number in kinds[bit].numbers]
        together = Asked(tuple(found[number] for number in sorted(members)), ("torch",))
        labels = [solution.candidate.label for solution in decide(together.question()).choices]
        assert group.choice.candidate.label == labels[0]
        numbers += members
    unserved = [number for bit in bits(parted.unserved) for number in kinds[bit].numbers]
    assert sorted(numbers + unserved) == list(range(len(found)))
    for number in unserved:
        alone = decide(Asked((found[number],), ("torch",)).question())
        assert len(alone.choices) == 0


@examples(6, 50)
@given(st.lists(machines(), min_size=2, max_size=2))
def test_machines_of_one_kind_have_the_same_choices(pair: list[Machine]) -> None:
    question = everything("torch")
    if len(equivalence_classes(members_of(pair), question)) > 1:
        return
    decision, other = (
        decide(replace(question, target=choose_target((each,), (), cpu=False))) for each in pair
    )
    assert [(solution.candidate, solution.python) for solution in decision.choices] == [
        (solution.candidate, solution.python) for solution in other.choices
    ]


def test_what_differs_in_nothing_that_a_rule_reads_is_one_kind() -> None:
    """The names of GPUs, their number beyond two and the patch release of a driver are nothing to a rule."""
    values = [
        gpu_machine("535.104.05", "A100"),
        gpu_machine("535.183.01", "NVIDIA A100-SXM4-80GB"),
        gpu_machine("535.104.05", "A100", container="docker"),
        *(gpu_machine("535.104.05", *["A100"] * count) for count in (2, 4, 8)),
    ]
    kinds, _ = fleet_of(values, everything("torch"))
    assert [kind.numbers for kind in kinds] == [(0, 1, 2), (3, 4, 5)]


@pytest.mark.parametrize(
    ("found", "torches"),
    [
        ([("535.183.01", "NVIDIA H100"), ("580.95.05", "NVIDIA H100")], ["2.14.1+cu126"]),
        ([("580.95.05", "GeForce RTX 5090"), ("580.95.05", "Tesla V100")], ["2.10.0+cu129"]),
        ([("580.95.05", "B200"), ("580.95.05", "Tesla P100")], ["2.15.0+cu130", "2.14.1+cu126"]),
        ([("470.256.02", "Tesla K80"), ("580.95.05", "B200")], ["2.15.0+cu130", "2.3.1+cu118"]),
    ],
)
def test_what_labs_have(found: list[tuple[str, str]], torches: list[str]) -> None:
    kinds, resolver = fleet_of([plain(*each) for each in found], everything())
    parted = split(kinds, resolver)
    labels = [f"{group.choice.candidate.torch}+{group.choice.candidate.variant}" for group in parted.groups]
    assert labels == torches
    assert not parted.unserved


def test_a_machine_without_a_gpu_goes_with_those_that_have_one_and_gets_a_cpu_build_alone() -> None:
    login, gpu = machine({}), gpu_machine("535.183.01", "NVIDIA H100")
    kinds, resolver = fleet_of([login, gpu], everything())
    assert [group.choice.candidate.label for group in split(kinds, resolver).groups] == ["torch 2.14.1+cu126"]
    kinds, resolver = fleet_of([login], everything())
    assert [str(group.choice.candidate.variant) for group in split(kinds, resolver).groups] == ["cpu"]


def test_an_old_system_without_a_gpu_does_not_keep_the_others_from_a_newer_torch() -> None:
    """It alone needs another group, and gets the CPU build that its glibc admits."""
    old, new = machine({"glibc": "2.17"}), gpu_machine("580.95.05", "GeForce RTX 5090")
    kinds, resolver = fleet_of([old, new], everything())
    parted = split(kinds, resolver)
    assert [str(group.choice.candidate.variant) for group in parted.groups] == ["cu130", "cpu"]


def test_nothing_is_served_where_nothing_is_listed() -> None:
    values = [plain(driver, "NVIDIA H100") for driver in DRIVERS]
    question = Asked((values[-1],), ("torch==99",), published=Published()).question()
    kinds, resolver = fleet_of(values, question)
    parted = split(kinds, resolver)
    assert parted.groups == ()
    assert list(bits(parted.unserved)) == list(range(len(kinds)))


def test_machines_without_a_python_in_common_are_apart() -> None:
    values = [gpu_machine("535.183.01", "NVIDIA H100")] * 2
    kinds, resolver = fleet_of(values, everything(), [["3.10"], ["3.12"]])
    parted = split(kinds, resolver)
    assert sorted(group.choice.python.short for group in parted.groups) == ["3.10", "3.12"]


@pytest.mark.slow
def test_a_fleet_of_all_gpus_of_the_table_is_served_but_for_those_that_no_build_is_for() -> None:
    names = table_gpus()
    values = [plain("580.95.05", name) for name in names]
    kinds, resolver = fleet_of(values, everything("torch"))
    parted = split(kinds, resolver)
    places = [bit for group in parted.groups for bit in bits(group.mask)]
    held = {number for position in places for number in kinds[position].numbers}
    for number in set(range(len(values))) - held:
        alone = decide(Asked((values[number],), ("torch",)).question())
        assert len(alone.choices) == 0
    assert len(parted.groups) < 6


def test_shared_pythons_are_those_that_all_have() -> None:
    first = (PythonOffer("3.12.4", "/a", installed=True), PythonOffer("3.11.2", "/b", installed=True))
    second = (PythonOffer("3.12.7", "/c", installed=True), PythonOffer("3.11.2"), PythonOffer("3.9"))
    assert set(shared_pythons((first, second))) == {
        PythonOffer("3.12", installed=True),
        PythonOffer("3.11.2", installed=False),
    }
