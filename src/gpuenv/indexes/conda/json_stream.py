"""Read JSON that is too large for the memory: one member at a time, unwanted ones are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Any

from gpuenv.i18n.messages import tr

_LARGEST = 16 << 20  # characters of one member; the longest of conda-forge's has some thousands
_CUT = len("e+")  # `5.8e+` and then `84`: what a number looks like where a piece ends in it
_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = JSONDecoder()


class JsonStream:
    """A JSON document in pieces of text; after each of its `keys` read `value` or `keys`, or `skip`."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self._at = 0
        self._before = 0  # characters that are no longer held

    @property
    def position(self) -> int:
        """The characters of the document that were read."""
        return self._before + self._at

    def keys(self) -> Iterator[str]:
        """Yield the keys of the object that begins here."""
        self._take("{")
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            if self._peek() != '"':
                raise ValueError(tr("an object has no key"))
            key = self.value()
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def value(self) -> Any:
        """Return the value that begins here, whole."""
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError(tr("it is nested too deeply")) from None
            except JSONDecodeError as error:
                if not self._more():
                    raise ValueError(tr("it is not valid JSON: {error}", error=error.msg)) from None
                continue
            if isinstance(value, int | float) and end + _CUT >= len(self._text) and self._more():
                continue
            self._at = end
            return value

    def skip(self) -> None:
        """Skip the value that begins here; a list or object is not held as a whole."""
        opening = self._peek()
        if opening == "{":
            for _ in self.keys():
                self.value()
            return
        if opening != "[":
            self.value()
            return
        self._take("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            self.value()
            if self._take(",]") == "]":
                return

    def skip_before(self, follows: re.Pattern[str]) -> None:
        """Skip an object, quickly if it is flat and `follows`, which matches in no string, follows."""
        self._peek()
        end = self._text.find("}", self._at)
        if end >= 0 and follows.match(self._text, end):
            self._at = end + 1
        else:
            self.value()

    def finish(self) -> None:
        """Check that the document ends here."""
        if self._peek():
            raise ValueError(tr("it has data after its end"))

    def is_object(self) -> bool:
        """Whether an object begins here."""
        return self._peek() == "{"

    def _take(self, wanted: str) -> str:
        character = self._peek()
        if not character:
            raise ValueError(tr("it is truncated"))
        if character not in wanted:
            raise ValueError(tr("`{found}` instead of `{wanted}`", found=character, wanted=wanted[0]))
        self._at += 1
        return character

    def _peek(self) -> str:
        """Return the next character that is not blank, or nothing at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read more of the document, at least as much as is held, so that a long value is seldom reparsed."""
        held = self._text[self._at :]
        before = self.position
        if len(held) > _LARGEST:
            raise ValueError(tr("one of its members is too long"))
        added: list[str] = []
        size = 0
        while size <= len(held) and (piece := next(self._pieces, None)) is not None:
            added.append(piece)
            size += len(piece)
        if size:
            self._text, self._at, self._before = held + "".join(added), 0, before
        return size > 0
