"""The decision against an independent one, and what must hold of every decision on every machine.

The independent one, `raw_rows.runs`, says in a few lines whether a build runs on a GPU under a driver.
"""

from __future__ import annotations

from typing import Any

from deciding import Asked, Outcome, decided, machine
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from published import Published
from raw_rows import CUDA_ROWS, runs

from gpuenv import matrices
from gpuenv.model.machine import DriverVersion, Machine
from gpuenv.model.variant import CudaVersion
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.report.refusal import asked_for
from gpuenv.resolution.resolve import decide
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code

KNOWLEDGE = load_knowledge()
CAPABILITIES = sorted(
    {cc for row in CUDA_ROWS if row["kind"] == "architecture" for cc in row["compute_capabilities"]}
)
DRIVERS = (
    "384.81", "390.87", "396.37", "410.48", "418.39", "418.87.00", "440.33.01", "450.36.06", "450.51.06",
    "450.80.02", "460.91.03", "470.57.02", "510.39.01", "525.60.11", "525.60.13", "535.104.05", "550.54.14",
    "560.28.03", "570.133.07", "575.51.03", "580.65.05", "580.65.06", "590.44.01", "595.45.04", "610.12",
)  # fmt: skip
GPUS = st.lists(st.sampled_from(CAPABILITIES), min_size=1, max_size=2)
SYSTEMS = st.sampled_from(
    [{}, {"wsl": True}, {"platform": "win-64"}, {"platform": "linux-aarch64"}, {"glibc": "2.17"}]
)
MACHINES = st.builds(
    lambda stated, gpus, system: machine({"driver": stated, "gpus": gpus, **system}),
    st.sampled_from(DRIVERS), GPUS, SYSTEMS,
)  # fmt: skip
REQUIREMENTS = st.sampled_from(
    [(), ("torch",), ("torch==1.13.1",), ("torch==2.1.2", "torchvision"), ("torch>=2.7",), ("torch==2.15.0",),
     ("torch<2", "torchvision"), ("torch", "torchaudio"), ("torch==2.6", "torchvision==0.20.0"),
     ("torch==9.9",),
     ("torchvision==0.15.2",), ("torch", "torchtext")]
)  # fmt: skip
QUESTIONS = st.builds(
    Asked,
    st.one_of(st.tuples(MACHINES), st.just((machine({}),))),
    REQUIREMENTS,
    st.sampled_from([None, None, "3.11", "3.8", ">=3.12"]),
    st.sampled_from([None, None, "11.8", "12.6", "cpu"]),
    published=st.sampled_from([Published(), Published(pytorch="down"), Published(pypi="absent")]),
)
SLOW = examples(4, 60)


# properties


@SLOW
@given(MACHINES)
def test_the_rules_agree_with_an_independent_reading_of_the_matrices(one: Machine) -> None:
    question = Asked((one,)).question()
    system = driver.driver_os(one)
    by_row = {
        (row["torch"], row["variant"], row["platform"], row["index"]): row for row in matrices.load("torch")
    }
    for case in question.candidates:
        if case.row is None or case.variant.is_cpu or one.driver is None:
            continue
        row = by_row[str(case.row.torch), str(case.variant), case.row.platform, case.row.index]
        judged = (
            *driver.check(case, question.target, KNOWLEDGE),
            *gpu_code.check(case, question.target, KNOWLEDGE),
            *bundled_libraries.check(case, question.target, KNOWLEDGE),
        )
        expected = all(
            runs(row, str(gpu.compute_capability), str(one.driver.version), system, len(one.gpus))
            for gpu in one.gpus
        )
        assert (not judged) is expected, (case.label, judged)


@SLOW
@given(QUESTIONS)
def test_the_plan_is_the_best_by_the_documented_order(asked: Asked) -> None:
    outcome = decided(asked)
    if outcome.decision is None or outcome.choice is None:
        return
    best = max(outcome.decision.choices, key=preference)
    assert preference(outcome.choice) == preference(best)
    assert preferences_fall(outcome.decision.choices)


def preference(solution: Solution) -> tuple[Any, ...]:
    """Newest torch, listed over assumed, native, newest CUDA, sound and newest Python, index."""
    listed = not any(item.file.assumed for item in solution.files)
    cuda = solution.candidate.cuda or CudaVersion(0, 0)
    sound = not any(row.avoid for row in solution.known_bad)
    return (
        solution.candidate.torch,
        listed,
        solution.native,
        cuda,
        sound,
        solution.python.minor,
        -solution.torch.order,
    )


