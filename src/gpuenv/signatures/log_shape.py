"""Where in a log a line stands: in which command's output, which traceback, how deep in its chain of causes.

Python prints the exception that was raised first at the top of such a chain; what a worker raised stands
within the message of what its parent raises. Processes are told apart by what stands before their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.log_pages import TRACEBACK, without_prefix

_BEFORE, _AFTER = 300, 60  # lines around a place that are read to know where it stands
_CAUSE = "The above exception was the direct cause of the following exception"
_CONTEXT = "During handling of the above exception, another exception occurred"
_SPEAKER = LazyRegex(
    r"(?i)\s*(?:\[*(?:rank|default)\d+|\([\w -]{1,40}\bpid=\d+|[\w.-]{1,40} +\||\d{1,4}:|#\d+ )"
)
_PROMPT = LazyRegex(
    r"(?:\([\w./-]{1,40}\) ?)*(?:"
    r"\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#%]{0,80}[$#%] ?\S"  # user@host:~/x$ python train.py
    r"|\$ \S|PS [A-Z]:\\[^>]{0,120}> ?\S|[A-Z]:\\[^>]{0,120}> ?\S|[❯➜] \S|In \[\d+\]: |>>> \S"
    r"|Step \d+/\d+ : |#\d+ \[)"
)
_RANK = LazyRegex(r"(?i)\[*(?:rank|default)\d")
_IPYTHON = LazyRegex(r"(?P<name>[\w.]+)\s{2,}Traceback \(most recent")
_BOX = ("│", "┃", "|", "╰", "└", "╭", "┌")
_NESTED = "Original Traceback"
_RAISED = LazyRegex(r"(?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Failed|Unsatisfiable): \S")


class LinePlace(Struct, frozen=True):
    """Where a line stands.

    `program` is the line at which its command begins, `failure` the one at which the first traceback of its
    chain does; `rank` is what a launcher puts before the lines of one of its processes. In a `branch` of a
    chain each exception caused the next, the least `depth` all of them.
    """

    program: int = 0
    failure: int | None = None
    branch: int = 0
    depth: int = 0
    rank: str = ""


class LogShape:
    """Tells where lines stand; those around the lines of interest are read, once."""

    def __init__(self, lines: Sequence[str], numbers: Iterable[int]) -> None:
        """Read what stands around some lines, which are numbered from 1."""
        self._places: dict[int, LinePlace] = {}
        self._raised: dict[int, LinePlace] = {}
        for first, last in _windows(sorted(numbers), len(lines)):
            places, raised = _read(lines, first, last)
            self._places |= places
            self._raised |= {number: places[number] for number in raised}

    def place(self, number: int) -> LinePlace:
        """Return where a line of interest stands."""
        return self._places.get(number, LinePlace())

    def innermost(self, number: int) -> int | None:
        """Return the line of the exception that caused what a line reports, or None."""
        above = [place for at, place in self._raised.items() if at <= number]
        if not above:
            return None
        last = self.place(number).failure or above[-1].failure
        chain = [
            (place.branch, place.depth, at) for at, place in self._raised.items() if place.failure == last
        ]
        return min(chain)[2] if chain else None


def _windows(numbers: list[int], count: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last numbers of the lines to read, each stretch once."""
    at = 0
    while at < len(numbers):
        first, last = max(numbers[at] - _BEFORE, 1), numbers[at] + _AFTER
        while at < len(numbers) and numbers[at] - _BEFORE <= last:
            last = max(last, numbers[at] + _AFTER)
            at += 1
        yield first, min(last, count)


def _read(lines: Sequence[str], first: int, last: int) -> tuple[dict[int, LinePlace], list[int]]:
    """Return where lines stand, and those that have an exception's name."""
    programs: dict[str, _Program] = {}
    places, raised = {}, []
    for number in range(first, last + 1):
        line = lines[number - 1]
        said = without_prefix(line)
        spoken = _SPEAKER.pattern.match(line) if said is not line else None
        speaker = spoken[0].strip(" [|") if spoken else ""
        program = programs.get(speaker)
        if program is None:
            rank = speaker if _RANK.pattern.match(speaker) else ""
            program = programs[speaker] = _Program(start=number if spoken else 0, rank=rank)
        places[number] = program.read(number, said)
        if program.raised == number:
            raised.append(number)
    return places, raised


class _Program(Struct):
    """What a command or a process has printed so far."""

    start: int
    rank: str
    failure: int | None = None
    branch: int = 0
    depth: int = 0
    indent: int = 0
    named: str = ""  # the exception that IPython puts before its traceback
    boxed: bool = False
    bare: bool = False  # an exception without its traceback
    part: str = ""  # "frames", "message", or "after" a message and an empty line
    link: str = ""
    raised: int = 0

    def read(self, number: int, line: str) -> LinePlace:
        words = line.strip()
        if TRACEBACK in line:
            self._begin(number, line)
        elif self.part == "frames":
            if words and not self._is_frame(line, words):
                self.part, self.raised = "message", number
        elif _PROMPT.pattern.match(words):
            self.start, self.part, self.failure, self.link = number, "", None, ""
        elif _RAISED.pattern.match(words) and (self.part != "message" or self.bare):
            self._raise(number)
        elif self.part:
            self._after_exception(words)
        inside = self.failure if self.part in {"frames", "message"} else None
        return LinePlace(self.start, inside, self.branch, self.depth, self.rank)

    def _begin(self, number: int, line: str) -> None:
        if self.part == "message" and _NESTED in line:
            self.depth -= 1
        elif self.part and self.link == "cause":
            self.depth += 1
        elif self.part and self.link == "context":
            self.branch += 1
        else:
            self.failure, self.branch, self.depth = number, 0, 0
        ipython = _IPYTHON.pattern.search(line)
        self.named = ipython["name"] if ipython else ""
        self.boxed = line.lstrip()[:1] in _BOX
        self.indent = len(line) - len(line.lstrip())
        self.part, self.link, self.bare = "frames", "", False

    def _raise(self, number: int) -> None:
        self.failure, self.branch, self.depth = number, 0, 0
        self.part, self.link, self.bare, self.raised = "message", "", True, number

    def _is_frame(self, line: str, words: str) -> bool:
        if self.boxed:
            return words.startswith(_BOX)
        if self.named:
            return not words.startswith(self.named)
        return len(line) - len(line.lstrip()) > self.indent

    def _after_exception(self, words: str) -> None:
        if words.startswith(_CAUSE):
            self.link = "cause"
        elif words.startswith(_CONTEXT):
            self.link = "context"
        elif not words:
            self.part = "after"
        elif self.part == "after" and words.strip("\"'-="):
            self.link = ""
