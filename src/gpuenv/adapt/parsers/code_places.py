"""Where a document has commands: in fenced code, after a prompt, in backticks, alone in a line."""

from __future__ import annotations

import re
from bisect import bisect_left

from gpuenv.adapt.model import DependencyFile

_DOCUMENT = re.compile(r"(?:.*/)?(?:readme|install)[^/.]*|.*\.(?:md|rst|txt)", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
# what may stand before a command on its line: `$ sudo python -m pip`, `RUN a && pip`, `2. pip`
_BEFORE = re.compile(
    r"[ \t>]*(?:(?:[-*]|\d{1,3}[.)])\s+)?(?P<prompt>(?:\([\w.-]+\) ?)?[$%!] ?)?(?:.*(?:&&|;)\s*)?"
    r"(?:(?:sudo|RUN|python[\d.]*|-\S+)\s+){0,6}"
)
_COMMENT = re.compile(r"\s*(?:#|//|(?:@?echo|REM)\s)")
_CHANGE_OF_FOLDER = re.compile(r"(?:^|[\s`;&$])cd\s+(?P<folder>[^\s`;&]+)")
_OF_SENTENCES = frozenset(
    {
        "a", "and", "are", "as", "by", "can", "first", "for", "from", "if", "in", "into", "is", "it", "of",
        "or", "that", "the", "then", "this", "to", "via", "with", "you", "your",
    }
)  # fmt: skip


class CodePlaces:
    """The places of a file's text that are commands; a script's all are, but for its comments."""

    def __init__(self, file: DependencyFile) -> None:
        self._text = file.text
        self._is_document = _DOCUMENT.fullmatch(file.path) is not None
        self._fences = [match.start() for match in _FENCE.finditer(file.text)] if self._is_document else []
        self._folders = [(match.start(), match["folder"]) for match in _CHANGE_OF_FOLDER.finditer(file.text)]

    def is_code(self, at: int, words: str) -> bool:
        """Whether what stands at a place is a command with such words, no part of a sentence or a comment."""
        before = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        if not self._is_document:
            return _COMMENT.match(before) is None
        match = _BEFORE.fullmatch(before)
        if bisect_left(self._fences, at) % 2:
            return match is not None and _COMMENT.match(before) is None
        if before.count("`") % 2:
            return True
        return match is not None and bool(match["prompt"] or not _is_sentence(words))

    def folder(self, at: int) -> str | None:
        """Return the folder that the commands above a place went to last; None for the project's own."""
        above = bisect_left(self._folders, (at, ""))
        return self._folders[above - 1][1] if above else None


def _is_sentence(words: str) -> bool:
    listed = words.lower().split()
    ends = (word.endswith((".", ",", ":")) and word[:1].isalpha() for word in listed)
    return not _OF_SENTENCES.isdisjoint(listed) or any(ends)
