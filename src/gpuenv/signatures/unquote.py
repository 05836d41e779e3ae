"""A log as the program wrote it, whatever it was copied through: web pages, chats, terminals.

Where such places changed letters, the messages in it would not be known again. Each line keeps its number.
"""

from __future__ import annotations

from itertools import pairwise

from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.log_pages import TRACEBACK

PLAIN_QUOTES = str.maketrans(dict.fromkeys("‘’‚′", "'") | dict.fromkeys("“”„″", '"'))
WIDE_MARKS = dict(zip("：，；（）！？", ":,;()!?", strict=True))
_CHANGED = {
    **{chr(letter): mark for letter, mark in PLAIN_QUOTES.items()},
    **{wide: f"{mark} " if mark in ":,;" else mark for wide, mark in WIDE_MARKS.items()},
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
}
_CHANGED_LETTERS = LazyRegex(f"[{''.join(_CHANGED)}]")
_ENTITIES = {
    "&#39;": "'",
    "&#x27;": "'",
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&nbsp;": " ",
    "&amp;": "&",
}
# Colours whose escape character was lost or spelt out on the way: `[31mRuntimeError[0m`
_COLOUR = r"(?:(?:0|1|2|3|4|7|22|39|49|[349][0-7]|38;5;\d{1,3});?){0,4}m"
_COLOURS = LazyRegex(r"\[(?<!\x1b\[)" + _COLOUR)  # the bracket first, which is found quickly
_SPELT_COLOURS = LazyRegex(r"(?:\\u001b|\\x1b|\\033|\^\[)\[" + _COLOUR)
_SPELT = ("\\u001b[", "\\x1b[", "\\033[", "^[[")
_END_OF_COLOUR = ("[0m", "[39m", "[m")
_NARROWEST, _WIDEST = 60, 250  # letters of a terminal's line
_USUAL_WIDTHS = (80, 100, 120, 132)
_ALIKE = 24  # letters by which a line begins as the one before it
_WHOLE = 2000  # letters of a line that was cut: more belong to no message
_LARGEST = 256 << 10  # letters that are copied from a terminal


def as_written(text: str) -> str:
    """Return a text with plain marks and blanks, without lost colours, its cut lines also as wholes."""
    if not text.isascii():
        text = _CHANGED_LETTERS.pattern.sub(lambda letter: _CHANGED[letter[0]], text)
    if "&" in text:
        for entity, plain in _ENTITIES.items():
            text = text.replace(entity, plain)
    if any(code in text for code in _END_OF_COLOUR):
        if any(code in text for code in _SPELT):
            text = _SPELT_COLOURS.pattern.sub("", text)
        text = _COLOURS.pattern.sub("", text)
    return _joined(text) if len(text) <= _LARGEST else text


def _joined(text: str) -> str:
    """Put what follows a line that a terminal's width cut off behind it; it also stays where it was."""
    lines = text.split("\n")
    width = max(map(len, lines))
    if not _NARROWEST <= width <= _WIDEST or not _is_a_width(width, [len(line) for line in lines]):
        return text
    whole = lines.copy()
    for at in reversed([at for at, pair in enumerate(pairwise(lines)) if _goes_on(*pair, width)]):
        whole[at] += whole[at + 1][:_WHOLE]
    return "\n".join(whole)


def _goes_on(line: str, after: str, width: int) -> bool:
    """Whether a line was cut off, and is none of several alike: assertions of a kernel's threads, say."""
    return len(line) == width and bool(after) and not after.startswith((line[:_ALIKE], TRACEBACK))


def _is_a_width(width: int, lengths: list[int]) -> bool:
    return width in _USUAL_WIDTHS or lengths.count(width) > 1
