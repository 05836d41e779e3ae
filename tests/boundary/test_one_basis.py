"""What was read for one plan answers further requirements as a plan of their own would."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine

from gpuenv.model.errors import Unsatisfiable
from gpuenv.model.plan import Plan
from gpuenv.planning.make_plan import WheelBasis, make_plan, read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import parse_requirements

PINNED = (
    ("torch", "torchvision"),
    ("torch==2.14.1", "torchvision==0.29.1"),
    ("torch==2.14.1+cu126", "torchvision==0.29.1+cu126"),
    ("torch==2.12.0", "torchvision"),
    ("torch==2.14.1", "torchvision==0.12.0"),
    ("torch<2.3", "torchvision"),
)


def _alone(requirements: tuple[str, ...], saved: Path, environ: dict[str, str]) -> Plan | None:
    try:
        return make_plan(_options(requirements, saved), environ, target=".venv")
    except Unsatisfiable:
        return None


def _options(requirements: tuple[str, ...], saved: Path) -> PlanOptions:
    return PlanOptions(requirements=requirements, machines=(saved,), offline=True)


@pytest.mark.parametrize(
    "name",
    ["RTX 3090", *(pytest.param(name, marks=pytest.mark.slow) for name in ("V100", "RTX 4090", "RTX 5090"))],
)
def test_other_pins_of_the_stack_give_the_plan_exactly_where_they_give_it_alone(
    name: str, tmp_path: Path
) -> None:
    environ, saved = bare_environ(tmp_path), save_machine(name, tmp_path)
    basis = read_basis(_options(("torch", "torchvision"), saved), environ)
    assert isinstance(basis, WheelBasis)
    plan = basis.plan(environ, target=".venv")
    stack = tuple(f"{item.name}=={item.version}" for item in plan.packages)
    for requirements in (stack, *PINNED):
        alone = _alone(requirements, saved, environ)
        same = alone is not None and (alone.variant, alone.pins) == (plan.variant, plan.pins)
        assert basis.gives(plan, parse_requirements(requirements)) == same, requirements
    assert basis.gives(plan, parse_requirements(stack))
