"""Rule `known-bad`, and the constraints that keep a plan out of known-bad combinations."""

from __future__ import annotations

import pytest
from building import case, found, on
from deciding import Asked, Outcome, decided, gpu_machine
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import KnownBad
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import PlannedPackage
from gpuenv.model.python import PythonOffer
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.known_bad_facts import KnownBadFacts, known_bad_facts
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.request import Request, parse_requirements
from gpuenv.resolution.rules import known_bad

KNOWLEDGE = load_knowledge()
A100 = gpu_machine("535.104.05", "8.0")
ROW = KnownBad(
    "x", "known-bad", ((("torch", SpecifierSet("<9")),),), (), ("numpy<2",), (),
    forbid=False, avoid=False, warn=False, effect="it breaks", remedy="numpy<2", source="here",
)  # fmt: skip


def situation(
    torch: str, *companions: str, python: str = "3.11", asked: str = "", **short: object
) -> KnownBadFacts:
    files = tuple(found(f"{name}-py3-none-any.whl") for name in companions)
    request = Request(parse_requirements(tuple(asked.split()) or ("torch",)))
    return known_bad_facts(case(torch), files, PythonOffer(python), on(**short), request)


def ids(torch: str, *companions: str, **facts: object) -> set[str]:
    return {row.id for row in known_bad.applying(situation(torch, *companions, **facts), KNOWLEDGE)}  # type: ignore[arg-type]


def test_a_row_applies_when_all_its_conditions_hold() -> None:
    assert "numpy2-linux" in ids("2.2.2")
    assert "numpy2-linux" not in ids("2.3.0")
    assert "torchaudio-unpinned" in ids("2.10.0", "torchaudio-2.11.0")
    assert "torchaudio-unpinned" not in ids("2.11.0", "torchaudio-2.11.0")
    assert "torchaudio-unpinned" not in ids("2.10.0")
    assert "win-torch240-fbgemm" in ids("2.4.0", platform="win-64")
    assert "win-torch240-fbgemm" not in ids("2.4.0")
    assert "py314.1-torchvision" in ids("2.11.0", "torchvision-0.26.0", python="3.14.1")
    assert "py314.1-torchvision" not in ids("2.11.0", "torchvision-0.26.0", python="3.14")


@pytest.mark.parametrize(
    ("asked", "applies"),
    [
        ("numpy", True),  # the resolver would take 2
        ("numpy>=1.24", True),
        ("numpy==2.1.0", True),
        ("numpy<2", False),
        ("numpy==1.26.4", False),
        ("numpy==2.1.0;python_version<'3.8'", True),  # does not count here, so the resolver is free
    ],
)
def test_a_constraint_applies_unless_the_request_keeps_out_of_it(asked: str, applies: bool) -> None:
    assert ("numpy2-linux" in ids("2.2.2", asked=asked)) is applies


def test_rows_that_others_judge_never_apply() -> None:
    assert "mkl-2024.1-conda" not in ids("2.2.2")
    assert "weights-only" not in ids("2.12.0")
    judges = {row.id: row.judge for row in KNOWLEDGE.known_bad}
    assert {judges[name] for name in ids("1.13.1", "torchvision-0.14.1")} == {"known-bad"}


def test_what_rows_ask_of_a_fact_is_that_of_the_fact_alone() -> None:
    facts = {"torch": "<9", "driver": "<535", "os": "linux"}
    rows = [
        {**KNOWLEDGE.known_bad_rows[0], "judge": judge, "when": [facts]} for judge in ("known-bad", "never")
    ]
    knowledge = Knowledge(known_bad_rows=rows)
    assert known_bad.specifiers_on("driver", knowledge) == (SpecifierSet("<535"),)
    assert known_bad.specifiers_on("os", knowledge) == ()


def test_what_has_no_workaround_is_a_failure_that_says_what_helps() -> None:
    here = situation("2.4.0", platform="win-64")
    (failure,) = known_bad.check(case("2.4.0"), known_bad.applying(here, KNOWLEDGE), here)
    assert (failure.rule, failure.subject) == ("known-bad", "win-torch240-fbgemm")
    assert failure.detail.startswith("torch 2.4.0+cu126: fbgemm.dll fails to load")
    assert failure.detail.endswith("; torch 2.4.1 or install the MSVC OpenMP runtime")


def test_a_constraint_concerns_only_what_will_be_installed() -> None:
    assert known_bad.constraints((ROW,), frozenset({"torch"})) == ()
    assert known_bad.constraints((ROW,), frozenset({"torch", "numpy"})) == (("numpy<2", ROW),)


def test_what_is_added_is_added_whatever_will_be_installed() -> None:
    row = replace(ROW, constrain=(), add=("setuptools<82",))
    assert known_bad.constraints((row,), frozenset({"torch"})) == (("setuptools<82", row),)


