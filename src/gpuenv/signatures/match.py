"""What the errors in a text mean: pure, and quick on logs of many megabytes.

Only what a page has the words for is tried (see `tools/matrix_tables/regex_words.py`), and only around those
words: no text, however hostile, is given whole to a regular expression. A text that has the words of all is
searched for as long as its budget lasts: its last page first, for what tells most first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.signatures.cases import SignatureCase
from gpuenv.signatures.catalogue import ErrorClass, Pattern, Replan, Signature, Signatures, Way
from gpuenv.signatures.clauses import Clause
from gpuenv.signatures.extract import Facts, read_facts
from gpuenv.signatures.findings import (
    LIKELY,
    SURE,
    Line,
    SignatureFinding,
    SignatureHit,
    in_order,
    with_broader,
)
from gpuenv.signatures.log_pages import JoinedPage, LogPage, joined, pages
from gpuenv.signatures.log_shape import LogShape
from gpuenv.signatures.no_errors import NoError, harmless_lines, without_harmless
from gpuenv.signatures.packs import PackName
from gpuenv.signatures.quote import cut_off, quoted
from gpuenv.signatures.unquote import as_written
from gpuenv.signatures.vocabulary import Vocabulary, lines_of, words_of

Confidence = Literal["high", "medium", "low"]

_BEFORE, _AFTER = 450, 900  # letters around a word that an expression is tried on; the longest gap is 400
_PAGES = 5  # that a signature is looked for on, once found
_PLACES = 16  # tried on a page, the last ones
_MOST_PLACES = 10_000  # tried in all, after which older pages are passed over; healthy logs have a third
_LEAST_PAGES = 4  # that are read in any case, the last ones
_LINES = 5  # shown of a match
_MOST_WORDS = 10_000  # that are looked at for all pages together
_BUDGET_S = 0.6  # of CPU for a text; logs of 10 MB take a third


class SignatureMatch(Struct, frozen=True):
    """What a text tells, where it stands, and the facts in it; `detail` says the facts in a sentence.

    `wants` are templates, to be filled with the facts, of what a plan that removes the cause is asked for.
    `broader` is a cause that only a match before it, a case of it, speaks for; `apart` an error of its own
    beside the first; `settled` one that facts of the text speak for, `check` doctor's check that judged them.
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
    pack: PackName
    cases: tuple[SignatureCase, ...] = ()
    clauses: tuple[Clause, ...] = ()
    apart: bool = False
    settled: bool = False
    check: str | None = None


class Examined(Struct, frozen=True):
    """What was found in a text, and whether all of it could be looked through.

    `no_errors` are the first of the lines that have words of errors, and tell of none.
    """

    matches: tuple[SignatureMatch, ...]
    whole: bool = True
    no_errors: tuple[NoError, ...] = ()


class _Budget(Struct):
    """What the search of a text may cost; `spent` tells the seconds of CPU that the process has had."""

    spent: Callable[[], float]
    until: float
    is_gone: bool = False

    def lasts(self) -> bool:
        self.is_gone = self.is_gone or self.spent() > self.until
        return not self.is_gone


class _PageWords:
    """A page and its words, which are looked at once."""

    def __init__(self, page: LogPage) -> None:
        self.page = page

    @cached_property
    def words(self) -> frozenset[bytes]:
        return words_of(lines_of(self.page))


def examine(text: str, known: Signatures, spent: Callable[[], float]) -> Examined:
    """Return what the errors in a text mean, as far as its budget goes; `spent` tells seconds of CPU."""
    budget = _Budget(spent, spent() + _BUDGET_S)
    written, left_out = without_harmless(as_written(text))
    each = [_PageWords(page) for page in pages(written)]
    possible = _possible(known, each)
    hits: dict[str, list[SignatureHit]] = {}
    tried = 0
    for number, page_words in enumerate(reversed(each)):
        if (number >= _LEAST_PAGES and tried > _MOST_PLACES) or not budget.lasts():
            break
        page = page_words.page
        vocabulary = Vocabulary(page_words.words, page.text)
        here = known.named(known.possible(vocabulary, possible))
        sought = [item for item in here if len(hits.get(item.id, ())) < _PAGES]
        reported, places = _on_page(page, sought, vocabulary, budget)
        tried += places
        for signature, hit in reported:
            hits.setdefault(signature.id, []).append(hit)
    findings = [SignatureFinding(item, tuple(reversed(hits[item.id]))) for item in known.named(hits.keys())]
    shape = LogShape(written.split("\n") if findings else (), (item.last for item in findings))
    raw = text.split("\n") if findings or left_out else []
    ordered = with_broader(in_order(findings, shape), known)
    matches = tuple(_match(finding, raw) for finding in ordered)
    if len(ordered) == 1 and ordered[0].signature.wrapper:
        matches = (_with_unknown_cause(matches[0], shape, raw),)
    return Examined(
        matches, whole=not budget.is_gone, no_errors=tuple(harmless_lines(left_out[:_LINES], raw))
    )


def _possible(known: Signatures, pages: list[_PageWords]) -> frozenset[str] | None:
    """Return the ids of the signatures that a text of some pages may have.

    None, for all, where its words are so many that they are looked for page by page, while the budget lasts.
    """
    words: set[bytes] = set()
    for page in pages:
        if len(pages) == 1:
            return None
        words |= page.words
        if len(words) > _MOST_WORDS:
            return None
    return known.possible(Vocabulary(words))


