"""A log in pages, and a page as one line of words: what errors are looked for in.

Programs break one message over several lines (pip, rich, docker), draw boxes around it, put the name of a
process before each line, and write progress over it; the words stay the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeVar

from msgspec import Struct

from gpuenv.signatures.catalogue import Way

Word = TypeVar("Word", str, bytes)

PAGE = 256 << 10  # letters
OVERLAP = 4 << 10  # letters of a page that the next one has too, as a message may lie across
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BOX = re.compile("[\u2500-\u25ff]+")
_LONGEST = 400  # letters of a word
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_") | frozenset(range(0x80, 0x100))
_TO_WORDS = bytes(byte if byte in _KEPT else 0x20 for byte in bytes(range(0x100)).lower())
_LEVEL = "(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_PREFIX = re.compile(  # of one process, service or logger, before each line
    r"\s*(?:"
    r"\[?\[?rank\d+\]:?"
    r"|\([\w -]{1,40}\bpid=\d+[^)\n]{0,60}\)(?: \w+ [\d-]+ [\d:]+ \[\S{1,60}\])?\s"  # (EngineCore_0 pid=12)
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z\s"  # 2026-01-02T03:04:05.678Z
    r"|#\d+ \d+\.\d+\s"  # #12 34.56
    r"|[\w.-]{1,40} +\|\s"  # worker-1  |
    r"|\d{1,4}:\s"  # srun --label
    r"|>\s"
    # 2026-01-02 10:00:00,123 - my.module - ERROR -
    r"|\[?\d{4}-\d\d-\d\d[ T][\d:.,]{8,15}\]?(?: ?[-|]? ?[\w.\[\]]{1,40}){0,2}? ?[-|]? ?"
    rf"\[?\b{_LEVEL}\]?[ :|-]{{1,3}}"
    rf"|{_LEVEL}:(?:root|__main__):"  # ERROR:root:
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,60} \S{1,60}:\s"  # Nov 21 10:00:00 host program[12]:
    r")"
)


def readable_lines(text: str) -> list[str]:
    r"""Return what a terminal would show: colours dropped, of a redrawn line the last state.

    `\x1b[2mPreparing...\x1b[0m`, `50%\r100%`
    """
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return [line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")]


class LogPage(Struct, frozen=True):
    """A part of a log: `line` is the number of its first line, `text` has no escape codes any more."""

    line: int
    text: str


class Vocabulary(Struct, frozen=True):
    """The words of a page, in lower case and UTF-8; `has` tells, once each, whether one has a part."""

    words: frozenset[bytes]
    has: Callable[[bytes], bool]

    def allows(self, way: Way) -> bool:
        """Whether the page has the words of a way to match."""
        return way.whole <= self.words and all(map(self.has, way.parts))


def vocabulary_of(page: LogPage) -> Vocabulary:
    """Return each word of a page once."""
    plain = page.text if page.text.isascii() else page.text.lower()
    words = frozenset(plain.encode(errors="replace").translate(_TO_WORDS).split())
    if len(max(words, key=len, default=b"")) > _LONGEST:
        words = frozenset(_shortened(word) for word in words)
    all_words, telling = b" ".join(words), b" ".join([word for word in words if not word.isdigit()])
    # most of a training log's words are numbers, and few parts are
    return Vocabulary(words, cache(lambda part: part in (all_words if part.isdigit() else telling)))


def _shortened(word: Word) -> Word:
    """Return the two ends of what is not a word of a message: such as a line of base64."""
    return word if len(word) <= _LONGEST else word[: _LONGEST // 2] + word[-_LONGEST // 2 :]


class JoinedPage(Struct, frozen=True):
    """A page as one line; `starts` are the places in it where the page's lines begin."""

    text: str
    lower: str
    starts: tuple[int, ...]
    lines: tuple[tuple[int, str], ...]

    def lines_of(self, start: int, end: int) -> tuple[tuple[int, str], ...]:
        """Return the lines, with their numbers, that a stretch of the text stands in."""
        return self.lines[bisect_right(self.starts, start) - 1 : max(bisect_right(self.starts, end - 1), 1)]

    def end_of_line(self, position: int) -> int:
        """Return where the line ends that a letter stands in."""
        following = bisect_right(self.starts, position)
        return self.starts[following] - 1 if following < len(self.starts) else len(self.text)


def pages(text: str) -> Iterator[LogPage]:
    """Cut a log into pages, between lines where it can be done."""
    start, line = 0, 1
    while start < len(text):
        end = _end_of_line(text, start, start + PAGE)
        part = text[start:end]
        yield LogPage(line, _ESCAPES.sub("", part) if "\x1b" in part else part)
        if end == len(text):
            return
        again = _end_of_line(text, start + 1, end - OVERLAP)
        line += text.count("\n", start, again)
        start = again


def _end_of_line(text: str, least: int, most: int) -> int:
    """Return where the last line ends that lies between the two, `most` where none does."""
    if most >= len(text):
        return len(text)
    value = text.rfind("\n", max(least, most - OVERLAP), most)
    return most if value < 0 else value + 1


def words_of(page: LogPage) -> JoinedPage:
    r"""Return a page as one line: each run of blanks, boxes and line ends is one blank.

    A progress bar (`50%\r100%`) counts as lines of its own.
    """
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(page.text.split("\n"), page.line):
        for state in line.split("\r"):
            words = _words(state)
            if words:
                lines.append((number, words))
    starts, length = [], 0
    for _, words in lines:
        starts.append(length)
        length += len(words) + 1
    text = " ".join([words for _, words in lines])
    return JoinedPage(text, _lower(text), tuple(starts), tuple(lines))


def _words(line: str) -> str:
    prefix = _PREFIX.match(line)
    if prefix:
        line = line[prefix.end() :]
    if not line.isascii():
        line = _BOX.sub(" ", line)
    words = line.replace('\\"', '"').split()
    return " ".join(words if len(line) <= _LONGEST else [_shortened(word) for word in words])


def _lower(text: str) -> str:
    """Return the text in lower case, as long as it was: `İ` would become two letters."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(item if len(item.lower()) > 1 else item.lower() for item in text)
