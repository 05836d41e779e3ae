"""The pages of docs/ as a reader meets them: sections by anchor, and what is shown to be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LANGUAGES = ("en", "zh")
SCENES = "demo.md"  # what the program plays, made by a tool: no question
NAMES = sorted(path.name for path in (DOCS / "en").glob("*.md") if path.name != SCENES)
_HEADING = re.compile(r"(#{1,6}) (.+)")
_ASSIGNMENT = re.compile(r"\w+=.*")


@dataclass(frozen=True)
class Section:
    """A heading, how deep it is, and the lines below it up to the next one; `anchor` as GitHub makes it."""

    level: int
    heading: str
    text: str

    @property
    def anchor(self) -> str:
        words = re.sub(r"[^\w\- ]", "", self.heading.lower())
        return words.replace(" ", "-")


@cache
def page(language: str, name: str) -> tuple[Section, ...]:
    """Return the sections of a page, its title first."""
    return tuple(_sections((DOCS / language / name).read_text(encoding="utf-8")))


def section(language: str, address: str) -> Section:
    """Return what `page.md#anchor` leads to; the anchor is the English page's in either language."""
    name, _, anchor = address.partition("#")
    places = [position for position, item in enumerate(page("en", name)) if item.anchor == anchor]
    if len(places) != 1:
        raise ValueError(f"{address} leads to {len(places)} places")
    return page(language, name)[places[0]]


def _sections(text: str) -> Iterator[Section]:
    level, heading, lines = 0, "", list[str]()
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        match = None if fenced else _HEADING.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        if level:
            yield Section(level, heading, "\n".join(lines))
        level, heading, lines = len(match[1]), match[2], []
    yield Section(level, heading, "\n".join(lines))


def fenced(text: str, language: str = "console") -> list[str]:
    """Return the lines of the fenced blocks of a language."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def indented(text: str) -> list[str]:
    """Return the indented lines, without the prompt."""
    return [line[4:].removeprefix("$ ") for line in text.splitlines() if line.startswith("    ")]


def inline(text: str) -> list[str]:
    """Return what stands between backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def own_commands(lines: list[str]) -> Iterator[list[str]]:
    """Yield the words after `gpuenv` wherever a line of a shell calls it."""
    for line in lines:
        if "gpuenv" not in line:
            continue
        shell = shlex.shlex(line, posix=True, punctuation_chars="|&;")
        shell.whitespace_split = True
        for words in _calls(list(shell)):
            if words[0] == "gpuenv":
                yield words[1:]


def _calls(words: list[str]) -> Iterator[list[str]]:
    call: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= set("|&;"):
            if call:
                yield call
            call = []
        elif call or not _ASSIGNMENT.fullmatch(word):
            call.append(word)
