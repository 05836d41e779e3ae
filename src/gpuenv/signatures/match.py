"""What the errors in a text mean: pure, and quick on logs of many megabytes.

Only what a page has the words for is tried (see `tools/matrix_tables/regex_words.py`), and only around those
words: no text, however hostile, is given whole to a regular expression. A text that has the words of all is
searched for as long as its budget lasts: its last page first, for what tells most first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gpuenv.i18n.messages import tr
from gpuenv.signatures.catalogue import ErrorClass, Pattern, Replan, Signature, Way
from gpuenv.signatures.extract import Facts, read_facts
from gpuenv.signatures.log_pages import JoinedPage, LogPage, Vocabulary, pages, vocabulary_of, words_of
from gpuenv.signatures.unquote import as_written

Confidence = Literal["high", "medium", "low"]

_BEFORE, _AFTER = 450, 900  # letters around a word that an expression is tried on; the longest gap is 400
_PAGES = 5  # that a signature is looked for on, once found
_PLACES = 16  # tried on a page, the last ones
_MOST_PLACES = 10_000  # tried in all, after which older pages are passed over; healthy logs have a third
_LEAST_PAGES = 4  # that are read in any case, the last ones
_LINES = 5  # told of a match
_WIDEST = 200  # letters of a line that are told
_SURE, _LIKELY, _SAID = 90, 60, 24  # priorities: the text settles the cause; one of several; only its kind
_RAISED = re.compile(r"\w(?:error|exception)\b|\bremoved\b|no longer|\bwas a deprecated\b")
_BUDGET_S = 1.5  # of CPU for a text; logs of 10 MB take a third
_ROOTS = 2  # that come before the error that the text ends with


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the text, numbered from 1, its runs of blanks as one."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class SignatureMatch:
    """What a text tells, where it stands, and the facts in it; `detail` says the facts in a sentence.

    `wants` are templates, to be filled with the facts, of what a plan that removes the cause is asked for.
    `broader` is a cause that only a match before it, a case of it, speaks for.
    """

    id: str
    kind: ErrorClass
    broader: bool
    cause: str
    fix: str
    detail: str | None
    facts: Facts
    confidence: Confidence
    lines: tuple[Line, ...]
    replan: Replan
    wants: tuple[str, ...]
    checks: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found in a text, and whether all of it could be looked through."""

    matches: tuple[SignatureMatch, ...]
    whole: bool = True


@dataclass(slots=True)
class _Budget:
    """What the search of a text may cost; `spent` tells the seconds of CPU that the process has had."""

    spent: Callable[[], float]
    until: float
    is_gone: bool = False

    def lasts(self) -> bool:
        self.is_gone = self.is_gone or self.spent() > self.until
        return not self.is_gone


