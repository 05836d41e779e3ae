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
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|[\s\S]")
_LONGEST = {r"\w": 40, r"\S": 80}  # letters of a name, of a path
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
    return "".join(tokens)


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
