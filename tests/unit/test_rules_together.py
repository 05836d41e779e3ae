"""What rules remember of targets, builds and files: a target is judged as its machines are, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from deciding import Asked, gpu_machine
from fleets import DRIVERS, GLIBCS
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.cli.language import speak
from gpuenv.model.machine import Machine
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.rules import bundled_libraries, driver, gpu_code
from gpuenv.resolution.rules.platform_tags import fitting
from gpuenv.resolution.target import Target, choose_target

GPUS = ("Tesla K80", "GeForce GTX 1080 Ti", "Tesla V100", "A100", "GeForce RTX 3090", "GeForce RTX 5090")
MACHINES = st.builds(
    lambda version, gpus, glibc: gpu_machine(version, *gpus, glibc=glibc),
    st.sampled_from(DRIVERS),
    st.lists(st.sampled_from(GPUS), min_size=1, max_size=3),
    st.sampled_from(GLIBCS),
)
BUILDS = st.integers(0, 10_000)


@cache
def asked() -> ResolutionInput:
    return Asked((gpu_machine("580.95.05", "NVIDIA H100"),)).question()


def build_of(number: int) -> Candidate:
    candidates = [candidate for candidate in asked().candidates if candidate.cuda]
    return candidates[number % len(candidates)]


def target_of(machines: Sequence[Machine]) -> Target:
    return choose_target(tuple(machines), (), cpu=False)


CHECKS: dict[str, Callable[[Candidate, Target], Sequence[Failure]]] = {
    "driver": lambda build, target: driver.check(build, target, asked().knowledge),
    "kernels": lambda build, target: gpu_code.check(build, target, asked().knowledge),
    "library": lambda build, target: bundled_libraries.check(build, target, asked().knowledge),
}


@pytest.mark.parametrize("rule", CHECKS)
@given(st.lists(MACHINES, min_size=1, max_size=5), BUILDS)
def test_machines_together_fail_for_what_one_of_them_fails_for(
    rule: str, machines: list[Machine], number: int
) -> None:
    build, check = build_of(number), CHECKS[rule]
    alone = {failure.key for machine in machines for failure in check(build, target_of([machine]))}
    target = target_of(machines)
    together = check(build, target)
    assert {failure.key for failure in together} == alone
    assert check(build, target) == together
    assert check(build, target_of(machines)) == together


@given(st.lists(MACHINES, min_size=1, max_size=4), BUILDS)
def test_a_gpu_fails_in_its_own_words_whatever_was_judged_before(
    machines: list[Machine], number: int
) -> None:
    build = build_of(number)
    for machine in machines:
        target = target_of([machine])
        labels = {gpu.label for gpu in target.gpus}
        for rule in ("kernels", "library"):
            assert all(
                any(label in failure.detail for label in labels) for failure in CHECKS[rule](build, target)
            )


@given(st.lists(MACHINES, min_size=1, max_size=4), BUILDS)
def test_the_files_that_fit_machines_are_those_that_fit_each(machines: list[Machine], number: int) -> None:
    files = build_of(number).files
    each = [fitting(files, target_of([machine])) for machine in machines]
    expected = tuple(item for item in files if all(item in fits for fits in each))
    assert fitting(files, target_of(machines)) == expected


@pytest.fixture
def english_after() -> Iterator[None]:
    yield
    speak("en")


@pytest.mark.usefixtures("english_after")
@pytest.mark.parametrize("rule", CHECKS)
def test_what_was_said_in_one_language_is_not_remembered_in_another(rule: str) -> None:
    target = target_of([gpu_machine("470.256.02", "Tesla K80", "GeForce RTX 5090")])
    builds = [build_of(number) for number in range(0, 400, 7)]
    said = {}
    for language in ("en", "zh", "en"):
        speak(language)
        said[language] = [failure.detail for build in builds for failure in CHECKS[rule](build, target)]
    assert said["en"]
    assert all(text.isascii() for text in said["en"])
    assert not any(text.isascii() for text in said["zh"])
