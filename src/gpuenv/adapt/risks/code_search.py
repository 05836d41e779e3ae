"""Where code uses what an API changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpuenv.adapt.risks.code_text import language_of, without_comments
from gpuenv.knowledge.api_changes import ApiChange, CodeLanguage

_MOST_OF_A_FILE = 50  # places of one change: more tell nothing new


@dataclass(frozen=True, slots=True)
class CodeUses:
    """The first lines where a change is met, `FILE:LINE` (`notes.ipynb[3]:2` in a cell), and how many."""

    first: tuple[str, ...]
    count: int


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
        for identifier, line in _in_file(wanted, text, language):
            fields.setdefault(identifier, []).append(f"{path}:{line}")
    return {name: CodeUses(tuple(places[:most]), len(places)) for name, places in fields.items()}


def _in_file(changes: tuple[ApiChange, ...], text: str, language: CodeLanguage) -> Iterator[tuple[str, int]]:
    """Yield the lines of a file; only a file with a line that seems concerned is taken apart."""
    lower = text.lower()
    here = [change for change in changes if language in change.languages and _may_match(change, lower)]
    here = [change for change in here if _matches(change, text)]
    if here:
        code = without_comments(text, language)
        ends = [at for at, letter in enumerate(code) if letter == "\n"]
        for change in here:
            yield from ((change.id, line) for line in _lines(change, code, ends))


def _may_match(change: ApiChange, lower: str) -> bool:
    return not change.needs or any(all(word in lower for word in way) for way in change.needs)


def _matches(change: ApiChange, text: str) -> bool:
    return change.compiled is not None and change.compiled.search(text) is not None


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