def _on_page(
    page: LogPage, sought: list[Signature], vocabulary: Vocabulary, budget: _Budget
) -> tuple[list[tuple[Signature, SignatureHit]], int]:
    """Return what a page tells, and in how many places it was looked for."""
    tried = [(item, patterns) for item in sought if (patterns := _to_try(item.patterns, vocabulary))]
    if not tried:
        return [], 0
    words = joined(page)
    count = cache(words.lower.count)
    results, places = [], 0
    for signature, patterns in tried:
        places += sum(min(count(_rarest(way, count)), _PLACES) for _, ways in patterns for way in ways)
        matches = [
            match for pattern, ways in patterns if (match := _find(pattern, ways, words, count, budget))
        ]
        if matches and not any(
            _find(*item, words, count, budget) for item in _to_try(signature.unless, vocabulary)
        ):
            last = max(matches, key=lambda match: match.end())
            results.append((signature, _hit(last, words, signature.reads if budget.lasts() else ())))
        elif budget.is_gone:
            break
    return results, places


def _to_try(patterns: tuple[Pattern, ...], vocabulary: Vocabulary) -> list[tuple[Pattern, list[Way]]]:
    """Return the patterns that may match, with the ways that a page has the words for."""
    has_all = vocabulary.has_all
    return [
        (pattern, ways)
        for pattern in patterns
        if (ways := [way for way in pattern.needs if has_all(way.needs)])
    ]


def _find(
    pattern: Pattern, ways: list[Way], words: JoinedPage, count: Callable[[str], int], budget: _Budget
) -> re.Match[str] | None:
    """Return the last match on a page, whose words `count` counts."""
    matched: re.Match[str] | None = None
    for way in ways:
        for position in _places(_rarest(way, count), words.lower):
            start, end = max(position - _BEFORE, 0), position + _AFTER
            if not _has_words(way, words.lower[start:end]):
                continue
            if not budget.lasts():
                return matched
            match = pattern.compiled.search(words.text, start, end)
            if match:
                matched = match if matched is None or match.end() > matched.end() else matched
                break
    return matched


def _has_words(way: Way, lower: str) -> bool:
    return all(word in lower for word in way.words) and all(
        any(word in lower for word in choice) for choice in way.choices
    )


def _rarest(way: Way, count: Callable[[str], int]) -> str:
    return min(way.words, key=count)


def _places(word: str, lower: str) -> Iterator[int]:
    """Yield where a word stands, the last place first."""
    position = len(lower)
    for _ in range(_PLACES):
        position = lower.rfind(word, 0, position)
        if position < 0:
            return
        yield position


def _hit(match: re.Match[str], words: JoinedPage, reads: tuple[str, ...]) -> SignatureHit:
    lines = words.lines_of(match.start(), match.end())
    number, text = lines[0]
    lines = ((number, text[match.start() - words.start_of_line(match.start()) :] or text), *lines[1:])
    reported = tuple(Line(number, text) for number, text in lines[-_LINES:])
    return SignatureHit(lines[-1][0], reported, read_facts(match, words, reads))


def as_match(signature: Signature) -> SignatureMatch:
    """Return what a signature tells of a text that does not have its words."""
    return _match(SignatureFinding(signature, (SignatureHit(0, (), ()),)), [])


def _match(finding: SignatureFinding, raw: list[str]) -> SignatureMatch:
    signature, last = finding.signature, finding.hits[-1]
    lines = {line.number: line for hit in finding.hits[-_LINES:] for line in hit.lines}
    return SignatureMatch(
        id=signature.id,
        kind=signature.kind,
        broader=finding.broader,
        apart=finding.apart,
        cause=signature.cause,
        fix=signature.fix,
        detail=_detail(signature, last.facts),
        facts=last.facts,
        confidence="low" if signature.wrapper else _confidence(signature.priority),
        lines=tuple(quoted(line, raw[number - 1]) for number, line in sorted(lines.items())[-_LINES:]),
        replan=signature.replan,
        wants=signature.wants,
        checks=signature.checks,
        source=signature.source,
        pack=signature.pack,
        cases=signature.cases,
        clauses=signature.clauses,
    )


def _with_unknown_cause(match: SignatureMatch, shape: LogShape, raw: list[str]) -> SignatureMatch:
    """Say of what only reports a failure that its cause is not known, and where it may stand."""
    number = shape.innermost(match.lines[-1].number)
    if match.detail:
        return match
    if number is None or number in {line.number for line in match.lines}:
        detail = tr("its cause stands further up, or in another log, and was not recognised")
    else:
        detail = tr(
            "its cause was not recognised; see line {number}: {text}",
            number=number,
            text=cut_off(raw[number - 1].strip()),
        )
    return replace(match, detail=detail)


def _detail(signature: Signature, facts: Facts) -> str | None:
    """Fill the template with the facts; None where one of them was not in the text."""
    try:
        return tr(signature.detail, **dict(facts)) if signature.detail else None
    except KeyError:
        return None


def _confidence(priority: int) -> Confidence:
    return "high" if priority >= SURE else "medium" if priority >= LIKELY else "low"
