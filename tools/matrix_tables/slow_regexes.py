r"""Regular expressions that no text can keep busy.

`explain` looks around the words that a match needs, in some 1,350 letters. There an expression with several
wide gaps (`.*`, `\w+`) tries each way to share the letters out, and one gap in another exponentially many.
"""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as sre
    from re import _parser as sre_parse
else:
    import sre_constants as sre
    import sre_parse

_WIDE = 60  # repeats that differ by so many are a gap
Letters = frozenset[int]
_OTHER = 128
_ALL: Letters = frozenset(range(_OTHER + 1))
_CATEGORIES: dict[Any, Letters] = {
    category: frozenset(n for n in _ALL if re.match(regex, chr(n) if n < _OTHER else "\u4e2d"))
    for category, regex in (
        (sre.CATEGORY_DIGIT, r"\d"),
        (sre.CATEGORY_NOT_DIGIT, r"\D"),
        (sre.CATEGORY_SPACE, r"\s"),
        (sre.CATEGORY_NOT_SPACE, r"\S"),
        (sre.CATEGORY_WORD, r"\w"),
        (sre.CATEGORY_NOT_WORD, r"\W"),
    )
}
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|[\s\S]")
_LONGEST = {r"\w": 40, r"\S": 80}  # letters of a name, of a path
_LONGEST_WHERE_SLOW = {r"\w": 60, r"\d": 20, r"\s": 20}  # 200 of all others
_LETTERS = re.compile(r"\\.|\[.|\.$")  # a token that takes one letter of several, or an escaped one
_ANYTHING = (".", r"\S", r"[\s\S]")


def bounded(regex: str) -> str:
    r"""Return an expression whose gaps share no letters with the next one without need.

    `lib\S*.{0,200}: cannot open` tries each way to cut what stands between: here a path has at most 80
    letters, and a name 40. A gap that begins an expression is tried from each letter on.
    """
    tokens = _TOKEN.findall(regex)
    for at, token in enumerate(tokens[:-1]):
        most = _LONGEST.get(token)
        if most is None or tokens[at + 1] not in ("*", "+"):
            continue
        after, repeated = (*tokens[at + 2 + (tokens[at + 2 : at + 3] == ["?"]) :], "", "")[:2]
        if at == 0 or (after in _ANYTHING and repeated[:1] in ("{", "*", "+")):
            tokens[at + 1] = f"{{{int(tokens[at + 1] == '+')},{most}}}"
    return _all_bounded(tokens) if shares_letters("".join(tokens)) else "".join(tokens)


def _all_bounded(tokens: list[str]) -> str:
    """Return an expression in which each letter or class that is repeated has an end."""
    ends = list(tokens)
    for at, token in enumerate(tokens[:-1]):
        if tokens[at + 1] in ("*", "+") and _LETTERS.match(token):
            most = _LONGEST_WHERE_SLOW.get(token, 200)
            ends[at + 1] = f"{{{int(tokens[at + 1] == '+')},{most}}}"
    return "".join(ends)


def shares_letters(regex: str) -> bool:
    r"""Whether two repeats without end take the same letters with nothing between that ends the first.

    `\w*Output\w*` cuts a long word of `Output`s in each way, `\w+ \w+` has one.
    """
    try:
        _endless_after(sre_parse.parse(regex, re.IGNORECASE), frozenset())
    except _SharedError:
        return True
    return False


class _SharedError(Exception):
    """Two repeats share letters."""


def _endless_after(parsed: Any, before: frozenset[Letters]) -> frozenset[Letters]:
    """Return the letters of each endless repeat that nothing has ended; `before` are earlier ones."""
    for operator, argument in parsed:
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, repeated = argument
            letters = _letters(repeated)
            inner = _endless_after(repeated, before) if letters is None else before
            if letters is not None and most is sre.MAXREPEAT:
                if any(letters & one for one in before):
                    raise _SharedError
                inner = before | {letters}
            before = inner if least else inner | before
        elif operator is sre.SUBPATTERN:
            before = _endless_after(argument[-1], before)
        elif operator is sre.BRANCH:
            before = frozenset().union(*(_endless_after(one, before) for one in argument[1]))
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            _endless_after(argument[1], frozenset())
        elif (letters := _letters_of(operator, argument)) is not None:
            before = frozenset(one for one in before if letters <= one)
    return before


def _letters(parsed: Any) -> Letters | None:
    """Return the letters that an expression of one letter takes, None for others."""
    if len(parsed) != 1:
        return None
    ((operator, argument),) = parsed
    if operator is sre.SUBPATTERN:
        return _letters(argument[-1])
    if operator is sre.BRANCH:
        each = [_letters(one) for one in argument[1]]
        return None if None in each else frozenset().union(*filter(None, each))
    return _letters_of(operator, argument)


def _letters_of(operator: Any, argument: Any) -> Letters | None:
    """Return the letters that one part takes: numbers of ASCII, and 128 for all others."""
    if operator is sre.ANY:
        return _ALL - {ord("\n")}
    if operator is sre.LITERAL:
        return frozenset(min(ord(one), _OTHER) for one in (chr(argument).lower() + chr(argument).upper()))
    if operator is sre.NOT_LITERAL:
        return _ALL - {argument}
    if operator is sre.IN:
        letters: Letters = frozenset().union(*(_letters_of_item(*one) for one in argument))
        return _ALL - letters if argument[0][0] is sre.NEGATE else letters
    return None


def _letters_of_item(operator: Any, argument: Any) -> Letters:
    """Return the letters of one item of a class."""
    if operator is sre.RANGE:
        low, high = argument
        each = range(low, min(high, _OTHER) + 1)
        return frozenset().union(*(_letters_of(sre.LITERAL, one) or () for one in each))
    if operator is sre.CATEGORY:
        return _CATEGORIES[argument]
    return _letters_of(operator, argument) or frozenset()


def is_exponential(regex: str) -> bool:
    """Whether an expression repeats nothing but a repetition, as `(?:a+)+` does."""
    return _nested(sre_parse.parse(regex, re.IGNORECASE))


def _is_gap(argument: Any) -> bool:
    least, most, _ = argument
    return bool(most is sre.MAXREPEAT or most - least >= _WIDE)


def _parts_of(operator: Any, argument: Any) -> tuple[Any, ...]:
    """Return the expressions within one part."""
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        return (argument[2],)
    if operator is sre.SUBPATTERN:
        return (argument[-1],)
    if operator is sre.BRANCH:
        return tuple(argument[1])
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        return (argument[1],)
    return ()


def _nested(parsed: Any) -> bool:
    r"""Whether a gap repeats nothing but a gap, as `(?:\w+)*` does and `(?:\.\w+)*` does not."""
    for operator, argument in parsed:
        is_gap = operator in (sre.MAX_REPEAT, sre.MIN_REPEAT) and _is_gap(argument)
        for part in _parts_of(operator, argument):
            if (is_gap and _only_gap(part)) or _nested(part):
                return True
    return False


def _only_gap(parsed: Any) -> bool:
    """Whether an expression is a gap with nothing certain beside it."""
    certain = gap = False
    for operator, argument in parsed:
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            gap = gap or _is_gap(argument)
            certain = certain or (argument[0] > 0 and not _is_gap(argument))
        elif operator in (sre.SUBPATTERN, sre.BRANCH):
            inner = [_only_gap(item) for item in _parts_of(operator, argument)]
            gap = gap or any(inner)
            certain = certain or not any(inner)
        elif operator not in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            certain = True
    return gap and not certain
