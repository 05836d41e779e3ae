"""The user's other requirements decide which torch; what no torch can help ends the search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from packaging.version import Version

from gpuenv.core.resolve import Choice
from gpuenv.managers.resolver import Demand, Resolved, Unresolvable
from gpuenv.values.errors import Refused
from gpuenv.values.plan import Plan, PlannedPackage, Sources
from gpuenv.workflow.joint import resolve_jointly


def choices(*releases: str, pythons: tuple[str, ...] = ("3.12",)) -> tuple[Choice, ...]:
    """Stand-ins with what the search looks at: release, variant and Python."""
    return tuple(
        cast(
            "Choice",
            SimpleNamespace(
                case=SimpleNamespace(torch=Version(release), variant="cu126"),
                python=SimpleNamespace(short=python),
            ),
        )
        for release in releases
        for python in pythons
    )


def plan_for(choice: Choice, resolved: tuple[PlannedPackage, ...]) -> Plan:
    pin = f"torch=={choice.case.torch}"
    nowhere = Sources(None, (), ())
    return Plan(
        (), choice.python.short, None, "cu126", "uv", resolved, (pin,), (), (), nowhere, (), (), (), (), ()
    )


class Resolver:
    """Fails as it is told, by pin and Python; remembers what it was asked."""

    def __init__(self, failures: dict[str, Unresolvable]) -> None:
        self.failures = failures
        self.asked: list[str] = []

    def __call__(self, plan: Plan) -> Resolved | Unresolvable:
        key = f"{plan.pins[0]} {plan.python}"
        self.asked.append(key)
        return self.failures.get(key) or self.failures.get(plan.pins[0]) or Resolved(())


def needs(package: str, torch: str) -> Unresolvable:
    return Unresolvable(f"Because {package} depends on {torch}", (Demand(package, torch),))


def test_the_first_choice_is_taken_where_it_holds() -> None:
    resolver = Resolver({})
    plan = resolve_jointly(choices("2.14.1", "2.13.0"), plan_for, resolver)
    assert plan.pins == ("torch==2.14.1",)
    assert len(resolver.asked) == 1
    assert plan.rejected == ()


def test_what_another_package_demands_is_gone_to_at_once_and_told() -> None:
    """`_meets` passes over what a demand that was learned rules out."""
    resolver = Resolver({"torch==2.14.1": needs("vllm==0.6.0", "torch==2.6.0")})
    every = choices("2.14.1", "2.13.0", "2.12.0", "2.6.0", "2.5.0", pythons=("3.12", "3.11"))
    plan = resolve_jointly(every, plan_for, resolver)
    assert plan.pins == ("torch==2.6.0",)
    assert resolver.asked == ["torch==2.14.1 3.12", "torch==2.6.0 3.12"]
    assert "vllm==0.6.0 needs torch==2.6.0" in plan.rejected[0].detail


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
        def __call__(self, plan: Plan) -> Any:
            super().__call__(plan)
            return Unresolvable(message, ())

    resolver = Always({})
    with pytest.raises(Refused) as caught:
        resolve_jointly(choices("2.14.1", "2.13.0", "2.12.0"), plan_for, resolver)
    assert len(resolver.asked) == 1
    assert message in caught.value.because[0].text