@pytest.mark.parametrize(
    ("requirements", "constraints"),
    [
        (("torch==1.8.1",), ("numpy<2",)),  # which requires numpy itself
        (("torch==2.1.2",), ()),
        (("torch==2.1.2", "numpy"), ("numpy<2",)),
        (("torch==2.1.2", "NumPy>=1.24"), ("numpy<2",)),
        (("torch==2.1.2", "numpy<2"), ()),
        (("torch==2.1.2", "scipy"), ("numpy<2",)),
        (("torch==2.1.2", "Setuptools"), ("numpy<2", "setuptools<70")),  # the lowest of two bounds
        (("torch==2.3.1", "torchvision"), ()),
        (("torch==2.12.0", "setuptools"), ("setuptools<82",)),
        (("torch", "openmim"), ("setuptools<82",)),
        (("torch", "tensorboard==2.8.0"), ("protobuf<3.21",)),
        (("torch", "tensorboard"), ()),
    ],
)
def test_a_plan_constrains_what_it_brings(
    requirements: tuple[str, ...], constraints: tuple[str, ...]
) -> None:
    plan = decided(Asked((A100,), requirements)).plan
    assert plan is not None
    assert plan.constraints == constraints
    assert all(any(text in reason.text for reason in plan.why) for text in constraints)


def test_a_pin_to_a_bad_version_is_rejected_and_the_workaround_offered() -> None:
    error = decided(Asked((A100,), ("torch==2.1.2", "numpy==2.1.0"))).error
    assert error is not None
    assert "tensor.numpy()" in error.because[0].text
    fixes = {fix.text: fix.command for fix in error.fixes}
    assert fixes["`numpy<2` works here, with torch 2.1.2"] == "gpuenv plan torch==2.1.2 'numpy<2'"
    assert decided(Asked((A100,), ("torch==2.1.2", "numpy<2"))).plan is not None


def test_a_pin_moves_torch_where_torch_is_open() -> None:
    plan = decided(Asked((A100,), ("torch<2.6", "sympy>=1.13.3"))).plan
    assert plan is not None
    assert plan.packages[0].version.startswith("2.4.1")


def test_what_the_user_pins_is_warned_of_where_it_only_costs_something() -> None:
    requested = ("torch==2.10.0", "torchaudio==2.10.0")
    plan = decided(Asked((A100,), requested)).plan
    assert plan is not None
    assert any("torchcodec" in text for text in warnings(decided(Asked((A100,), requested))))


@pytest.mark.parametrize(
    ("torch", "pythons", "chosen"),
    [
        ("2.9.1", ("3.12", "3.14"), "3.12"),
        ("2.9.1", ("3.14",), "3.14"),
        ("2.10.0", ("3.12", "3.14"), "3.14"),
        ("2.3.1", ("3.10", "3.11", "3.12"), "3.11"),
    ],
)
def test_a_python_that_torch_compile_refuses_is_avoided_where_another_is_on_offer(
    torch: str, pythons: tuple[str, ...], chosen: str
) -> None:
    outcome = decided(Asked((A100,), (f"torch=={torch}",), pythons=pythons))
    assert outcome.plan is not None
    assert outcome.plan.python == chosen
    answers = [reason.text for reason in outcome.plan.why if "torch.compile" in reason.text]
    passed_over = chosen != pythons[-1]
    assert answers == (
        [f"Python {chosen} and not {pythons[-1]}: {effect('compile-python-ceiling')}"] * passed_over
    )
    assert bool(warnings(outcome)) is (len(pythons) == 1)


def test_a_newer_torch_is_worth_more_than_torch_compile() -> None:
    plan = decided(Asked((A100,), ("torch>=2.8,<2.10",), pythons=("3.8", "3.14"))).plan
    assert plan is not None
    assert (plan.python, plan.packages[0].version.split("+")[0]) == ("3.14", "2.9.1")


def test_what_a_resolver_chose_is_judged_too() -> None:
    outcome = decided(Asked((A100,), ("torch", "torchvision", "realesrgan")))
    assert outcome.question
    assert outcome.decision
    assert outcome.choice
    chosen = PlannedPackage("basicsr", "1.4.2", None, None, None, None, None, None, "wheel")
    nothing = IndexConfiguration(None, (), ())
    plan = build_plan(outcome.question, outcome.decision, outcome.choice, nothing, (chosen,))
    assert [item.code for item in plan.warnings if "functional_tensor" in item.message] == ["known-bad"]
    assert not warnings(outcome)


def test_decoders_are_no_worry_where_torchcodec_is_asked_for() -> None:
    h100 = gpu_machine("580.95.05", "9.0")
    assert any("torchcodec" in text for text in warnings(decided(Asked((h100,), ("torchaudio",)))))
    assert not warnings(decided(Asked((h100,), ("torchaudio", "torchcodec"))))


def warnings(outcome: Outcome) -> list[str]:
    assert outcome.plan is not None, outcome.error
    return [item.message for item in outcome.plan.warnings if item.code == "known-bad"]


def effect(identifier: str) -> str:
    return next(row.effect for row in KNOWLEDGE.known_bad if row.id == identifier)
