"""The user's other requirements decide which torch; what no torch can help ends the search."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from building import on
from deciding import gpu_machine
from msgspec.structs import replace
from packaging.version import Version
from plans import plan as planned

from gpuenv.installers.uv_compile import Resolved, ResolvedFile
from gpuenv.installers.uv_failure import Demand, Unresolvable
from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import Plan, PlannedPackage, Sources
from gpuenv.planning import resolve_others as joint
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.resolve_others import only_fitting
from gpuenv.planning.steps import resolver_question
from gpuenv.resolution.decision import Solution


def choices(*releases: str, pythons: tuple[str, ...] = ("3.12",)) -> tuple[Solution, ...]:
    """Stand-ins with what the search looks at: release, variant and Python."""
    return tuple(
        cast(
            "Solution",
            SimpleNamespace(
                candidate=SimpleNamespace(torch=Version(release), variant="cu126"),
                python=SimpleNamespace(short=python),
            ),
        )
        for release in releases
        for python in pythons
    )


def plan_for(solution: Solution, resolved: tuple[PlannedPackage, ...]) -> Plan:
    pin = f"torch=={solution.candidate.torch}"
    nowhere = Sources(None, (), ())
    return Plan(
        (), solution.python.short, None, "cu126", "uv", resolved, (pin,), (), (), nowhere, (), (), (), (), ()
    )


class Resolver:
    """Fails as it is told, by pin and Python; remembers what it was asked."""

    def __init__(self, failures: dict[str, Unresolvable]) -> None:
        self.failures = failures
        self.asked: list[str] = []

    def __call__(self, plan: Plan, wheels_only: tuple[str, ...]) -> Resolved | Unresolvable:
        assert not wheels_only
        key = f"{plan.pins[0]} {plan.python}"
        self.asked.append(key)
        return self.failures.get(key) or self.failures.get(plan.pins[0]) or Resolved(())


def resolve_jointly(every: tuple[Solution, ...], plans: Any, compiled: Any, wheels: bool = False) -> Plan:
    """Resolve; whether the index has `wheels` of what would be built is told once for all."""
    return joint.resolve_jointly(every, plans, compiled, lambda _: wheels)


def needs(package: str, torch: str) -> Unresolvable:
    return Unresolvable(f"Because {package} depends on {torch}", (Demand(package, torch),))


def test_the_first_choice_is_taken_where_it_holds() -> None:
    resolver = Resolver({})
    plan = resolve_jointly(choices("2.14.1", "2.13.0"), plan_for, resolver)
    assert plan.pins == ("torch==2.14.1",)
    assert len(resolver.asked) == 1
    assert plan.rejected == ()


def test_what_another_package_demands_is_gone_to_at_once_and_told() -> None:
    """`_is_ruled_out` passes over what a demand that was learned rules out."""
    resolver = Resolver({"torch==2.14.1": needs("vllm==0.6.0", "torch==2.6.0")})
    every = choices("2.14.1", "2.13.0", "2.12.0", "2.6.0", "2.5.0", pythons=("3.12", "3.11"))
    plan = resolve_jointly(every, plan_for, resolver)
    assert plan.pins == ("torch==2.6.0",)
    assert resolver.asked == ["torch==2.14.1 3.12", "torch==2.6.0 3.12"]
    assert "vllm==0.6.0 requires torch==2.6.0" in plan.rejected[0].detail


def test_another_python_may_help() -> None:
    wheels = Unresolvable("Because old has no wheels with a matching Python ABI tag", ())
    resolver = Resolver({"torch==2.14.1 3.13": wheels})
    plan = resolve_jointly(choices("2.14.1", "2.13.0", pythons=("3.13", "3.12")), plan_for, resolver)
    assert (plan.pins, plan.python) == (("torch==2.14.1",), "3.12")


@pytest.mark.parametrize(
    "message",
    [
        "Because nosuch was not found in the package registry and you require nosuch, your requirements fail",
        "Because a==1 depends on b<2 and c==1 depends on b>=2, your requirements are unsatisfiable",
        "Because torch-nothing was not found in the package registry",
    ],
)
def test_what_no_torch_can_help_ends_the_search(message: str) -> None:
    class Always(Resolver):
        def __call__(self, plan: Plan, wheels_only: tuple[str, ...]) -> Any:
            super().__call__(plan, wheels_only)
            return Unresolvable(message, ())

    resolver = Always({})
    with pytest.raises(Unsatisfiable) as caught:
        resolve_jointly(choices("2.14.1", "2.13.0", "2.12.0"), plan_for, resolver)
    assert len(resolver.asked) == 1
    assert message in caught.value.because[0].text


def file(name: str, version: str, *, sdist: bool = False) -> ResolvedFile:
    filename = f"{name}-{version}.tar.gz" if sdist else f"{name}-{version}-py3-none-any.whl"
    return ResolvedFile(name, version, filename, None, None, None, None, sdist)


class Index:
    """Has wheels of numpy 1.24.4 for some Pythons, an older numpy's for all, and builds all else."""

    def __init__(self, *with_wheel: str, older: bool = False) -> None:
        self.with_wheel = with_wheel
        self.older = older

    def __call__(self, plan: Plan, wheels_only: tuple[str, ...]) -> Resolved | Unresolvable:
        if plan.python in self.with_wheel:
            return Resolved((file("numpy", "1.24.4"),))
        if not wheels_only:
            return Resolved((file("numpy", "1.24.4", sdist=True),))
        if self.older and not plan.constraints:
            return Resolved((file("numpy", "1.20.0"),))
        return Unresolvable("numpy has no wheels with a matching Python ABI tag", ())


