"""The scenarios: a machine, a request and what is published make the plan or refusal that is written down.

A new case is a new file in tests/scenarios. Beside what a file expects, what must hold of every decision is
checked on all of them: no CPU build by surprise, every fix tried, no reason too many.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from deciding import PYTHONS, Asked, Outcome, decided, machine
from published import Published
from sampling import every

from gpuenv.formats.json import render_plan_data
from gpuenv.formats.text import render_text
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import RULES, Plan
from gpuenv.resolution.report.minimal_reasons import fewest_reasons
from gpuenv.resolution.report.refusal import asked_for

SCENARIOS = Path(__file__).parents[1] / "scenarios"
NAMES = sorted(path.stem for path in SCENARIOS.glob("*.json"))
KEYS = {"why", "machine", "machines", "request", "published", "pythons", "plan", "refused"}
PLAN_KEYS = {
    "torch", "variant", "companions", "python", "constraints", "requirements", "pins", "warnings",
    "no_warnings", "native", "advice", "advice_never", "evidence",
}  # fmt: skip
REFUSED_KEYS = {
    "exit_code", "code", "message", "because", "because_count", "first_fix", "fixes", "never",
}  # fmt: skip


def read(name: str) -> dict[str, Any]:
    scenario: dict[str, Any] = json.loads((SCENARIOS / f"{name}.json").read_text(encoding="utf-8"))
    assert set(scenario) <= KEYS
    assert set(scenario.get("plan", {})) <= PLAN_KEYS
    assert set(scenario.get("refused", {})) <= REFUSED_KEYS
    assert ("plan" in scenario) != ("refused" in scenario)
    return scenario


def asked(scenario: dict[str, Any]) -> Asked:
    request = scenario.get("request", {})
    published = scenario.get("published", {})
    return Asked(
        machines=tuple(machine(short) for short in scenario.get("machines", [scenario.get("machine")])),
        requirements=tuple(request.get("requirements", ())),
        python=request.get("python"),
        cuda=request.get("cuda"),
        devices=tuple(request.get("devices", ())),
        published=Published(**{**published, "down": tuple(published.get("down", ()))}),
        pythons=tuple(scenario.get("pythons", PYTHONS)),
        optional=request.get("optional", False),
    )


@pytest.fixture(scope="module", params=every(3, NAMES))
def name(request: pytest.FixtureRequest) -> str:
    """Return a scenario; what is held of it is held before the next is decided."""
    return str(request.param)


@cache
def outcome_of(name: str) -> Outcome:
    return decided(asked(read(name)))


def test_a_scenario_ends_as_written_down(name: str) -> None:
    scenario, outcome = read(name), outcome_of(name)
    if "plan" in scenario:
        assert outcome.plan is not None, str(outcome.error)
        check_plan(scenario["plan"], outcome.plan, outcome)
    else:
        assert outcome.error is not None, outcome.plan and outcome.plan.pins
        check_refusal(scenario["refused"], outcome.error)


def check_plan(expected: dict[str, Any], plan: Plan, outcome: Outcome) -> None:
    versions = {package.name: package.version for package in plan.packages}
    got = {
        "torch": versions["torch"],
        "variant": plan.variant,
        "python": plan.python,
        "constraints": list(plan.constraints),
        "requirements": list(plan.requirements),
        "pins": list(plan.pins),
        "native": outcome.choice is not None and outcome.choice.native,
        "evidence": plan.packages[0].evidence,
    }
    assert {key: got[key] for key in expected if key in got} == {
        key: value for key, value in expected.items() if key in got
    }
    assert expected.get("companions", {}).items() <= versions.items()
    codes = {warning.code for warning in plan.warnings}
    assert set(expected.get("warnings", ())) <= codes
    assert not codes & set(expected.get("no_warnings", ()))
    advice = [item.text for item in plan.advice]
    check_texts(expected.get("advice", ()), expected.get("advice_never", ()), advice)


def check_refusal(expected: dict[str, Any], error: GpuenvError) -> None:
    because = [reason.text for reason in error.because]
    fixes = [fix.text for fix in error.fixes]
    commands = [fix.command for fix in error.fixes if fix.command]
    assert error.exit_code == expected["exit_code"]
    assert error.code == expected.get("code", error.code)
    assert re.search(expected.get("message", ""), error.message)
    check_texts(expected.get("because", ()), (), because)
    assert len(because) == expected.get("because_count", len(because)), because
    check_texts(expected.get("fixes", ()), expected.get("never", ()), [*fixes, *commands])
    if "first_fix" in expected:
        assert re.search(expected["first_fix"], fixes[0])


def check_texts(expected: Any, never: Any, texts: list[str]) -> None:
    for pattern in expected:
        assert any(re.search(pattern, text) for text in texts), (pattern, texts)
    for pattern in never:
        assert not any(re.search(pattern, text) for text in texts), (pattern, texts)


def test_no_cpu_build_is_planned_where_there_is_a_gpu_or_a_broken_driver(name: str) -> None:
    scenario, plan = read(name), outcome_of(name).plan
    machines = asked(scenario).machines
    if plan is not None and any(not item.without_gpu for item in machines):
        assert plan.variant != "cpu" or scenario["request"]["cuda"] == "cpu"


def test_every_fix_that_is_a_plan_holds(name: str) -> None:
    outcome = outcome_of(name)
    if outcome.error is None or outcome.question is None:
        return
    for fix in outcome.error.fixes:
        if fix.command and fix.command.startswith("gpuenv plan"):
            again = decided(asked(read(name)).again(fix.command))
            assert again.plan is not None, fix
            assert again.plan.packages[0].version.split("+")[0] in fix.text or "--offline" in fix.command


def test_the_reasons_cover_every_build_and_none_is_superfluous(name: str) -> None:
    outcome = outcome_of(name)
    if outcome.decision is None or outcome.error is None:
        return
    rejected = asked_for(outcome.decision.rejected)
    keys = [failures[0].key for failures in fewest_reasons(rejected)]
    sets = [{failure.key for failure in item.failures} for item in rejected]
    assert all(failing & set(keys) for failing in sets)
    for key in keys:
        assert not all(failing & (set(keys) - {key}) for failing in sets)


def test_a_plan_can_be_rendered_and_every_rejection_has_a_source(name: str) -> None:
    plan = outcome_of(name).plan
    if plan is None:
        return
    json.dumps(render_plan_data(plan))
    assert render_text(plan, verbose=True).endswith("\n")
    assert all(item.rule in RULES and item.detail and item.source for item in plan.rejected)
    assert all(reason.text and reason.source for reason in plan.why)
