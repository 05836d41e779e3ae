"""Which nodes of a partition are meant: Slurm's host lists, and patterns with `*` and `?`."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv.i18n.messages import tr

_PIECE = re.compile(r"[^,\[\]]|\[[^\[\]]*\]|,")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", re.ASCII)
_NUMBER = "([0-9]+)"
_WILD = {"*": ".*", "?": "."}


class NumberRange(Struct, frozen=True):
    """Numbers of nodes, both ends among them; `width` is how many digits they are filled up to with zeros."""

    first: int
    last: int
    width: int

    def holds(self, digits: str) -> bool:
        """Whether a number is one of them, written as it is here."""
        return self.first <= int(digits) <= self.last and digits == digits.lstrip("0").zfill(self.width)


class HostPattern(Struct, frozen=True):
    """Names of nodes: a regular expression with a group for each of the lists of numbers."""

    expression: str
    numbers: tuple[tuple[NumberRange, ...], ...]

    def fits(self, name: str) -> bool:
        """Whether a node has such a name."""
        match = re.fullmatch(self.expression, name)
        return match is not None and all(
            any(number_range.holds(digits) for number_range in ranges)
            for ranges, digits in zip(self.numbers, match.groups(), strict=True)
        )


def parse_limit(text: str) -> tuple[HostPattern, ...]:
    """Parse `gpu[1-3,7],login*,rack[0-1]n[01-16]`; raise ValueError for anything else."""
    pieces = _PIECE.findall(text)
    if "".join(pieces) != text:
        raise ValueError(tr("`{text}` is not a valid list of hosts: unbalanced bracket", text=text))
    patterns: list[list[str]] = [[]]
    for piece in pieces:
        if piece == ",":
            patterns.append([])
        else:
            patterns[-1].append(piece)
    host_patterns = tuple(_pattern(pattern) for pattern in patterns if "".join(pattern).strip())
    if not host_patterns:
        raise ValueError(tr("`{text}` is not a valid list of hosts: it is empty", text=text))
    return host_patterns


def _pattern(pieces: list[str]) -> HostPattern:
    text = "".join(pieces)
    numbers = tuple(_ranges(piece, text) for piece in pieces if piece.startswith("["))
    stripped = "".join("\0" if piece.startswith("[") else piece for piece in pieces).strip()
    letters = re.sub(r"\*+", "*", stripped).replace("\0", "[")
    expression = "".join(
        _NUMBER if letter == "[" else _WILD.get(letter) or re.escape(letter) for letter in letters
    )
    # beside a star a number is all of its digits: `*[10-12]` is gpu12, and not gpu1 and a 2
    expression = expression.replace(".*" + _NUMBER, ".*(?<![0-9])" + _NUMBER).replace(
        _NUMBER + ".*", _NUMBER + "(?![0-9]).*"
    )
    return HostPattern(expression, numbers)


def _ranges(piece: str, text: str) -> tuple[NumberRange, ...]:
    """`[1-3,007]`."""
    ranges = []
    for part in piece[1:-1].split(","):
        ends = _RANGE.fullmatch(part.strip())
        if ends is None:
            raise ValueError(
                tr("`{text}` is not a valid list of hosts: `{part}` is not a number", text=text, part=part)
            )
        first, last = ends[1], ends[2] or ends[1]
        ranges.append(NumberRange(int(first), int(last), len(first)))
    return tuple(ranges)
