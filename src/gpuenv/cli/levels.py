"""How much is printed, by the bare arguments: known before they are parsed, for what is printed till then."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

_FLAGS = re.compile(r"-[qvy]+")  # short options without a value, which may stand together
_YES = frozenset({"true", "t", "yes", "y", "on"})


class Levels(Struct, frozen=True):
    """How often `-q` and `-v` are given, and whether progress may be drawn."""

    quiet: int
    verbose: int
    draws: bool


def levels_of(words: Sequence[str], environ: Mapping[str, str]) -> Levels:
    """Return the levels that gpuenv's own arguments, else its variables ask for."""
    hidden = "--no-progress" in words or _number(environ, "GPUENV_NO_PROGRESS") > 0
    return Levels(
        _count(words, "q", "--quiet") or _number(environ, "GPUENV_QUIET"),
        _count(words, "v", "--verbose") or _number(environ, "GPUENV_VERBOSE"),
        draws=not hidden,
    )


def _count(words: Sequence[str], letter: str, name: str) -> int:
    return words.count(name) + sum(word.count(letter) for word in words if _FLAGS.fullmatch(word))


def _number(environ: Mapping[str, str], name: str) -> int:
    """Return a variable's number; what is no number is refused where options are parsed."""
    word = environ.get(name, "").strip().lower()
    return 1 if word in _YES else int(word) if word.isdecimal() else 0
