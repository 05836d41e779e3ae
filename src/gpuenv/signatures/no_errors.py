"""Lines that tell of no error, whatever words they have: results of tests, harmless notices, parts of builds.

They are left out before a text is searched; the lines that stay keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from gpuenv.i18n.messages import N_
from gpuenv.signatures.findings import Line
from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.log_pages import TRACEBACK
from gpuenv.signatures.quote import cut_off

LeftOut = tuple[int, str]  # a line's number, and why it tells of no error
_Span = tuple[int, int]

_TEST = LazyRegex(
    r"\S+::\S.* (?:PASSED|SKIPPED|XFAIL|XPASS)\b"  # tests/test_a.py::test_b[no kernel image] PASSED [ 12%]
    r"|(?:\[gw\d+\] )?(?:\[ *\d+%\] )?(?:PASSED|SKIPPED|XFAIL|XPASS) .*(?:::|\.py)"
    r"|test\w* \([\w.]+\).* \.\.\. (?:ok|skipped|expected failure)\b"
    r"|\[ +(?:OK|SKIPPED) +\] "
    r"| *\d+/\d+ +Test +#\d+: .* Passed +\d"
)
_NONE_FAILED = LazyRegex(
    r".*\b0 (?:errors?|failed|failures)\b(?!.*\b[1-9]\d* (?:errors?|failed|failures?)\b)"
)
_FAILED_BEFORE = LazyRegex(r".*\b[1-9]\d* (?:errors?|failed|failures?)\b")
_HARMLESS = LazyRegex(
    r".*(?:\bsafely (?:be )?ignored?\b|\bsafe to ignore\b|\bnot a failure\b|\b(?:is|are) not an error\b"
    r"|\bis harmless\b)"
)
_RAISING = LazyRegex(r"[ \t]*(?:\d+ +|[-+|>]+ *(?:\d+ +)?)?raise [\w.]+\(")
_EXCEPTION = LazyRegex(r"(?m)^\S{0,80}(?:Error|Exception|Warning|Exit|Interrupt)\b")
_OVERCOME = (  # what says that a trouble is there, what says that it is over, and what says that it is not
    ("entering retry loop", "Network error resolved", "Network error ("),
    ("WARNING: Retrying (Retry(", "Successfully installed ", "\nERROR: "),
    ("does not match the project environment path", "\nTrue", "Error: "),
    ("does not match the project environment path", "\nInstalled ", "Error"),
    ("Failed to download", "\nInstalled ", "Failed to "),
    ("NCCL INFO ", "Init COMPLETE", "NCCL WARN "),
    ("torch._dynamo hit config.", " loss ", "Error"),
)
_TROUBLE = LazyRegex(
    r"(?i)could not|cannot|unable|fail|error|refused|retry|timed? ?out|missing|does not match|hit config"
)
_STEP = LazyRegex(r"(?m)^(?P<step>[ \t]*\w[\w ().,-]{4,120}): started *$")
_DONE = ": finished with status 'done'"
_GOES_ON = LazyRegex(r"running (?:bdist_wheel|build|build_py|build_ext|install)\b|building '\S+' extension")
_ENDS = ("end of output", "error: ")
_MOST = 200  # tracebacks that are looked at
_OUTPUT = 20_000  # letters behind a traceback in which its program is seen to go on

_NOTICE = LazyRegex(  # what a program says of itself and goes on
    r"\b(?:Future|Deprecation)Warning: |\bretrying \(\d|\bDUE TO PREEMPTION\b"
    r"|\((?:optional|not needed)\b|\bis optional\b|\bnot found, not using\b"
    r"|Torch was not compiled with flash attention"
)
_WELL = LazyRegex(  # how programs say that they have done what they were started for
    r"(?m)\bPrompt executed in \d|^Executing transaction: done|\bApplication startup complete\b"
    r"|\bCOMPLETED +0:0\b|\b(?:exit|exited|finished)(?: with)?(?: exit)? (?:code|status) 0\b"
    r"|\b\d+ passed(?:, \d+ (?:warnings?|skipped))* in \d"
    r"|\b[Tt]raining (?:is )?(?:done|completed?|finished)\b"
)
_FAILS = LazyRegex(rf"(?m){re.escape(TRACEBACK)}|^[\w.]*(?:Error|Exception)\b|^(?:error|ERROR|fatal): ")

TEST = N_("the result of a test that did not fail")
COUNT = N_("a count of no errors")
NOTICE = N_("a notice that says of itself that it is harmless")
BUILT = N_("a part of a build that succeeded")
CODE = N_("a line of the source, which a traceback quotes")
OVERCOME = N_("a trouble that was overcome")
NOTED = N_("a notice of a program that did its work all the same")
CAUGHT = N_("a probe that failed, after which the build went on")


class NoError(Struct, frozen=True):
    """A line that tells of no error, and why, to be translated."""

    line: Line
    reason: str


def harmless_lines(left_out: Iterable[LeftOut], raw: Sequence[str]) -> Iterator[NoError]:
    """Yield lines that were left out, as they stand."""
    for number, reason in left_out:
        yield NoError(Line(number, cut_off(raw[number - 1])), reason)


def without_harmless(text: str) -> tuple[str, tuple[LeftOut, ...]]:
    """Return a text whose harmless lines are empty, and of each stretch of them its first line's number."""
    spans = sorted(
        (
            *_lines(text),
            *((span, BUILT) for span in _built(text)),
            *((span, CAUGHT) for span in _caught(text)),
            *((span, CODE) for span in _raising(text)),
            *((span, OVERCOME) for span in _overcome(text)),
            *((span, NOTED) for span in _noted(text)),
        )
    )
    if not spans:
        return text, ()
    pieces, left_out, done, number = [], [], 0, 1
    for (start, end), reason in spans:
        if end <= done:
            continue
        start = max(start, done)  # noqa: PLW2901 - stretches may overlap
        number += text.count("\n", done, start)
        left_out.append((number, reason))
        pieces.append(text[done:start])
        newlines = text.count("\n", start, end)
        pieces.append("\n" * newlines)
        number, done = number + newlines, end
    return "".join((*pieces, text[done:])), tuple(left_out)


