"""How much is printed: -q and -v by levels, bars or lines."""

from __future__ import annotations

import os
import sys

import pytest

from gpuenv.cli.levels import Levels, levels_of
from gpuenv.tracing.drawing import draw, draws


@pytest.mark.parametrize(
    ("words", "environ", "levels"),
    [
        ((), {}, Levels(0, 0, draws=True)),
        (("plan", "-q"), {}, Levels(1, 0, draws=True)),
        (("plan", "-qq"), {}, Levels(2, 0, draws=True)),
        (("plan", "-q", "--quiet"), {}, Levels(2, 0, draws=True)),
        (("plan", "-vv", "-v"), {}, Levels(0, 3, draws=True)),
        (("install", "-yq"), {}, Levels(1, 0, draws=True)),
        (("plan", "-requirements.txt"), {}, Levels(0, 0, draws=True)),
        (("plan",), {"GPUENV_QUIET": "2", "GPUENV_VERBOSE": "yes"}, Levels(2, 1, draws=True)),
        (("plan", "-q"), {"GPUENV_QUIET": "2"}, Levels(1, 0, draws=True)),
        (("plan",), {"GPUENV_QUIET": "no", "GPUENV_VERBOSE": "much"}, Levels(0, 0, draws=True)),
        (("plan", "--no-progress"), {}, Levels(0, 0, draws=False)),
        (("plan",), {"GPUENV_NO_PROGRESS": "1"}, Levels(0, 0, draws=False)),
        (("plan",), {"GPUENV_NO_PROGRESS": "0"}, Levels(0, 0, draws=True)),
    ],
)
def test_levels_are_counted(words: tuple[str, ...], environ: dict[str, str], levels: Levels) -> None:
    assert levels_of(words, environ) == levels


@pytest.mark.parametrize(("allowed", "drawn"), [(True, True), (False, False)])
def test_bars_are_drawn_on_a_terminal_unless_they_are_declined(
    monkeypatch: pytest.MonkeyPatch, *, allowed: bool, drawn: bool
) -> None:
    screen, keyboard = os.openpty()
    with os.fdopen(screen, "rb"), os.fdopen(keyboard, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        draw(allowed=allowed)
        try:
            assert draws() is drawn
        finally:
            draw(allowed=True)
