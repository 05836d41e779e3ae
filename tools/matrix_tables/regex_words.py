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


def words_needed(regex: str) -> list[list[str]]:
    """Return the ways to match: words in lower case that all have to be there, the most telling first.

    A word between blanks is whole, others may be a part of one: `(?:no|not) module named torch` gives
    [[" module ", " named ", "torch"]], as `no` tells too little.
    """
    ways = _of_sequence(sre_parse.parse(regex, re.IGNORECASE))
    if _telling(ways) < _LEAST:
        raise UnusableFacts(f"matches without any word: {regex}")
    kept = {tuple(sorted(way, key=lambda word: (-_weight(word), -len(word), word))[:_KEPT]) for way in ways}
    return sorted(list(way) for way in kept)


def _of_sequence(parsed: Any) -> Ways:
    """Return the ways of what has to be matched one after the other."""
    letters = [_OPEN]
    inner: list[Ways] = []
    for operator, argument in parsed:
        if operator is sre.LITERAL:
            letters.append(chr(argument).lower())
            continue
        letters.append(_OPEN)
        ways = _of_part(operator, argument)
        if ways is not None:
            inner.append(ways)
    return _together([_words("".join((*letters, _OPEN)))], inner)


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
            ways = max(ways, part, key=_telling)
        elif _telling(part):
            ways = [way | more for way in ways for more in part]
    return ways


def _telling(ways: Ways) -> int:
    """Return how much the most telling word of the least telling way tells."""
    return min(max(map(_weight, way), default=0) for way in ways)


def _weight(word: str) -> int:
    """Return how many letters a word has, as far as they tell anything."""
    if _COMMON.fullmatch(word.strip()):
        return _LEAST
    return sum(2 if letter >= _CHINESE else 1 for letter in word.strip())
