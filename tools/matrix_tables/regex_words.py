"""Which words a text must have for a regular expression to match it, so that most need not be tried.

`explain` looks at the words of a page of a log first, and tries only the expressions whose words are there.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from matrix_tables.facts import UnusableFacts

if sys.version_info >= (3, 11):
    from re import _constants as sre
    from re import _parser as sre_parse
else:
    import sre_constants as sre
    import sre_parse

Words = frozenset[str]
Ways = list[Words]  # each way to match needs all of its words
_LETTERS = r"[a-z0-9_\u0080-\uffff]"  # what a word is made of in gpuenv.signatures.log_pages
_OPEN = "\0"  # here more letters of the word may stand
_WHOLE_OR_PART = re.compile(rf"((?<=\0))?{_LETTERS}+((?=\0))?")
_LEAST = 2  # a single letter is in every text
# In every log that is asked about: such a word tells as little as two letters.
_COMMON = re.compile(
    "(?:runtime|value|type|attribute|import|assertion|key|os)?error|exception|traceback|warning|failed|failure|"
    "module|python|torch|cuda|file|line|version|include|extension|return|output|package|install|"
    "detected|expected|found"
)
_ENOUGH = 6  # letters that make a word telling
_CHINESE = "\u2e80"  # from here on a letter tells as much as two
_MOST_WAYS = 12
_KEPT = 3  # words a way
_OR = "|"
_MOST_ALTERNATIVES = 24


def words_needed(regex: str) -> list[list[str]]:
    """Return the ways to match: words in lower case that all have to be there, the most telling first.

    A word between blanks is whole, others may be a part of one: `(?:no|not) module named torch` gives
    [[" module ", " named ", "torch"]], as `no` tells too little.
    """
    return sorted(list(way) for way in {tuple(_plain(way)) for way in _ways(regex)})


def needs_of(regex: str) -> list[list[str]]:
    """Return the same ways, each with what else it needs of some words one: `error|exception`."""
    ways = {(*_plain(way), *sorted(_choices(way), key=_in_order)[:_KEPT]) for way in _ways(regex)}
    return sorted(list(way) for way in ways)


def _ways(regex: str) -> Ways:
    ways = _of_sequence(sre_parse.parse(regex, re.IGNORECASE))
    if _telling(ways) < _LEAST:
        raise UnusableFacts(f"matches without any word: {regex}")
    return ways


def _plain(way: Words) -> list[str]:
    return sorted((word for word in way if _OR not in word), key=_in_order)[:_KEPT]


def _choices(way: Words) -> list[str]:
    """Return what a way needs one of, where none of its words has that already."""
    said = [word.strip() for word in _plain(way)]
    choices = [word for word in way if _OR in word]
    return [
        choice
        for choice in choices
        if not any(part.strip() in word for part in choice.split(_OR) for word in said)
    ]


def _in_order(word: str) -> tuple[int, int, str]:
    return -_weight(word), -len(word), word


def _of_sequence(parsed: Any) -> Ways:
    """Return the ways of what has to be matched one after the other."""
    letters = [_OPEN]
    inner: list[Ways] = []
    for operator, argument in parsed:
        letter = _letter(operator, argument)
        if letter:
            letters.append(letter)
            continue
        letters.append(_OPEN)
        ways = _of_part(operator, argument)
        if ways is not None:
            inner.append(ways)
    return _together([_words("".join((*letters, _OPEN)))], inner)


def _letter(operator: Any, argument: Any) -> str | None:
    """Return the letter that has to stand here: `n` for `[Nn]` too."""
    if operator is sre.LITERAL:
        return chr(argument).lower()
    if operator is sre.IN and all(kind is sre.LITERAL for kind, _ in argument):
        some = {chr(letter).lower() for _, letter in argument}
        return some.pop() if len(some) == 1 else None
    return None


def _words(letters: str) -> Words:
    matches = _WHOLE_OR_PART.finditer(letters)
    return frozenset(f" {word[0]} " if word[1] is word[2] is None else word[0] for word in matches)


def _of_part(operator: Any, argument: Any) -> Ways | None:
    """Return the ways of one part; None where it may match nothing in particular."""
    if operator is sre.SUBPATTERN:
        return _of_sequence(argument[-1])
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, _, repeated = argument
        return _of_sequence(repeated) if least else None
    if operator is sre.BRANCH:
        return [way for branch in argument[1] for way in _of_sequence(branch)]
    return None


def _together(ways: Ways, inner: list[Ways]) -> Ways:
    """Add what parts need to what all of it needs, as long as that tells more and is not too much."""
    for part in sorted(inner, key=_telling, reverse=True):
        if _telling(ways) >= _ENOUGH or len(ways) * len(part) > _MOST_WAYS:
            ways, other = sorted((ways, part), key=_telling, reverse=True)
            choice = _one_of(other)
            ways = [way | choice for way in ways]
        elif _telling(part):
            ways = [way | more for way in ways for more in part]
    return ways


def _one_of(ways: Ways) -> Words:
    """Return what stands for ways of which there are too many: one of their words, each way's best."""
    best = {max(sorted(way), key=_weight, default="") for way in ways}
    if min(map(_weight, best)) < _LEAST or len(best) > _MOST_ALTERNATIVES:
        return frozenset()
    return frozenset([_OR.join(sorted(best))])


def _telling(ways: Ways) -> int:
    """Return how much the most telling word of the least telling way tells."""
    return min(max(map(_weight, way), default=0) for way in ways)


def _weight(word: str) -> int:
    """Return how many letters a word has, as far as they tell anything: one of several does not."""
    if _OR in word:
        return 0
    if _COMMON.fullmatch(word.strip()):
        return _LEAST
    return sum(2 if letter >= _CHINESE else 1 for letter in word.strip())
