"""How wide a text is on a terminal, and where its lines may be broken."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import TextIO
from unicodedata import east_asian_width

# a line may be broken before a Chinese character, but for one that closes what stands before it; never
# within backticks: what stands there is copied
_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_WORD = re.compile(rf"\s+|[（「《[(]*(?:[{_WIDE}]|(?:`[^`]*`|[^\s`{_WIDE}])+|`)[，。；：、？！）」》)\]]*")
_LEAST = 24  # columns: on a terminal as narrow as that nothing reads well


def text_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return len(text) + sum(east_asian_width(character) in "FW" for character in text)


def columns_of(stream: TextIO) -> int | None:
    """Return how wide the terminal is that a stream is; None for a file or a pipe, which takes any line."""
    if not stream.isatty():
        return None
    try:
        there = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):  # no file behind it
        there = 0
    chosen = os.environ.get("COLUMNS", "")  # a person's own word goes before the terminal's
    return int(chosen) if chosen.isdecimal() and int(chosen) else there or shutil.get_terminal_size().columns


def wrapped(text: str, width: int) -> Iterator[str]:
    """Break a text into lines of so many columns of a terminal; what can't be broken is longer."""
    line = ""
    for word in _WORD.findall(text):
        if line and not word.isspace() and text_width(line + word) > width:
            yield line.rstrip()
            line = ""
        line += word if line else word.lstrip()
    if line.rstrip():
        yield line.rstrip()


def fitted(text: str, width: int | None) -> str:
    """Return a text whose lines fit a terminal: what goes on below is indented further than its line."""
    if width is None or width < _LEAST:
        return text
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> Iterator[str]:
    if text_width(line) <= width:
        yield line
        return
    margin = line[: len(line) - len(line.lstrip())]
    first, *_ = wrapped(line.lstrip(), width - len(margin))
    yield margin + first
    rest = line.lstrip()[len(first) :]
    for part in wrapped(rest, width - len(margin) - 2):
        yield f"{margin}  {part}"