def _lines(text: str) -> Iterator[tuple[_Span, str]]:
    for words, judge, reason in _SAYING:
        for word in words:
            yield from ((span, reason) for span in _lines_with(text, word) if judge(text[slice(*span)]))


def _lines_with(text: str, word: str) -> Iterator[_Span]:
    at = text.find(word)
    while at >= 0:
        span = _line_at(text, at)
        yield span
        at = text.find(word, span[1])


def _line_at(text: str, at: int) -> _Span:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end < 0 else end


def _tests(line: str) -> bool:
    return _TEST.pattern.match(line) is not None


def _counts(line: str) -> bool:
    return _NONE_FAILED.pattern.match(line) is not None and not _FAILED_BEFORE.pattern.match(line)


def _is_harmless(line: str) -> bool:
    return _HARMLESS.pattern.match(line) is not None


_SAYING: tuple[tuple[tuple[str, ...], Callable[[str], bool], str], ...] = (
    ((" PASSED", "PASSED ", "SKIPPED", "XFAIL", "XPASS", "... ok", "... skipped"), _tests, TEST),
    (("... expected failure", "[       OK ]", "[  SKIPPED ]", " Passed "), _tests, TEST),
    ((" 0 error", " 0 fail", "(0 error", "=0 fail"), _counts, COUNT),
    (("safely", "safe to ignore", "not a failure", "not an error", "is harmless"), _is_harmless, NOTICE),
)


def _built(text: str) -> Iterator[_Span]:
    """Yield what stands between the beginning of a step of pip's and the line that says that it is done."""
    if _DONE not in text:
        return
    for match in _STEP.pattern.finditer(text):
        end = text.find(f"\n{match['step']}: finished with status '", match.end())
        if end >= 0 and text.startswith(_DONE, end + 1 + len(match["step"])):
            yield match.end(), end


def _caught(text: str) -> Iterator[_Span]:
    """Yield tracebacks of setup.py after which it went on."""
    at = text.find(TRACEBACK)
    for _ in range(_MOST):
        if at < 0:
            return
        start, end = text.rfind("\n", 0, at) + 1, text.find(TRACEBACK, at + 1)
        after = text[at : min(end if end >= 0 else len(text), at + _OUTPUT)]
        on = _GOES_ON.pattern.search(after)
        if on and not any(mark in after[: on.start()] for mark in _ENDS):
            yield start, at + after.rfind("\n", 0, on.start())
        at = end


def _raising(text: str) -> Iterator[_Span]:
    """Yield lines of code that raise something, but those that a cut-off traceback ends with."""
    spans = [span for span in _lines_with(text, "raise ") if _RAISING.pattern.match(text, *span)]
    if not spans:
        return
    traced = text.find(TRACEBACK)
    last = max((match.start() for match in _EXCEPTION.pattern.finditer(text, spans[0][1])), default=-1)
    yield from (span for span in spans if not 0 <= traced < span[0] or span[0] < last)


def _overcome(text: str) -> Iterator[_Span]:
    """Yield the lines of troubles behind which the text says that they are over."""
    for trouble, over, still in _OVERCOME:
        end = text.rfind(over)
        if end < 0 or text.find(still, end) >= 0:
            continue
        yield from (span for span in _lines_with(text[:end], trouble) if _TROUBLE.pattern.search(text, *span))


def _noted(text: str) -> Iterator[_Span]:
    """Yield the notices of a program that ended well behind them, and failed nowhere."""
    ends = [match.start() for match in _WELL.pattern.finditer(text, max(len(text) - _OUTPUT, 0))]
    if not ends:
        return
    notices = _NOTICE.pattern.finditer(text, max(ends[-1] - _OUTPUT, 0), ends[-1])
    spans = [_line_at(text, notice.start()) for notice in notices]
    if not spans:
        return
    others = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), 0)])]
    if not any(map(_FAILS.pattern.search, others)):
        yield from spans
