"""The rows of signatures.json as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, get_args, overload

from msgspec import Raw, Struct, json

from gpuenv.i18n.messages import tr
from gpuenv.signatures.cases import SignatureCase
from gpuenv.signatures.clauses import Clause

ErrorClass = Literal["environment", "hardware", "code", "data", "deprecation"]
Replan = Literal["yes", "partly", "no"]
Language = Literal["en", "zh"]

CLASSES = get_args(ErrorClass)
REPLANS = get_args(Replan)


class Way(Struct, frozen=True):
    """Words that a text must have: whole ones, between blanks, and parts of others (`[" module ", "torch"]`).

    `words` are all of them, without blanks.
    """

    needs: tuple[str, ...]
    words: tuple[str, ...]


class Pattern(Struct, frozen=True):
    """A regular expression, and the ways for a text to match it, one of which it must have the words for."""

    regex: str
    needs: tuple[Way, ...]

    @property
    def compiled(self) -> re.Pattern[str]:
        """The expression, compiled when it is first needed."""
        return compile_regex(self.regex)


class Signature(Struct, frozen=True):
    """What a text tells: its class, cause and fix, in one language.

    `case_of` is the id of a broader cause. A `wrapper` only reports that something else failed. `unless` are
    patterns that mean something else. `reads` find facts in the words around a match, `detail` is a template
    that says them. `replan` tells whether another plan removes the cause, `wants` what it is asked for:
    requirements, in which `{fact}` stands for what was read. Of `cases` the first
    that holds for the facts of the text is said instead; else `clauses` of the fix that it rules out are not.
    """

    id: str
    kind: ErrorClass
    case_of: str | None
    wrapper: bool
    priority: int
    patterns: tuple[Pattern, ...]
    unless: tuple[Pattern, ...]
    reads: tuple[str, ...]
    cause: str
    fix: str
    detail: str | None
    replan: Replan
    wants: tuple[str, ...]
    checks: tuple[str, ...]
    source: str
    cases: tuple[SignatureCase, ...] = ()
    clauses: tuple[Clause, ...] = ()


class _Entry(Struct, frozen=True):
    needs: tuple[tuple[str, ...], ...]


class _Row(Struct, frozen=True):
    """What is looked at of every row."""

    id: str
    patterns: tuple[_Entry, ...]


class _Rows(Struct, frozen=True):
    rows: tuple[_Row, ...]


class _Texts(Struct, frozen=True):
    rows: tuple[Raw, ...]


class Signatures(Sequence[Signature]):
    """All signatures, of which only those are parsed that a text may have.

    `parse` makes one of a row, and raises what is to be raised for a row that is none.
    """

    def __init__(self, table: bytes, parse: Callable[[Mapping[str, Any]], Signature]) -> None:
        """Read the JSON of the table; raise ValueError."""
        self._rows = json.decode(table, type=_Rows).rows
        self._texts = json.decode(table, type=_Texts).rows
        self._parse = parse
        self._parsed: dict[int, Signature] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Signature: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Signature]: ...
    def __getitem__(self, index: int | slice) -> Signature | Sequence[Signature]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        if index not in self._parsed:
            self._parsed[index] = self._parse(json.decode(self._texts[index]))
        return self._parsed[index]

    def positions(self, has_all: Callable[[Iterable[str]], bool], among: Iterable[int]) -> list[int]:
        """Return the positions, of some, of the signatures for which there are the words."""
        rows = self._rows
        return [
            position
            for position in among
            if any(has_all(way) for entry in rows[position].patterns for way in entry.needs)
        ]

    def named(self, ids: Container[str | None]) -> list[Signature]:
        """Return the signatures of some ids, in their order."""
        return [self[position] for position, row in enumerate(self._rows) if row.id in ids]


@cache
def compile_regex(regex: str) -> re.Pattern[str]:
    """Compile a regular expression once; upper and lower case are one."""
    return re.compile(regex, re.IGNORECASE)


def parse_signature(row: Mapping[str, Any], language: Language = "en") -> Signature:
    """Parse one row of signatures.json; raise ValueError.

    {"id": "mkl-ijit-notifyevent", "class": "environment", "priority": 96, "patterns": [{"regex":
     "undefined symbol: iJIT_NotifyEvent", "needs": [["ijit_notifyevent", "undefined", "symbol"]]}], ...}
    """
    try:
        return Signature(
            id=str(row["id"]),
            kind=checked_choice(row["class"], CLASSES),
            case_of=row["case_of"],
            wrapper=bool(row["wrapper"]),
            priority=int(row["priority"]),
            patterns=tuple(_pattern(item) for item in row["patterns"]),
            unless=tuple(_pattern(item) for item in row["unless"]),
            reads=tuple(map(str, row["reads"])),
            cause=str(row[f"cause_{language}"]),
            fix=str(row[f"fix_{language}"]),
            detail=row[f"detail_{language}"],
            replan=checked_choice(row["replan"], REPLANS),
            wants=tuple(map(str, row["wants"])),
            checks=tuple(map(str, row["checks"])),
            source=str(row["source"]),
            cases=tuple(_case(case, language) for case in row.get("cases", ())),
            clauses=tuple(_clause(clause) for clause in row.get("clauses", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(tr("is not a valid row of signatures: {error}", error=error)) from None


def _case(row: Mapping[str, Any], language: Language) -> SignatureCase:
    cause = row.get(f"cause_{language}")
    return SignatureCase(
        tuple(row["when"].items()), cause, str(row[f"fix_{language}"]), row.get("replans", True)
    )


def _clause(row: Mapping[str, Any]) -> Clause:
    return Clause(int(row["at"]), tuple(row["facts"].items()), row.get("leads", False))


def _pattern(entry: Mapping[str, Any]) -> Pattern:
    return Pattern(str(entry["regex"]), tuple(_way(way) for way in entry["needs"]))


def _way(needs: Iterable[str]) -> Way:
    each = tuple(needs)
    return Way(each, tuple(word.strip() for word in each))


def checked_choice(value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return a value that is one of those allowed; raise ValueError for any other."""
    if value not in allowed:
        raise ValueError(tr("{value!r} is not one of {allowed}", value=value, allowed=", ".join(allowed)))
    return value
