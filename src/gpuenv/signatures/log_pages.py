"""A log in pages, and a page as one line of words: what errors are looked for in.

Programs break one message over several lines (pip, rich, docker), draw boxes around it, put the name of a
process before each line, and write progress over it; the words stay the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from msgspec import Struct

from gpuenv.signatures.lazy_regex import LazyRegex

Word = TypeVar("Word", str, bytes)

TRACEBACK = "Traceback (most recent call last)"
PAGE = 256 << 10  # letters
_REPEATING = 512 << 10  # letters of a text from which on its repeated lines cost time
_KEPT = 16  # of the lines that differ in numbers alone, at the beginning and at the end
_ZEROS = bytes(0x30 if chr(byte) in "0123456789abcdef" else byte for byte in range(0x100))
OVERLAP = 4 << 10  # letters of a page that the next one has too, as a message may lie across
_ESCAPES = LazyRegex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BOX = LazyRegex("[\u2500-\u25ff]+")
_LONGEST = 400  # letters of a word
_LEVEL = "(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_LOGGER = r"(?: ?[-|]? ?[\w.\[\]]{1,40}){0,2}? ?[-|]? ?"
# what one process, service or logger puts before each line
_NAMED = (
    r"\[?\[?rank\d+\]:?",
    r"\([\w -]{1,40}\bpid=\d+[^)\n]{0,60}\)(?: \w+ [\d-]+ [\d:]+ \[\S{1,60}\])?\s",  # (EngineCore_0 pid=12)
    r"\d{4}-\d\d-\d\dT[\d:.]+Z\s",  # 2026-01-02T03:04:05.678Z
    r"#\d+ \d+\.\d+\s",  # #12 34.56
    r"[\w.-]{1,40} +\|\s",  # worker-1  |
    r"\d{1,4}:\s",  # srun --label
    r">\s",
)
_LEVELLED = (
    # 2026-01-02 10:00:00,123 - my.module - ERROR -
    rf"\[?\d{{4}}-\d\d-\d\d[ T][\d:.,]{{8,15}}\]?{_LOGGER}\[?\b{_LEVEL}\]?[ :|-]{{1,3}}",
    rf"{_LEVEL}:(?:root|__main__):",  # ERROR:root:
)
_SYSTEMS = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,60} \S{1,60}:\s"  # Nov 21 10:00:00 host program[12]:
_LEVELS = ("DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "FATAL")


def _prefix(*kinds: str) -> str:
    return rf"\s*(?:{'|'.join(kinds)})"


def _of_lines(prefix: str) -> LazyRegex:
    """Return the expression that finds a prefix of each line of a text: no blank is the end of a line."""
    return LazyRegex("(?m)^" + prefix.replace(r"\s", r"[^\S\n]"))


_PREFIX = LazyRegex(_prefix(*_NAMED, *_LEVELLED, _SYSTEMS))
_PREFIXES = _of_lines(_prefix(*_NAMED, *_LEVELLED, _SYSTEMS))
_PREFIXES_WITHOUT_LEVEL = _of_lines(_prefix(*_NAMED, _SYSTEMS))


def without_repetitions(text: str) -> str:
    """Return a long text in which lines that differ in numbers alone stand first and last, empty between.

    A log of many megabytes is mostly one line per step or per worker; each line keeps its number.
    """
    if len(text) < _REPEATING:
        return text
    lines = text.split("\n")
    kinds = text.encode(errors="replace").translate(_ZEROS).split(b"\n")
    counts = Counter(kinds)
    often = {kind: 0 for kind, count in counts.items() if count > 2 * _KEPT}
    if not often:
        return text
    for at, kind in enumerate(kinds):
        seen = often.get(kind)
        if seen is not None:
            often[kind] = seen + 1
            if _KEPT <= seen < counts[kind] - _KEPT:
                lines[at] = ""
    return "\n".join(lines)


def without_prefix(line: str) -> str:
    """Return a line without what its process, service or logger put before it."""
    prefix = _PREFIX.pattern.match(line)
    return line[prefix.end() :] if prefix else line


def without_colours(text: str) -> str:
    """Return a text without what a terminal does not show: colours, movements of the cursor, titles."""
    return _ESCAPES.pattern.sub("", text)


def readable_lines(text: str) -> list[str]:
    r"""Return what a terminal would show: colours dropped, of a redrawn line the last state.

    `\x1b[2mPreparing...\x1b[0m`, `50%\r100%`
    """
    plain = _ESCAPES.pattern.sub("", text.replace("\r\n", "\n"))
    return [line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n")]


class LogPage(Struct, frozen=True):
    """A part of a log: `line` is the number of its first line, `text` has no escape codes any more."""

    line: int
    text: str


def shortened(word: Word) -> Word:
    """Return the two ends of what is not a word of a message: such as a line of base64."""
    return word if len(word) <= _LONGEST else word[: _LONGEST // 2] + word[-_LONGEST // 2 :]


class JoinedPage:
    """A page as one line; where its lines stand in it is looked up where something was found."""

    def __init__(self, page: LogPage, text: str | None = None) -> None:
        self._page = page
        self.text = " ".join([words for _, words in self._lines]) if text is None else text
        self.lower = _lower(self.text)

    @cached_property
    def _lines(self) -> tuple[tuple[int, str], ...]:
        return tuple(_numbered(self._page))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The places in the text where the page's lines begin."""
        return tuple(accumulate((len(words) + 1 for _, words in self._lines[:-1]), initial=0))

    def lines_of(self, start: int, end: int) -> tuple[tuple[int, str], ...]:
        """Return the lines, with their numbers, that a stretch of the text stands in."""
        starts = self._starts
        return self._lines[bisect_right(starts, start) - 1 : max(bisect_right(starts, end - 1), 1)]

    def start_of_line(self, position: int) -> int:
        """Return where the line begins that a letter stands in."""
        return self._starts[bisect_right(self._starts, position) - 1]

    def end_of_line(self, position: int) -> int:
        """Return where the line ends that a letter stands in."""
        following = bisect_right(self._starts, position)
        return self._starts[following] - 1 if following < len(self._starts) else len(self.text)


