"""The words of a text, by which most expressions are left out that could not match it.

Lines of a log differ in their numbers, mostly: each is looked at once, with a zero for every digit. So these
words tell what cannot be in a text; what has digits of its own is looked for in the text itself as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from gpuenv.signatures.log_pages import LogPage, shortened

_ENCODED, _END = 200, 16  # letters of base64 from which on only so many at its ends count
_CODE = re.compile(rb"[A-Za-z0-9+/]{%d,}" % _ENCODED)
_HASH = 32  # letters from which on a word of hexadecimal digits is one
_HEX = b"0abcdef"
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_") | frozenset(range(0x80, 0x100))
_TO_WORDS = bytes(byte if byte in _KEPT else 0x20 for byte in bytes(range(0x100)).lower())
_TO_ZEROS = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(0x100))  # noqa: PLR2004 - 0 to 9

_SHORT, _GRAM = 4000, 4  # letters
OR = "|"  # between words of which a text needs one

Lines = frozenset[bytes]


def lines_of(page: LogPage) -> Lines:
    """Return the lines of a page, each once, with a zero for every digit."""
    lines = frozenset(page.text.encode(errors="replace").translate(_TO_ZEROS).split(b"\n"))
    if len(max(lines, key=len)) < _ENCODED:
        return lines
    return frozenset(_CODE.sub(_ends, line) if len(line) >= _ENCODED else line for line in lines)


def _ends(code: re.Match[bytes]) -> bytes:
    """Return the ends of what is no message: an image in base64, say."""
    return code[0][:_END] + b" " + code[0][-_END:]


def words_of(lines: Lines) -> frozenset[bytes]:
    """Return the words of lines, each once, in lower case."""
    joined = b"\n".join(lines)
    if not joined.isascii():
        joined = joined.decode().lower().encode()
    words = frozenset(joined.translate(_TO_WORDS).split())
    if len(max(words, key=len, default=b"")) < _HASH:
        return words
    return frozenset(shortened(word) for word in words if not _is_hash(word))


class Vocabulary:
    """Tells which words there are, and remembers it; where a text is given, digits must stand in that too."""

    def __init__(self, words: AbstractSet[bytes], text: str | None = None) -> None:
        self._words, self._lower = words, None if text is None else text.lower()
        self._all = b" ".join(words)
        # most of a training log's words are numbers, and few parts are
        self._telling = b" ".join([word for word in words if word.strip(b"0")])
        self._known: dict[str, bool] = {}

    def has_all(self, needs: Iterable[str]) -> bool:
        """Whether there are such words: whole ones between blanks, parts of words, one of several."""
        known = self._known
        for need in needs:
            has = known.get(need)
            if has is None:
                has = known[need] = any(map(self._has, need.split(OR)))
            if not has:
                return False
        return True

    def parts_among(self, parts: Iterable[str]) -> list[str]:
        """Return those of some parts of words that there are, as far as a zero for every digit tells."""
        text = self._telling.decode(errors="replace")
        if len(text) <= _SHORT:
            return [part for part in parts if part in text]
        # most are missing, which is seen sooner of their first letters
        grams = {text[at : at + _GRAM] for at in range(len(text))}
        return [part for part in parts if (part[:_GRAM] in grams or len(part) < _GRAM) and part in text]

    def whole_among(self, whole: Iterable[str]) -> list[str]:
        """Return those of some whole words that there are, as far as a zero for every digit tells."""
        return [word for word in whole if word.encode() in self._words]

    def _has(self, need: str) -> bool:
        word = need.strip()
        zeros = word.encode().translate(_TO_ZEROS)
        if need[:1] == " ":
            has = zeros in self._words
        else:
            has = zeros in (self._telling if zeros.strip(b"0") else self._all)
        return has and (self._lower is None or b"0" not in zeros or word in self._lower)


def _is_hash(word: bytes) -> bool:
    return len(word) >= _HASH and not word.translate(None, _HEX)
