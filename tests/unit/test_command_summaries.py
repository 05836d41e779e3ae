"""The summaries of commands fit beside their names, and are never cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from gpuenv.cli.app import app
from gpuenv.cli.language import speak
from gpuenv.cli.text_width import text_width

WIDTH = 55  # columns of a terminal, in every language


@pytest.fixture(params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> Iterator[str]:
    speak(request.param)
    yield request.param
    speak("en")


def summaries(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for name, below in getattr(command, "commands", {}).items():
        yield " ".join((*path, name)), below.short_help or below.get_short_help_str(500)
        yield from summaries(below, (*path, name))


@pytest.mark.usefixtures("language")
def test_no_summary_is_wider_than_what_every_terminal_shows() -> None:
    texts = dict(summaries(typer.main.get_command(app)))
    assert len(texts) > 30
    assert {name: text for name, text in texts.items() if text_width(text) > WIDTH} == {}
    assert [name for name, text in texts.items() if text.endswith("...")] == []
