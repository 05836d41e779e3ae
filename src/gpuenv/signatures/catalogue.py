"""The rows of signatures.json as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, get_args, overload

from msgspec import Struct, json

from gpuenv.i18n.messages import series, tr
from gpuenv.signatures.cases import SignatureCase
from gpuenv.signatures.clauses import Clause
from gpuenv.signatures.packs import PACKS, PackName
from gpuenv.signatures.vocabulary import OR, Vocabulary
from gpuenv.signatures.word_index import WordIndex

ErrorClass = Literal["environment", "hardware", "code", "data", "deprecation"]
Replan = Literal["yes", "partly", "no"]
Language = Literal["en", "zh"]

_ROW = b'{"id": "'
CLASSES = get_args(ErrorClass)
REPLANS = get_args(Replan)


class Way(Struct, frozen=True):
    """Words that a text must have: whole ones, between blanks, and parts of others (`[" module ", "torch"]`).

    Of `error|exception` it must have one. `words` are those it must have without blanks, `choices` those of
    which it must have one.
    """

    needs: tuple[str, ...]
    words: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]


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
    pack: PackName = "core"


class Signatures(Sequence[Signature]):
    """All signatures, of which only those are parsed that a text may have.

    `read` gives the table's JSON, a row a line, when one is needed; `parse` makes a signature of a row, and
    raises what is to be raised for a row that is none. `named` gives only those of `packs`.
    """

    def __init__(
        self,
        index: WordIndex,
        read: Callable[[], bytes],
        parse: Callable[[bytes], Signature],
        packs: Container[PackName] | None = None,
    ) -> None:
        self._index, self._read, self._parse, self._packs = index, read, parse, packs
        self._parsed: dict[str, Signature] = {}

    @cached_property
    def _rows(self) -> dict[str, bytes]:
        """The rows by their ids, in their order."""
        lines = (line.strip(b" ,") for line in self._read().split(b"\n"))
        rows = (line for line in lines if line.startswith(_ROW))
        return {row[len(_ROW) :].partition(b'"')[0].decode(errors="replace"): row for row in rows}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Signature: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Signature]: ...
    def __getitem__(self, index: int | slice) -> Signature | Sequence[Signature]:
        names = tuple(self._rows)[index]
        return self._get(names) if isinstance(names, str) else [self._get(name) for name in names]

    def _get(self, name: str) -> Signature:
        if name not in self._parsed:
            self._parsed[name] = self._parse(self._rows[name])
        return self._parsed[name]

    def possible(self, vocabulary: Vocabulary, among: Container[str] | None = None) -> frozenset[str]:
        """Return the ids, of some, of the signatures for which there are the words."""
        return self._index.possible(vocabulary, among)

    def named(self, ids: Collection[str | None]) -> list[Signature]:
        """Return the signatures of some ids, in their order."""
        signatures = [self._get(name) for name in self._rows if name in ids] if ids else []
        return [item for item in signatures if self._packs is None or item.pack in self._packs]


@cache
def compile_regex(regex: str) -> re.Pattern[str]:
    """Compile a regular expression once; upper and lower case are one."""
    return re.compile(regex, re.IGNORECASE)


def parse_signature(content: bytes, language: Language = "en") -> Signature:
    """Parse one row of signatures.json; raise ValueError.

    {"id": "mkl-ijit-notifyevent", "class": "environment", "priority": 96, "patterns": [{"regex":
     "undefined symbol: iJIT_NotifyEvent", "needs": [["ijit_notifyevent", "undefined", "symbol"]]}], ...}
    """
    row = json.decode(content)
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
            pack=checked_choice(row["pack"], PACKS),
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
    parts = [tuple(word.strip() for word in need.split(OR)) for need in each]
    return Way(
        each,
        tuple(words[0] for words in parts if len(words) == 1),
        tuple(words for words in parts if words[1:]),
    )


def checked_choice(value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return a value that is one of those allowed; raise ValueError for any other."""
    if value not in allowed:
        raise ValueError(tr("{value!r} is not one of {allowed}", value=value, allowed=series(allowed)))
    return value
