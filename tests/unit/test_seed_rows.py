"""Everything in the users' notes is answered: by explain, a rule, a check, a command or a page.

tests/fixtures/seed_answers.json has each row by its key, with its text and what answers it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from deciding import Asked, decided, machine
from explaining import explain
from pages import LANGUAGES, section
from published import Published

from gpuenv import matrices
from gpuenv.cli.app import app
from gpuenv.explanation.load_tables import load_signatures
from gpuenv.model.plan import RULES

FIXTURES = Path(__file__).parents[1] / "fixtures"
ROWS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "seed_answers.json").read_text(encoding="utf-8"))
ANSWERS = {"explain", "rule", "checks", "command", "page"}
KEYS = ANSWERS | {"type", "text", "says", "trial"}


def having(key: str) -> Any:
    rows = [pytest.param(row, id=name) for name, row in ROWS.items() if key in row]
    return pytest.mark.parametrize("row", rows)


def test_all_101_rows_are_answered_each_by_what_its_kind_asks_for() -> None:
    assert list(ROWS) == [f"S{number:03}" for number in range(1, 102)]
    for row in ROWS.values():
        assert set(row) <= KEYS
        assert row["text"]
        match row["type"]:
            case "error" | "deprecation":
                assert "explain" in row
            case "mismatch":
                assert {"rule", "checks", "trial"} <= set(row)
            case kind:
                assert kind in {"howto", "concept"}
                assert "page" in row


def test_the_errors_are_those_that_explain_is_tried_on() -> None:
    lines = (FIXTURES / "seed_errors.jsonl").read_text(encoding="utf-8").splitlines()
    tried = {row["id"]: (row["signature"], row["base_key"]) for row in map(json.loads, lines)}
    own = {name: (row["text"], row["explain"]) for name, row in ROWS.items() if "explain" in row}
    assert own == tried


@having("explain")
def test_an_error_is_told_among_the_first_three(row: dict[str, Any]) -> None:
    assert row["explain"] in [match.id for match in explain(row["text"], load_signatures())][:3]


@having("rule")
def test_the_rule_is_one_of_a_plans(row: dict[str, Any]) -> None:
    assert row["rule"] in RULES


@having("checks")
def test_the_checks_are_doctors(row: dict[str, Any]) -> None:
    known = {entry["id"] for entry in matrices.load("checks")}
    assert row["checks"]
    assert set(row["checks"]) <= known


@pytest.mark.slow
@having("trial")
def test_a_mismatch_is_refused_by_its_rule_or_does_not_arise(row: dict[str, Any]) -> None:
    trial = row["trial"]
    requested = Asked(
        (machine(trial["machine"]),),
        tuple(trial.get("requirements", ())),
        cuda=trial.get("cuda"),
        published=Published(**trial.get("published", {})),
    )
    outcome = decided(requested)
    if "plans" in trial:
        assert outcome.plan is not None
        assert [package.variant for package in outcome.plan.packages if package.name == "torch"] == [
            trial["plans"]
        ]
        return
    assert outcome.error is not None
    assert outcome.decision is not None
    rules = {failure.rule for judged in outcome.decision.rejected for failure in judged.failures}
    assert row["rule"] in rules


@having("command")
def test_the_command_is_one_of_gpuenvs(row: dict[str, Any]) -> None:
    command: Any = typer.main.get_command(app)
    for word in row["command"].split():
        command = command.commands[word]
    assert not hasattr(command, "commands")


@having("page")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_it_at_the_anchor_in_both_languages(row: dict[str, Any], language: str) -> None:
    answer = section(language, row["page"]).text
    assert row["says"]
    assert [words for words in row["says"] if words not in answer] == []
