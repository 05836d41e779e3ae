"""Colours: asked for on the command line, by variables, or as the terminal is; messages are the same text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest

from gpuenv.cli.color import choose_color, is_coloured, with_label


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm")
    yield
    choose_color(None, {})


@pytest.mark.parametrize(
    ("requested", "environ", "terminal", "piped"),
    [
        (None, {}, True, False),
        (None, {"NO_COLOR": "1"}, False, False),
        (None, {"NO_COLOR": ""}, True, False),
        (None, {"FORCE_COLOR": "1"}, True, True),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        (None, {"GPUENV_COLOR": "always", "NO_COLOR": "1"}, True, True),
        ("never", {"GPUENV_COLOR": "always"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("auto", {}, True, False),
    ],
)
def test_what_was_asked_for_goes_before_the_terminal(
    requested: str | None, environ: dict[str, str], terminal: bool, piped: bool
) -> None:
    choose_color(requested, environ)
    assert (is_coloured(Terminal()), is_coloured(io.StringIO())) == (terminal, piped)


def test_a_dumb_terminal_shows_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert not is_coloured(Terminal())


@pytest.mark.parametrize("text", ["error: no build: none", "错误：没有: 可用", "no label"])
def test_only_the_label_is_coloured(text: str) -> None:
    shown = with_label(text, "error")
    assert re.sub("\x1b\\[[0-9;]*m", "", shown) == text
    assert shown.endswith(re.split("[:：]", text, maxsplit=1)[-1])
