"""A fix that names several ways: without those that the text rules out, first those for its machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from gpuenv.signatures.lazy_regex import LazyRegex

_ENDS = LazyRegex(r"[；。]\s*|(?<!\be\.g)(?<!\bi\.e)(?<!\betc)[;.]\s+")
_OPEN, _CLOSE = "(（`", ")）`"
_JOINS = LazyRegex(r"(?i)(?:and |or |else |otherwise |但|或者?|否则|然后|并)")
_THEN = LazyRegex(r"(?i)(?:then|else|otherwise|if (?:not|it)|after that|where it|然后|否则|再|若)")
_TYPED = LazyRegex(  # how what is typed begins: it keeps its small letter
    r"\S*[^a-z ,.;:]|(?:apt|cmd|conda|docker|export|gcc|git|kill|ls|nvcc|pip|srun|ssh|sudo|unset|wsl)\b"
)
_WHOLE = {"；": "。", ";": "."}

Verdict = Literal["out", "open", "for this"]


class Clause(Struct, frozen=True):
    """The place of a clause in a fix, counted from 0, and the facts of the machines that it is for.

    `leads` is one that begins by naming them: where they hold it stands first.
    """

    at: int
    facts: tuple[tuple[str, str], ...]
    leads: bool = False

    def verdict(self, facts: Mapping[str, str]) -> Verdict:
        """Say whether a text rules the clause out: a fact that it does not report leaves it open."""
        known = [(wanted, facts[name]) for name, wanted in self.facts if name in facts]
        if any(not re.search(wanted, value) for wanted, value in known):
            return "out"
        return "for this" if self.leads and len(known) == len(self.facts) else "open"


def split_clauses(fix: str) -> list[str]:
    """Return the clauses of a fix, with what ends each; what stands in brackets or backticks is one."""
    clauses, start, quoted = [], 0, _in_brackets(fix)
    for end in _ENDS.pattern.finditer(fix):
        if end.start() not in quoted:
            clauses.append(fix[start : end.end()])
            start = end.end()
    return [*clauses, fix[start:]] if start < len(fix) else clauses


def fitting_fix(fix: str, clauses: tuple[Clause, ...], facts: Mapping[str, str]) -> str:
    """Return a fix without what the facts rule out, and with what is for this machine first.

    Where all is ruled out, or what is left only goes on from what is not, it stays as it is.
    """
    each = split_clauses(fix)
    verdicts = {clause.at: clause.verdict(facts) for clause in clauses}
    left = [at for at in range(len(each)) if verdicts.get(at) != "out"]
    first = [at for at in left if verdicts.get(at) == "for this" and not _goes_on(each, at)]
    order = [*first, *(at for at in left if at not in first)]
    if not order or order == list(range(len(each))) or _THEN.pattern.match(each[order[0]]):
        return fix
    texts = [each[at] for at in order]
    opening = _JOINS.pattern.sub("", texts[0], count=1) if _JOINS.pattern.match(texts[0]) else texts[0]
    texts[0] = opening if _TYPED.pattern.match(opening) else opening[:1].upper() + opening[1:]
    return _ended(texts)


def _goes_on(each: list[str], at: int) -> bool:
    """Whether the clause behind one speaks of it."""
    return at + 1 < len(each) and _THEN.pattern.match(each[at + 1]) is not None


def _ended(texts: list[str]) -> str:
    """Join clauses, each with an end that lets the next one follow, the last with a full stop."""
    joined = [_spaced(text, following) for text, following in pairwise(texts)]
    last = texts[-1].rstrip()
    return "".join((*joined, last[:-1] + _WHOLE.get(last[-1:], last[-1:])))


def _spaced(text: str, following: str) -> str:
    bare = text.rstrip()
    if bare.endswith(("；", "。")):
        return bare
    bare = bare[:-1] if bare.endswith((";", ".")) else bare
    return f"{bare}. " if following[:1].isupper() else f"{bare}; "


def _in_brackets(fix: str) -> set[int]:
    """Return the places of a text within brackets or backticks."""
    places: set[int] = set()
    depth, code = 0, False
    for at, letter in enumerate(fix):
        if letter == "`":
            code = not code
        elif not code and letter in _OPEN:
            depth += 1
        elif not code and letter in _CLOSE:
            depth = max(depth - 1, 0)
        if depth or code:
            places.add(at)
    return places
