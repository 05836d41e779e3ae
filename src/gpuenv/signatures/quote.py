"""Lines of a log as the log has them, so that a search for what is shown finds them there."""

from __future__ import annotations

import re

from gpuenv.signatures.findings import Line

_WIDEST = 200  # letters of a line that are shown
_SEEN = 120  # letters of a line that a message may stand behind
_CUT = "…"
_FIRST = 6  # words by which the place of a message in a line is found
_BETWEEN = "[\\s\u2500-\u25ff]+"


def quoted(line: Line, raw: str) -> Line:
    """Return a line with its blanks, prefix and marks, of a redrawn one the state that was read.

    A long one is cut off at its end, and begins where its message does if that would not be seen otherwise;
    a mark stands where something is left out.
    """
    first = re.compile(_BETWEEN.join(map(re.escape, line.text.split()[:_FIRST])))
    states = [(state, first.search(state)) for state in reversed(raw.rstrip("\r").split("\r"))]
    text, found = next((item for item in states if item[1]), states[0])
    if found and len(text) > _WIDEST and found.start() > _SEEN:
        text = _CUT + text[found.start() :]
    return Line(line.number, cut_off(text))


def cut_off(text: str) -> str:
    """Return a line that is quoted without blanks at its end, a long one cut off there with a mark."""
    text = text.rstrip()
    return text if len(text) <= _WIDEST else text[:_WIDEST] + _CUT
