"""Parse untrusted JSON and TOML, and check untrusted YAML, in bounded time.

Parsers recurse into brackets, convert digits, and some are quadratic in the dots of a line. A document beyond
the size of any real one is a ValueError before that costs anything.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from typing import Any

from gpuenv.i18n.messages import tr

_DEEPEST = 100
_LARGEST_TOML = 8 << 20  # letters
_LARGEST_YAML = 1280 << 10  # letters: an export of a large environment has 30 thousand
_MOST_NODES = 30_000  # of YAML
_LONGEST_KEY = 20  # parts between dots
_QUOTED = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_DOT = re.compile(r"(?<=[\w\"'-])[ \t]*\.[ \t]*(?=[\w\"'-])")
_HALF_A_LETTER = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(text: str | bytes) -> Any:
    r"""Parse JSON; raise ValueError, also for deep nesting, Infinity and NaN, and unpaired surrogates.

    Surrogates that stand for the undecodable bytes of a path (`"\udcff"`) are allowed.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_float)
    except RecursionError:
        raise ValueError(tr("it is nested too deeply")) from None
    if isinstance(text, bytes) or _HALF_A_LETTER.search(text):
        _refuse_halves(document)
    return document


def _refuse_constant(name: str) -> float:
    raise ValueError(tr("`{name}` is not a valid JSON number", name=name))


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(tr("it has a number that is too large"))
    return number


def _refuse_halves(document: Any) -> None:
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except RecursionError:
        raise ValueError(tr("it is nested too deeply")) from None
    except UnicodeEncodeError:
        raise ValueError(tr("it has an unpaired surrogate, which is not text")) from None


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise ValueError, also for deep nesting and endless keys."""
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - only where there is such a file
    else:
        import tomli as tomllib  # noqa: PLC0415
    if len(text) > _LARGEST_TOML:
        raise ValueError(tr("it is larger than {size} KB", size=_LARGEST_TOML >> 10))
    _refuse_long_keys(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(tr("it is nested too deeply")) from None


def _refuse_long_keys(text: str) -> None:
    """Raise ValueError for `a.a.a.…`, which costs the square of its parts for each line under it."""
    for line in text.split("\n"):
        if line.count(".") >= _LONGEST_KEY and len(_DOT.findall(_QUOTED.sub("''", line))) >= _LONGEST_KEY:
            raise ValueError(tr("it has a key of more than {count} parts", count=_LONGEST_KEY))


def check_yaml(text: str) -> str:
    """Return a YAML text that is safe to load, by its events alone; raise ValueError for any other."""
    if len(text) > _LARGEST_YAML:
        raise ValueError(tr("it is larger than {size} KB", size=_LARGEST_YAML >> 10))
    from ruamel.yaml import YAML  # noqa: PLC0415 - only where such a file is read

    _Outline().take(YAML(typ="safe", pure=True).parse(text))
    return text


class _Outline:
    """The depth and the number of values of a YAML text, aliases expanded."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = [(None, 0)]  # the anchors, and the values so far

    def take(self, events: Iterator[Any]) -> None:
        """Count; raise ValueError where it is too much."""
        for event in events:
            kind = type(event).__name__
            if kind.endswith(("MappingStartEvent", "SequenceStartEvent")):
                self._open.append((event.anchor, 0))
                if len(self._open) > _DEEPEST:
                    raise ValueError(tr("it is nested too deeply"))
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                anchor, size = self._open.pop()
                self._add(anchor, size + 1)
            elif kind == "ScalarEvent":
                self._add(event.anchor, 1)
            elif kind == "AliasEvent":
                self._add(None, self._sizes.get(event.anchor, 1))

    def _add(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = size
        outer, before = self._open.pop()
        if before + size > _MOST_NODES:
            said = tr("it is too large: its aliases repeat each other") if self._sizes else ""
            raise ValueError(said or tr("it is too large"))
        self._open.append((outer, before + size))
