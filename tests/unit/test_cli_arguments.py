"""What is asked for, told from bare arguments: they may be ones that can't be parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.cli.app import app
from gpuenv.cli.language import split_words
from gpuenv.cli.main import _Reporter
from gpuenv.cli.output import json_text
from gpuenv.cli.table import render_table
from gpuenv.cli.usage import usage_error

# `--gpu` splits its variable by itself, the others end a run before it begins
WITHOUT_VARIABLE = {"--gpu", "--version", "--install-completion", "--show-completion"}
WORDS = st.lists(
    st.sampled_from(["plan", "run", "matrix", "show", "--json", "-v", "--", "x", "-", ""]) | st.text()
)


@pytest.mark.parametrize(
    ("arguments", "command", "as_json"),
    [
        ([], "", False),
        (["plan", "--json"], "plan", True),
        (["--json", "plan"], "plan", True),
        (["matrix", "show", "cuda", "--json"], "matrix show", True),
        (["matrix", "--json"], "matrix", True),
        (["mirrors", "use", "tuna", "--json"], "mirrors use", True),
        (["mirrors", "--json", "list"], "mirrors list", True),
        (["plan", "--", "--json"], "plan", True),
        (["run", "trial", "--json"], "run", False),
        (["run", "--json", "trial", "x"], "run", True),
        (["run", "trial", "--", "x", "--json"], "run", False),
        (["--lang", "zh", "plan", "--json"], "plan", True),
        (["--lang=zh", "matrix", "--lang", "en", "show", "--json"], "matrix show", True),
        (["--lang", "zh", "run", "trial", "--json"], "run", False),
    ],
)
def test_the_command_and_the_form_of_its_answer_are_told_apart_from_other_words(
    arguments: list[str], command: str, as_json: bool
) -> None:
    reporter = _Reporter.of(arguments, {})
    assert (reporter.command, reporter.as_json) == (command, as_json)


@pytest.mark.parametrize(("value", "as_json"), [("1", True), ("TRUE ", True), ("0", False), ("", False)])
def test_a_variable_asks_for_json_too_but_not_of_run(value: str, as_json: bool) -> None:
    assert _Reporter.of(["plan"], {"GPUENV_JSON": value}).as_json is as_json
    assert not _Reporter.of(["run", "trial", "x"], {"GPUENV_JSON": value}).as_json


@given(WORDS)
def test_any_arguments_can_be_asked(arguments: list[str]) -> None:
    own = split_words(arguments).own
    assert arguments[: len(own)] == list(own)
    assert "--" not in own
    _Reporter.of(arguments, {})


@given(st.dictionaries(st.text(), st.text() | st.none() | st.integers()))
def test_json_is_ascii_whatever_is_in_it(document: dict[str, object]) -> None:
    text = json_text(document)
    assert text.isascii()
    assert json.loads(text) == document


@given(
    st.lists(st.fixed_dictionaries({"a": st.text(), "b": st.none() | st.lists(st.integers(), max_size=3)}))
)
def test_a_table_has_every_row(rows: list[dict[str, object]]) -> None:
    shown = render_table(rows, ("a", "b"))
    assert shown.split("\n")[0].split() == ["a", "b"]
    if all(str(row["a"]).isprintable() for row in rows):
        assert len(shown.split("\n")) == len(rows) + 1


def options(command: Any) -> Iterator[Any]:
    """Every option of a command and of the commands below it."""
    yield from (param for param in command.params if param.param_type_name == "option")
    for below in getattr(command, "commands", {}).values():
        yield from options(below)


def test_every_option_has_a_variable_that_means_the_same_to_every_command() -> None:
    values = list(options(typer.main.get_command(app)))
    assert [
        entry.opts for entry in values if not entry.envvar and not set(entry.opts) & WITHOUT_VARIABLE
    ] == []
    meant: dict[str, set[str]] = {}
    for item in values:
        if item.envvar:
            meant.setdefault(str(item.envvar), set()).add(f"{item.name} {item.metavar}")
    assert all(name.startswith("GPUENV_") for name in meant)
    assert {name: uses for name, uses in meant.items() if len(uses) > 1} == {}


@pytest.mark.parametrize(
    "line",
    [
        ("matrix", "show", "--html", "-o"),
        ("plan", "torch", "--cuda", "--gpu", "8.6"),
        ("plan", "-o", "-v"),
        ("run", "--color", "--json", "trial", "x"),
    ],
)
def test_an_option_is_no_value_of_the_one_before(
    line: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.TyperException, match="requires an argument") as caught:
        typer.main.get_command(app)(args=list(line), prog_name="gpuenv", standalone_mode=False)
    assert usage_error(caught.value).exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (("fleet", "detect", "--slurm-option", "--account=lab"), "slurm_options", ("--account=lab",)),
        (("matrix", "show", "--html=-o"), "html", "-o"),
        (("plan", "-o", "-"), "output", "-"),
        (("run", "trial", "--", "x", "--root", "-v"), "argv", ("--", "x", "--root", "-v")),
    ],
)
def test_what_is_meant_for_another_program_or_written_with_an_equals_sign_is_a_value(
    line: tuple[str, ...], name: str, value: Any
) -> None:
    command: Any = typer.main.get_command(app)
    words = list(line)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    given = command.make_context(command.name, words).params[name]
    assert (tuple(given) if isinstance(value, tuple) else str(given)) == value
