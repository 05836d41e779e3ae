"""Whatever an option or a variable holds: an answer or one short message, and no control character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from running import Program, make_program
from sampling import every
from test_bad_inputs import LIMITS, faults_of

import gpuenv
from gpuenv.cli.app import app

_LONGEST = 8_000  # letters of a message, which has a name of 10,000
_DECLINED = 130  # nobody says yes here
VALUES = {
    "long": "x" * 10_000,
    "control": "a\nb\r\x1b[31mc\x07\x9b1m\u202ed",
    "no-text": "a\udcff\udc80b",  # bytes that are no UTF-8
    "empty": "",
}


@dataclass(frozen=True)
class Given:
    """A command line, and the option or the variable that it is given a value with."""

    words: tuple[str, ...]
    option: str = ""
    variable: str = ""

    def __str__(self) -> str:
        return "-".join((*self.words[:2], self.option.lstrip("-") or self.variable))

    def faults(self, program: Program) -> list[tuple[str, str, str]]:
        """Return what no answer may be."""
        faults = []
        for name, value in VALUES.items():
            if self.variable:
                done = program.with_(**{self.variable: value}).run(*self.words)
            else:
                done = program.run(*self.words, self.option, value)
            wrong = faults_of(done, also=(_DECLINED,))
            if len(done.err) > _LONGEST:
                wrong.append(f"{len(done.err)} letters")
            if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.err):
                wrong.append("control characters")
            faults += [(name, fault, done.err[-300:]) for fault in wrong]
        return faults


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*words, name))
    else:
        yield words, command


def _given() -> Iterator[Given]:
    """Yield each option that takes a value, and the variable that stands for it."""
    for words, command in _commands(typer.main.get_command(app)):
        options = [one for one in command.params if one.param_type_name == "option"]
        needed = ["paper"] * sum(one.required for one in command.params if one not in options)
        offline = ["--offline"] * any("--offline" in one.opts for one in options)
        for option in options:
            if not option.is_flag:
                yield Given((*words, *needed, *offline), option=max(option.opts, key=len))
            if isinstance(option.envvar, str):
                yield Given((*words, *needed, *offline), variable=option.envvar)


def _others() -> Iterator[Given]:
    """Yield the variables that no option stands for, with a command that reads most of them."""
    of_options = {one.variable for one in GIVEN}
    modules = Path(gpuenv.__file__).parent.rglob("*.py")
    named = {name for one in modules for name in re.findall(r"\bGPUENV_[A-Z_]+\b", one.read_text("utf-8"))}
    for name in sorted(named - of_options):
        yield Given(("plan", "--offline"), variable=name)
        yield Given(("doctor",), variable=name)


GIVEN = tuple(_given())
OTHERS = tuple(_others())


@pytest.mark.parametrize("given", every(24, (*GIVEN, *OTHERS), others="campaign"), ids=str)
def test_a_value_of_any_kind_is_answered(given: Given, tmp_path: Path) -> None:
    assert given.faults(replace(make_program(tmp_path / "user"), limits=LIMITS)) == []


def test_the_campaign_has_all_options() -> None:
    assert len({one.option for one in GIVEN}) > 40
    assert len({one.variable for one in (*GIVEN, *OTHERS)}) > 60
