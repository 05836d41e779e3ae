"""What a reader of a left file collects: places in its text, other files it names, what it passed over."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile, Notation
from gpuenv.i18n.messages import N_, tr
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.bounds import check_bounds

_SHOWN = 80  # characters of a line that a warning repeats
_MOST = 20_000  # places: more than any file of a person's has
MoreKind = Literal["requirements", "constraints", "project"]
_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class More(Struct, frozen=True):
    """Another file that a file names, as it is written there; `project`: a folder with its own files."""

    path: str
    kind: MoreKind
    line: int


class ParsedFile(Struct, frozen=True):
    """What one file says, in the order of its text."""

    declared: tuple[DeclaredRequirement, ...] = ()
    more: tuple[More, ...] = ()
    warnings: tuple[str, ...] = ()


class Collector(Struct):
    """Collects a reading of `file`; places are characters of its text."""

    file: DependencyFile
    constraint: bool = False
    hint: bool = False
    declared: list[DeclaredRequirement] = field(default_factory=list)
    more: list[More] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ends = [match.start() for match in re.finditer("\n", self.file.text)]

    def line(self, at: int) -> int:
        """Return the number of the line of a place, from 1."""
        return bisect_right(self._ends, at - 1) + 1

    def take(
        self, project: str, requirement: str | None, start: int, end: int, notation: Notation = "pip"
    ) -> None:
        """Note what stands between two places; raise ValueError where there are too many."""
        if len(self.declared) >= _MOST:
            raise ValueError(tr("it requires more than {most} packages", most=_MOST))
        self.bounded(requirement or "", start)
        self.declared.append(
            DeclaredRequirement(
                project=project,
                requirement=requirement,
                file=self.file.path,
                line=self.line(start),
                start=start,
                end=end,
                text=self.file.text[start:end],
                notation=notation,
                hint=self.hint,
                constraint=self.constraint,
            )
        )

    def bounded(self, text: str, at: int) -> str:
        """Return text that stands at a place and may be parsed; raise ValueError with its line."""
        try:
            return check_bounds(text)
        except ValueError as error:
            raise ValueError(tr("line {number}: {reason}", number=self.line(at), reason=error)) from None

    def is_bounded(self, text: str, at: int) -> bool:
        """Whether text that stands at a place may be parsed; warn of it otherwise."""
        try:
            check_bounds(text)
        except ValueError as error:
            self.tell(at, tr("`{text}` is left unchanged: {reason}", text=shown(text), reason=error))
            return False
        return True

    def quoted(self, value: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the two places if `value` stands between them; warn where it is escaped or parted."""
        if self.file.text[start:end] == value:
            yield start, end
        else:
            template = N_("`{text}` is written in a way that cannot be changed, and is left unchanged")
            self.tell(start, tr(template, text=shown(value)))

    def follow(self, path: str, kind: MoreKind, at: int) -> None:
        """Note another file that the one at hand names."""
        self.more.append(More(path, kind, self.line(at)))

    def tell(self, at: int, text: str) -> None:
        """Warn of what stands at a place."""
        location = f"{shown(self.file.path)}:{self.line(at)}"
        self.warnings.append(tr("{place}: {text}", place=location, text=text))

    def result(self) -> ParsedFile:
        """Return what was collected, in the order of the text."""
        declarations = sorted(self.declared, key=lambda declared: (declared.start, declared.end))
        return ParsedFile(tuple(declarations), tuple(self.more), tuple(dict.fromkeys(self.warnings)))


def not_understood(text: str) -> str:
    """Return the warning about text of a file that is passed over."""
    return tr("`{text}` is not understood and is left unchanged", text=shown(text))


def shown(text: str) -> str:
    """Return text of a file as a message may repeat it: short, printable, without a password."""
    short = redact_credentials(text[: 4 * _SHOWN])
    short = short if len(short) <= _SHOWN else f"{short[:_SHOWN]}…"
    return "".join(item if item.isprintable() else "�" for item in short)


def decode_text(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 as PowerShell's `>` writes it, its mark kept; raise ValueError for no text.

    Bytes that are no UTF-8 (latin-1 in a comment) become surrogates, by which `encode_text` restores them.
    """
    encoding = _encoding(content)
    try:
        text = content.decode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")
    except UnicodeDecodeError:
        raise ValueError(tr("it is not a text file")) from None
    if "\0" in text:
        raise ValueError(tr("it is not a text file"))
    return text


def encode_text(text: str, like: bytes) -> bytes:
    """Encode a text as the bytes it came from were."""
    encoding = _encoding(like)
    return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")


def _encoding(content: bytes) -> str:
    return next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
