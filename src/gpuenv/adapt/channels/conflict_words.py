"""What a solver's conflict says, as sentences of two packages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.i18n.messages import clauses, tr

_TREE = " \t│├└─|-+,;."
_REQUIRES = re.compile(r"\s+(?:would require|is not installable because it requires|requires)\b.*")
_AFTER = re.compile(
    r",? (?:for which|which|cannot be installed|can be installed|does not exist|is not|but)\b.*"
)
_LONGEST = 240  # characters of a solver's own words
_MOST = 6  # sentences


def demands(message: str) -> tuple[tuple[str, str], ...]:
    """Return each package of a conflict with what it requires in vain.

    widget 1.0.* cannot be installed because there are no viable options:
    └─ widget 1.0 would require
       └─ helper >=1.1,<1.3, for which no candidates were found.
    """
    return tuple(dict.fromkeys(_pairs(message)))


def _pairs(message: str) -> Iterator[tuple[str, str]]:
    above: list[tuple[int, str]] = []
    for line in message.splitlines():
        text = line.strip(_TREE)
        depth = len(line) - len(line.lstrip(_TREE))
        while above and above[-1][0] >= depth:
            above.pop()
        if above and _REQUIRES.search(above[-1][1]):
            yield _plain(above[-1][1]), _plain(text)
        above.append((depth, text))


def _plain(text: str) -> str:
    return _AFTER.sub("", _REQUIRES.sub("", text)).removesuffix(" *")


def why_not(name: str, message: str) -> str:
    """Return why a package could not stay: a demand of it or for it, else the solver's own words."""
    pairs = demands(message)
    mine = [pair for pair in pairs if name in (_first(pair[0]), _first(pair[1]))]
    if mine:
        package, needs = mine[0]
        return tr("{package} requires {needs}", package=package, needs=needs)
    lines = [line.strip(_TREE) for line in message.splitlines()]
    about = [line for line in lines if _first(line) == name]
    return clauses(dict.fromkeys(about or lines))[:_LONGEST]


def sentences(message: str) -> tuple[str, ...]:
    """Return a conflict in sentences; the solver's own words where it has no such form."""
    texts = tuple(
        tr("{package} requires {needs}", package=item, needs=needs) for item, needs in demands(message)
    )
    return texts[:_MOST] or (message,)


def _first(text: str) -> str:
    return text.partition(" ")[0]
