"""How wide a text is on a terminal, and where its lines may be broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import east_asian_width

# a line may be broken before a Chinese character, but for one that closes what stands before it
_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_WORD = re.compile(rf"\s+|[（「《[(`]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[，。；：、？！）」》)\]]*")


def text_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return len(text) + sum(east_asian_width(character) in "FW" for character in text)


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
