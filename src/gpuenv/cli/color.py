"""Whether output is coloured: `--color`, GPUENV_COLOR, NO_COLOR, FORCE_COLOR, or as the terminal is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Literal, TextIO

Style = Literal["error", "warning", "hint", "added", "removed"]
_CODES: dict[Style, str] = {
    "error": "1;31",
    "warning": "1;33",
    "hint": "36",
    "added": "32",
    "removed": "31",
}
_choice: ContextVar[str] = ContextVar("color", default="auto")


def choose_color(requested: str | None, environ: Mapping[str, str]) -> None:
    """Let output be coloured as `requested`, else as the variables say; a word that is neither is auto.

    https://no-color.org and https://force-color.org: set and not empty, whatever the value.
    """
    choice = requested or environ.get("GPUENV_COLOR", "").strip() or "auto"
    if choice == "auto" and environ.get("NO_COLOR"):
        choice = "never"
    elif choice == "auto" and environ.get("FORCE_COLOR"):
        choice = "always"
    _choice.set(choice)


def is_coloured(stream: TextIO) -> bool:
    """Whether what goes to a stream is coloured; old consoles of Windows show the codes themselves."""
    if _choice.get() in ("always", "never"):
        return _choice.get() == "always"
    shows = os.name != "nt" or "WT_SESSION" in os.environ
    return shows and os.environ.get("TERM") != "dumb" and stream.isatty()


def coloured(text: str, style: Style) -> str:
    """Return a text in the colour of a style."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def with_label(text: str, style: Style) -> str:
    """Return a message whose label, up to its first colon, is coloured: `error: …`, `错误：…`."""
    ends = [position for mark in ":：" if (position := text.find(mark)) >= 0]
    end = min(ends, default=-1) + 1
    return coloured(text[:end], style) + text[end:]