def preferences_fall(solutions: tuple[Solution, ...]) -> bool:
    ranks = [preference(solution) for solution in solutions]
    return ranks == sorted(ranks, reverse=True)


@SLOW
@given(QUESTIONS)
def test_no_gpu_gets_a_cpu_build_and_no_wish_is_forgotten(asked: Asked) -> None:
    outcome = decided(asked)
    if outcome.choice is None or outcome.plan is None:
        return
    choice, request = outcome.choice, asked.request()
    if asked.machines[0].gpus and asked.cuda != "cpu":
        assert not choice.candidate.variant.is_cpu
    assert request.admits("torch", choice.torch.file.version)
    assert request.variant in (None, choice.candidate.variant)
    assert {item.file.name for item in choice.companions} == set(request.companions)
    assert all(request.admits(item.file.name, item.file.version) for item in choice.companions)
    torch = choice.candidate.torch
    assert all(item.release in KNOWLEDGE.companions_of(torch)[item.file.name] for item in choice.companions)
    audio = [item for item in choice.companions if item.file.name == "torchaudio"]
    assert all((item.file.variant or choice.candidate.variant) == choice.candidate.variant for item in audio)


@SLOW
@given(QUESTIONS)
def test_a_refusal_has_reasons_and_fixes_that_hold(asked: Asked) -> None:
    outcome = decided(asked)
    if outcome.error is None or outcome.decision is None:
        return
    assert outcome.error.because
    for fix in outcome.error.fixes:
        if fix.command and fix.command.startswith("gpuenv plan"):
            assert decided(asked.again(fix.command)).plan is not None, fix
        if fix.text.startswith("update the driver to"):
            assert_least(asked, fix.text.split()[4])


def assert_least(asked: Asked, told: str) -> None:
    """The driver that is named does, and none of those known that are older does."""
    assert with_driver(asked, told).plan is not None
    older = [item for item in DRIVERS if DriverVersion(item) < DriverVersion(told)]
    stated = asked.machines[0].driver
    newer = [item for item in older if stated and DriverVersion(item) > stated.version]
    assert all(with_driver(asked, item).plan is None for item in newer[-3:])


def with_driver(asked: Asked, stated: str) -> Outcome:
    item = asked.machines[0]
    short = {
        "driver": stated,
        "gpus": [str(gpu.compute_capability) for gpu in item.gpus],
        "wsl": item.system.wsl,
        "platform": asked.question().target.platform,
    }
    glibc = {} if item.system.libc_version is None else {"glibc": item.system.libc_version}
    return decided(
        Asked(
            (machine({**short, **glibc}),), asked.requirements, asked.python, asked.cuda, (), asked.published
        )
    )


@SLOW
@given(QUESTIONS)
def test_advice_is_true(asked: Asked) -> None:
    outcome = decided(asked)
    if outcome.plan is None or outcome.choice is None:
        return
    for advice in outcome.plan.advice:
        words = advice.text.split()
        if " needs driver " in advice.text:
            better = with_driver(asked, words[4])
            assert better.choice is not None
            assert better.choice.candidate.torch == Version(words[1]) > outcome.choice.candidate.torch
        if " needs Python " in advice.text:
            other = Asked(asked.machines, asked.requirements, words[4], asked.cuda, (), asked.published)
            choice = decided(other).choice
            assert choice is not None
            assert choice.candidate.torch == Version(words[1]) > outcome.choice.candidate.torch


@SLOW
@given(QUESTIONS)
def test_every_build_is_a_choice_or_rejected_with_its_facts(asked: Asked) -> None:
    outcome = decided(asked)
    if outcome.decision is None:
        return
    chosen = {id(choice.candidate) for choice in outcome.decision.choices}
    rejected = {id(item.candidate) for item in outcome.decision.rejected}
    assert not chosen & rejected
    assert all(item.failures for item in outcome.decision.rejected)
    for item in asked_for(outcome.decision.rejected):
        assert all(failure.detail and failure.source for failure in item.failures)


def test_a_question_without_listings_pythons_or_known_builds_is_answered() -> None:
    nothing = Asked((machine({"driver": "535.104.05", "gpus": ["9.0"]}),), pythons=())
    assert not decide(nothing.question()).choices
    assert decided(nothing).error is not None