def pages(text: str) -> Iterator[LogPage]:
    """Cut a log into pages, between lines where it can be done."""
    start, line = 0, 1
    while start < len(text):
        end = _end_of_line(text, start, start + PAGE)
        part = text[start:end]
        yield LogPage(line, _ESCAPES.pattern.sub("", part) if "\x1b" in part else part)
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


def joined(page: LogPage) -> JoinedPage:
    r"""Return a page as one line: each run of blanks, boxes and line ends is one blank.

    A progress bar (`50%\r100%`) counts as lines of its own.
    """
    return JoinedPage(page, _joined(page.text))


def _joined(text: str) -> str | None:
    """Return the words of a page at once, None where lines are so long that parts of them do not count."""
    text = text.replace("\r", "\n")
    prefixes = _PREFIXES if any(level in text for level in _LEVELS) else _PREFIXES_WITHOUT_LEVEL
    text = prefixes.pattern.sub("", text)
    if not text.isascii():
        text = _BOX.pattern.sub(" ", text)
    if len(max(text.split("\n"), key=len)) > _LONGEST:
        return None
    return " ".join(text.replace('\\"', '"').split())


def _numbered(page: LogPage) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(page.text.split("\n"), page.line):
        for state in line.split("\r"):
            words = _words(state)
            if words:
                yield number, words


def _words(line: str) -> str:
    line = without_prefix(line)
    if not line.isascii():
        line = _BOX.pattern.sub(" ", line)
    words = line.replace('\\"', '"').split()
    return " ".join(words if len(line) <= _LONGEST else [shortened(word) for word in words])


def _lower(text: str) -> str:
    """Return the text in lower case, as long as it was: `İ` would become two letters."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(item if len(item.lower()) > 1 else item.lower() for item in text)