PYTHONS = ("3.13", "3.12", "3.11", "3.10")


def test_a_python_for_which_there_are_wheels_comes_before_one_that_would_build() -> None:
    plan = resolve_jointly(
        choices("2.14.1", "2.0.0", pythons=PYTHONS), plan_for, Index("3.11", "3.10"), wheels=True
    )
    assert (plan.pins, plan.python) == (("torch==2.14.1",), "3.11")
    assert "numpy 1.24.4: wheels are for Python 3.11" in plan.why[-1].text
    assert plan.constraints == ("numpy==1.24.4",)  # the installer is held to what has a wheel
    assert not plan.warnings


def test_an_older_release_with_a_wheel_is_taken_where_no_other_python_helps() -> None:
    plan = resolve_jointly(choices("2.14.1", pythons=PYTHONS), plan_for, Index(older=True), wheels=True)
    assert (plan.python, plan.constraints) == ("3.13", ("numpy==1.20.0",))


def test_what_has_no_wheel_for_any_python_that_can_be_had_is_built_and_told() -> None:
    plan = resolve_jointly(choices("2.14.1", pythons=("3.13",)), plan_for, Index("3.11"), wheels=True)
    assert plan.python == "3.13"
    assert [warn.code for warn in plan.warnings] == ["no-wheel"]


def test_what_never_had_wheels_is_built_and_that_is_told() -> None:
    plan = resolve_jointly(choices("2.14.1", pythons=PYTHONS), plan_for, Index("3.11"), wheels=False)
    assert (plan.python, [warn.code for warn in plan.warnings]) == ("3.13", ["built-for-metadata"])


BROKEN = Unresolvable("error: Failed to build `vllm==0.1.0`: no CUDA_HOME", (), "vllm==0.1.0")


def test_what_cannot_be_built_is_tried_with_each_python_once_and_then_refused_by_name() -> None:
    resolver = Resolver({"torch==2.14.1": BROKEN, "torch==2.13.0": BROKEN})
    with pytest.raises(Unsatisfiable) as caught:
        resolve_jointly(choices("2.14.1", "2.13.0", pythons=("3.13", "3.12")), plan_for, resolver)
    assert resolver.asked == ["torch==2.14.1 3.13", "torch==2.14.1 3.12"]
    assert "vllm==0.1.0" in caught.value.message
    assert "no CUDA_HOME" in caught.value.because[-1].text
    assert caught.value.fixes


def test_a_python_that_builds_it_is_taken() -> None:
    resolver = Resolver({"torch==2.14.1 3.13": BROKEN})
    plan = resolve_jointly(choices("2.14.1", pythons=("3.13", "3.12")), plan_for, resolver)
    assert plan.python == "3.12"


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("numpy-2.5.5-cp313-cp313-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", False),
        ("numpy-2.2.6-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("numpy-2.2.6.tar.gz", True),
        ("six-1.17.0-py2.py3-none-any.whl", True),
    ],
)
def test_no_wheel_above_the_glibc_of_the_machine_is_taken_in_silence(name: str, fits: bool) -> None:
    outcome = Resolved((ResolvedFile("numpy", "2", name, None, None, None, None),))
    assert (only_fitting(outcome, on("570.1", "8.6", glibc="2.17")) == outcome) is fits


def test_what_is_resolved_is_for_the_glibc_that_was_stated_even_here() -> None:
    here = replace(gpu_machine("570.1", "8.6", glibc="2.17"), pythons=(FoundPython("3.12", "/p/python"),))
    question = partial(resolver_question, planned(machines=(here,)))
    stated, as_it_is = question(PlanOptions(glibc="2.17")), question(PlanOptions())
    assert (stated.platform, stated.glibc) == ("linux-64", "2.17")
    assert as_it_is.platform is None