@dataclass(frozen=True, slots=True)
class _Hit:
    """Where a signature was found."""

    line: int
    lines: tuple[Line, ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class _Found:
    signature: Signature
    hits: tuple[_Hit, ...]
    broader: bool = False

    @property
    def last(self) -> int:
        return self.hits[-1].line


def explain(text: str, signatures: Iterable[Signature]) -> tuple[SignatureMatch, ...]:
    """Return what the errors in a text mean: the root first, then what follows; nothing where unknown."""
    return examine(text, signatures, lambda: 0.0).matches


def examine(text: str, signatures: Iterable[Signature], spent: Callable[[], float]) -> Examined:
    """Return what the errors in a text mean, as far as its budget goes; `spent` tells seconds of CPU."""
    known = tuple(signatures)
    budget = _Budget(spent, spent() + _BUDGET_S)
    text = as_written(text)
    hits: dict[str, list[_Hit]] = {}
    tried = 0
    for number, page in enumerate(reversed(tuple(pages(text)))):
        if (number >= _LEAST_PAGES and tried > _MOST_PLACES) or not budget.lasts():
            break
        sought = [one for one in known if len(hits.get(one.id, ())) < _PAGES]
        told, places = _on_page(page, sought, budget)
        tried += places
        for signature, hit in told:
            hits.setdefault(signature.id, []).append(hit)
    found = [_Found(one, tuple(reversed(hits[one.id]))) for one in known if one.id in hits]
    matches = tuple(_match(one) for one in _with_broader(_in_order(found), known))
    return Examined(matches, whole=not budget.is_gone)


def _on_page(
    page: LogPage, sought: list[Signature], budget: _Budget
) -> tuple[list[tuple[Signature, _Hit]], int]:
    """Return what a page tells, and in how many places it was looked for."""
    vocabulary = vocabulary_of(page)
    tried = [(one, patterns) for one in sought if (patterns := _to_try(one.patterns, vocabulary))]
    if not tried:
        return [], 0
    words = words_of(page)
    count = cache(words.lower.count)
    found, places = [], 0
    for signature, patterns in tried:
        places += sum(min(count(_rarest(way, count)), _PLACES) for _, ways in patterns for way in ways)
        matches = [
            match for pattern, ways in patterns if (match := _find(pattern, ways, words, count, budget))
        ]
        if matches and not any(
            _find(*one, words, count, budget) for one in _to_try(signature.unless, vocabulary)
        ):
            last = max(matches, key=lambda match: match.end())
            found.append((signature, _hit(last, words, signature.reads if budget.lasts() else ())))
        elif budget.is_gone:
            break
    return found, places


def _to_try(patterns: tuple[Pattern, ...], vocabulary: Vocabulary) -> list[tuple[Pattern, list[Way]]]:
    """Return the patterns that may match, with the ways that a page has the words for."""
    allows = vocabulary.allows
    return [(one, ways) for one in patterns if (ways := [way for way in one.needs if allows(way)])]


def _find(
    pattern: Pattern, ways: list[Way], words: JoinedPage, count: Callable[[str], int], budget: _Budget
) -> re.Match[str] | None:
    """Return the last match on a page, whose words `count` counts."""
    found: re.Match[str] | None = None
    for way in ways:
        for place in _places(_rarest(way, count), words.lower):
            start, end = max(place - _BEFORE, 0), place + _AFTER
            if any(words.lower.find(word, start, end) < 0 for word in way.words):
                continue
            if not budget.lasts():
                return found
            match = pattern.compiled.search(words.text, start, end)
            if match:
                found = match if found is None or match.end() > found.end() else found
                break
    return found


def _rarest(way: Way, count: Callable[[str], int]) -> str:
    return min(way.words, key=count)


def _places(word: str, lower: str) -> Iterator[int]:
    """Yield where a word stands, the last place first."""
    place = len(lower)
    for _ in range(_PLACES):
        place = lower.rfind(word, 0, place)
        if place < 0:
            return
        yield place


def _hit(match: re.Match[str], words: JoinedPage, reads: tuple[str, ...]) -> _Hit:
    lines = words.lines_of(match.start(), match.end())
    told = tuple(Line(number, text[:_WIDEST]) for number, text in lines[-_LINES:])
    return _Hit(lines[-1][0], told, read_facts(match, words, reads))


def _in_order(found: list[_Found]) -> list[_Found]:
    """Sort by what tells most, then by what stands nearest to the end.

    Wrappers and hints count only where nothing better was found, and what is merely deprecated comes after
    all that failed. What only tells the kind of an error counts beside better where the text ends with it.
    """
    warned = [one for one in found if _only_warns(one)]
    failed = [one for one in found if not _only_warns(one)]
    return [*_telling_first(failed), *_telling_first(warned)]


def _telling_first(found: list[_Found]) -> list[_Found]:
    telling = [one for one in found if one.signature.priority >= _LIKELY]
    said = [one for one in found if _SAID <= one.signature.priority < _LIKELY]
    if not telling:
        return _by_weight(said or found)
    end = max(one.last for one in telling)
    ordered = _by_weight(telling)
    return [*ordered[:_ROOTS], *_by_weight([one for one in said if one.last > end])[:1], *ordered[_ROOTS:]]


def _with_broader(found: list[_Found], known: tuple[Signature, ...]) -> list[_Found]:
    """Put what the roots are cases of behind them."""
    roots, rest = found[:_ROOTS], {one.signature.id: one for one in found[_ROOTS:]}
    ids = {one.signature.id for one in roots}
    cases = {one.signature.case_of: one for one in reversed(roots) if one.signature.case_of not in ids}
    broader = [one for one in known if one.id in cases]
    behind = [rest.pop(one.id, _Found(one, cases[one.id].hits, broader=True)) for one in broader]
    return [*roots, *behind, *rest.values()]


def _by_weight(found: list[_Found]) -> list[_Found]:
    return sorted(found, key=lambda one: (-one.signature.priority, -one.last))


def _only_warns(found: _Found) -> bool:
    said = " ".join(line.text for hit in found.hits for line in hit.lines).lower()
    warns = "warning" in said or ("deprecated" in said and not _RAISED.search(said))
    return found.signature.kind == "deprecation" and warns


def _match(found: _Found) -> SignatureMatch:
    signature, last = found.signature, found.hits[-1]
    lines = {line.number: line for hit in found.hits[-_LINES:] for line in hit.lines}
    return SignatureMatch(
        id=signature.id,
        kind=signature.kind,
        broader=found.broader,
        cause=signature.cause,
        fix=signature.fix,
        detail=_detail(signature, last.facts),
        facts=last.facts,
        confidence=_confidence(signature.priority),
        lines=tuple(lines[number] for number in sorted(lines))[-_LINES:],
        replan=signature.replan,
        wants=signature.wants,
        checks=signature.checks,
        source=signature.source,
    )


def _detail(signature: Signature, facts: Facts) -> str | None:
    """Fill the template with the facts; None where one of them was not in the text."""
    try:
        return tr(signature.detail, **dict(facts)) if signature.detail else None
    except KeyError:
        return None


def _confidence(priority: int) -> Confidence:
    return "high" if priority >= _SURE else "medium" if priority >= _LIKELY else "low"
