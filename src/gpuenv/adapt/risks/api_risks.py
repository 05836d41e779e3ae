"""What a changed line of requirements risks: what changed in the API between its two releases."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.adapt.model import RequirementChange, Risk
from gpuenv.adapt.risks.code_text import language_of, without_comments
from gpuenv.i18n.messages import N_, current_language, tr
from gpuenv.knowledge.api_changes import KINDS, ApiChange, CodeLanguage, parse_api_changes

MOST_PLACES = 5  # of one risk
MOST_UNSEEN = 4  # risks of a change that no line of code was found for
_SOURCE = "matrix api-changes.json"
_ALIASES = {"lightning": "pytorch-lightning", "pytorch": "torch"}
_MOST_OF_A_FILE = 50  # places of one change: more tell nothing new


class _Move(Struct, frozen=True):
    """From which release to which; `since` is the least that a range allowed, None where anything was."""

    old: Version | None
    new: Version
    since: Version | None = None

    @property
    def is_down(self) -> bool:
        return self.old is not None and self.new < self.old

    def crosses(self, row: ApiChange) -> bool:
        """Whether a change of an API lies on the way: what is added matters downwards, the rest upwards."""
        if self.is_down:
            return row.kind == "added" and self.old is not None and self.new < row.version <= self.old
        start = self.old or self.since
        return row.kind != "added" and row.version <= self.new and (start is None or start < row.version)


def risks_of(
    changes: tuple[RequirementChange, ...],
    rows: Iterable[Mapping[str, Any]],
    code: Iterable[tuple[str, str]] = (),
) -> tuple[RequirementChange, ...]:
    """Return the changes with their risks, those that the code has a line for first.

    `rows` are those of api-changes.json; `code` are paths and texts of the code that the requirements serve,
    none where it was not looked at. Of what no line was found for, the few gravest are told and the others
    counted. A range says no release that the code was written for: only what is found in the code is told.
    Raises ValueError for a row that is none.
    """
    moves = tuple(_move(change) for change in changes)
    known = parse_api_changes(rows)
    names = (_ALIASES.get(change.project, change.project) for change in changes)
    crossed = tuple(
        _gravest(row for row in known if row.project == name and move and move.crosses(row))
        for name, move in zip(names, moves, strict=True)
    )
    texts = tuple(code)
    uses = places_of({row.id: row for met in crossed for row in met}.values(), texts, MOST_PLACES)
    return tuple(
        replace(change, risks=_risks(move, met, uses, looked=bool(texts))) if move and met else change
        for change, move, met in zip(changes, moves, crossed, strict=True)
    )


def _gravest(rows: Iterable[ApiChange]) -> tuple[ApiChange, ...]:
    """Sort what is removed before what is changed before what warns; of one thing told twice, the worse."""
    ordered = sorted(rows, key=lambda row: (KINDS.index(row.kind), not row.often, row.version, row.id))
    changes: dict[str, ApiChange] = {}
    for row in ordered:
        changes.setdefault(row.regex or row.id, row)
    return tuple(changes.values())


def _risks(
    move: _Move, rows: tuple[ApiChange, ...], uses: Mapping[str, CodeUses], *, looked: bool
) -> tuple[Risk, ...]:
    seen = tuple(row for row in rows if row.id in uses)
    hidden = tuple(row for row in rows if row.id not in uses and not (looked and row.regex))
    if move.old is None:
        hidden = ()
    shown = (*seen, *hidden[:MOST_UNSEEN])
    risks = [_risk(row, uses.get(row.id, CodeUses())) for row in shown]
    if move.old is not None and len(shown) < len(rows):
        risks.append(Risk("others", _others(len(rows) - len(shown), looked=looked), _SOURCE))
    return tuple(risks)


def _others(count: int, *, looked: bool) -> str:
    template = N_("{count} further known changes lie between; the code was not looked at")
    if looked:
        template = N_(
            "{count} further known changes lie between the two releases; no code was found that uses them"
        )
    return tr(template, count=count)


def _risk(row: ApiChange, places: CodeUses) -> Risk:
    facts = {"project": row.project, "version": row.version, "text": row.text(current_language())}
    if row.kind == "added":
        text = tr("not before {project} {version}: {text}", **facts)
    else:
        text = tr("since {project} {version}: {text}", **facts)
    if places.count > len(places.first):
        text = tr("{text} ({count} places)", text=text, count=places.count)
    return Risk(row.id, text, row.source, places.first)


def _move(change: RequirementChange) -> _Move | None:
    """Read from where to where a change goes; None where a line came or went, or says no release."""
    if change.old is None or change.new is None:
        return None
    new = _pinned(change.new) or _least(change.new)
    if new is None:
        return None
    old = _pinned(change.old)
    return _Move(old, new, None if old else _least(change.old))


def _pinned(text: str) -> Version | None:
    """Read the release of `torch==1.7.1+cu110`, `==3.8.*`, `3.10`; None for a range."""
    for specifier in _specifiers(text):
        if specifier.operator in ("==", "==="):
            return _version(specifier.version)
    return _version(text)


def _least(text: str) -> Version | None:
    """Read the least release of a range: 1.4 of `torch>=1.4,<2`, `torch~=1.4`; None where there is none."""
    bounds = (specifier for specifier in _specifiers(text) if specifier.operator in (">=", ">", "~="))
    versions = (_version(bound.version) for bound in bounds)
    return max((version for version in versions if version), default=None)


def _specifiers(text: str) -> SpecifierSet:
    """Read `>=3.7`, or those of `torch>=1.4`; none where it is neither."""
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        pass
    try:
        return Requirement(text).specifier
    except InvalidRequirement:
        return SpecifierSet()


def _version(text: str) -> Version | None:
    try:
        return Version(text.strip().removesuffix(".*"))
    except InvalidVersion:
        return None


class CodeUses(Struct, frozen=True):
    """The first lines where a change is met, `FILE:LINE` (`notes.ipynb[3]:2` in a cell), and how many."""

    first: tuple[str, ...] = ()
    count: int = 0


def places_of(
    changes: Iterable[ApiChange], code: Iterable[tuple[str, str]], most: int
) -> Mapping[str, CodeUses]:
    """Find the lines that each change concerns, by its id; `most` places of each are kept.

    `code` are paths and texts. Comments, docstrings and messages don't count where a text can be taken apart.
    """
    wanted = tuple(change for change in changes if change.compiled)
    fields: dict[str, list[str]] = {}
    for path, text in code:
        language = language_of(path)
        if language is None:
            continue
        for change, line in _in_file(wanted, text, language):
            fields.setdefault(change.id, []).append(f"{path}:{line}")
    return {name: CodeUses(tuple(places[:most]), len(places)) for name, places in fields.items()}


def _in_file(
    changes: tuple[ApiChange, ...], text: str, language: CodeLanguage
) -> Iterator[tuple[ApiChange, int]]:
    """Yield the lines of a file; only a file with a line that seems concerned is tokenized."""
    lower = text.lower()
    here = [change for change in changes if language in change.languages and _may_match(change, text, lower)]
    if here:
        code = without_comments(text, language)
        ends = [at for at, letter in enumerate(code) if letter == "\n"]
        for change in here:
            yield from ((change, line) for line in _lines(change, code, ends))


def _may_match(change: ApiChange, text: str, lower: str) -> bool:
    likely = not change.needs or any(all(word in lower for word in way) for way in change.needs)
    return likely and change.compiled is not None and change.compiled.search(text) is not None


def _lines(change: ApiChange, code: str, ends: list[int]) -> list[int]:
    """Return the lines where matches start, the first of them; blanks before a match don't count."""
    lines: list[int] = []
    for match in change.compiled.finditer(code) if change.compiled else ():
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        line = bisect_left(ends, start) + 1
        if line not in lines[-1:]:
            lines.append(line)
        if len(lines) == _MOST_OF_A_FILE:
            break
    return lines
