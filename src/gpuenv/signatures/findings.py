"""What was found in a text, in the order in which it counts: the root first, and little beside it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.signatures.catalogue import Signature, Signatures
from gpuenv.signatures.extract import Facts
from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.log_shape import LinePlace, LogShape

SURE, LIKELY, SAID = 90, 60, 24  # priorities: the text settles the cause; one of several; only its kind
_ROOTS = 2  # that come before the error that the text ends with
_RAISED = LazyRegex(r"\w(?:error|exception)\b|\bremoved\b|no longer|\bwas a deprecated\b")


class Line(Struct, frozen=True):
    """A line of the text, numbered from 1."""

    number: int
    text: str


class SignatureHit(Struct, frozen=True):
    """Where a signature was found."""

    line: int
    lines: tuple[Line, ...]
    facts: Facts


class SignatureFinding(Struct, frozen=True):
    """A signature, and where it was found, the last place last; `apart` is an error beside the first one."""

    signature: Signature
    hits: tuple[SignatureHit, ...]
    broader: bool = False
    apart: bool = False

    @property
    def first_line(self) -> int:
        """The first line of those that it was last found in."""
        return self.hits[-1].lines[0].number if self.hits[-1].lines else self.last

    @property
    def last(self) -> int:
        """The line that it was last found in."""
        return self.hits[-1].line

    @property
    def priority(self) -> int:
        """How much it tells."""
        return self.signature.priority


def in_order(hits: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Sort by what tells most, then by what stands nearest to the end.

    Wrappers and hints count only where nothing better was found, and what is merely deprecated comes after
    all that failed. What only tells the kind of an error counts beside better where the text ends with it.
    What raised an exception comes before what it caused; beside the first one other counts at most.
    """
    warned = [hit for hit in hits if _only_warns(hit)]
    hits = [hit for hit in hits if not _only_warns(hit)]
    failed = _innermost_first(_telling_first(_reasons(hits, shape)), shape)
    failed = _without_consequences(_first_rank_first(failed, shape), shape)
    return _at_most_one_beside([*failed, *_telling_first(warned)], shape)


def _reasons(hits: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Leave out what only reports a failure of which the same program's output says more."""
    programs = {
        shape.place(hit.last).program for hit in hits if hit.priority >= SAID and not hit.signature.wrapper
    }
    return [hit for hit in hits if not hit.signature.wrapper or shape.place(hit.last).program not in programs]


def _telling_first(hits: list[SignatureFinding]) -> list[SignatureFinding]:
    telling = [hit for hit in hits if hit.priority >= LIKELY]
    said = [hit for hit in hits if SAID <= hit.priority < LIKELY]
    if not telling:
        return _by_weight(said) or _by_weight(hits)[:1]
    end = max(hit.last for hit in telling)
    ordered = _by_weight(telling)
    return [*ordered[:_ROOTS], *_by_weight([hit for hit in said if hit.last > end])[:1], *ordered[_ROOTS:]]


def _innermost_first(ordered: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Put what raised the exception that caused the first finding's before it."""
    if not ordered:
        return ordered
    outer = shape.place(ordered[0].last)
    inner = [hit for hit in ordered[1:] if hit.priority >= LIKELY and _caused(shape.place(hit.last), outer)]
    if not inner:
        return ordered
    root = min(inner, key=lambda hit: shape.place(hit.last).depth)
    return [root, *(hit for hit in ordered if hit is not root)]


def _without_consequences(ordered: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Leave out what the exception of the first finding caused."""
    root = shape.place(ordered[0].last) if ordered else LinePlace()
    return [hit for hit in ordered if hit.priority >= SURE or not _caused(root, shape.place(hit.last))]


def _first_rank_first(ordered: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Leave of several ranks what the first that failed says: the others fail as it is gone."""
    ranks = [hit for hit in ordered if hit.priority >= LIKELY and shape.place(hit.last).rank]
    if not ranks or not shape.place(ordered[0].last).rank:
        return ordered
    rank = shape.place(min(ranks, key=lambda hit: hit.last).last).rank
    return [hit for hit in ordered if shape.place(hit.last).rank in {rank, ""}]


def _caused(place: LinePlace, outer: LinePlace) -> bool:
    same = place.failure is not None and (place.failure, place.branch) == (outer.failure, outer.branch)
    return same and place.depth < outer.depth


def _at_most_one_beside(ordered: list[SignatureFinding], shape: LogShape) -> list[SignatureFinding]:
    """Leave beside the first answer the next that adds to it.

    That is an error of its own, unless one check of doctor's looks for both; or, beside a likely answer, what
    its lines, or those before, may mean besides. What comes after is its consequence: of 38 such answers
    under tests/logs none was right.
    """
    if not ordered:
        return ordered
    first = ordered[0]
    for other in ordered[1:]:
        if set(first.signature.checks).isdisjoint(other.signature.checks):
            apart = _is_independent(shape.place(other.last), shape.place(first.last))
            if other.priority >= LIKELY and apart and not _only_warns(other):
                return [first, replace(other, apart=True)]
            if first.priority < SURE and other.first_line <= first.last:
                return [first, other]
    return [first]


def _is_independent(other: LinePlace, place: LinePlace) -> bool:
    if other.program != place.program:
        return True
    return None not in (other.failure, place.failure) and other.failure != place.failure


def with_broader(hits: list[SignatureFinding], known: Signatures) -> list[SignatureFinding]:
    """Put what the roots are cases of behind them."""
    roots, rest = hits[:_ROOTS], {hit.signature.id: hit for hit in hits[_ROOTS:]}
    ids = {hit.signature.id for hit in roots}
    cases = {hit.signature.case_of: hit for hit in reversed(roots) if hit.signature.case_of not in ids}
    behind = [
        rest.pop(signature.id, SignatureFinding(signature, cases[signature.id].hits, broader=True))
        for signature in known.named(cases)
    ]
    return [*roots, *behind, *rest.values()]


def _by_weight(hits: list[SignatureFinding]) -> list[SignatureFinding]:
    return sorted(hits, key=lambda hit: (-hit.priority, -hit.last))


def _only_warns(finding: SignatureFinding) -> bool:
    said = " ".join(line.text for hit in finding.hits for line in hit.lines).lower()
    warns = "warning" in said or ("deprecated" in said and not _RAISED.pattern.search(said))
    return finding.signature.kind == "deprecation" and warns
