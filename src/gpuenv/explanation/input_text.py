"""The text that `gpuenv explain` is given: words, a file, or standard input; of a huge one, its end."""

from __future__ import annotations

import codecs
import os
import stat
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from gpuenv.files.read_limited import read_start
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError

if TYPE_CHECKING:
    from gpuenv.model.plan import PlanWarning

TAIL = 16 << 20  # bytes that are read: the end, where the error is
_BLOCK = 1 << 20
_LOGS = (".log", ".txt", ".out", ".err")
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_FEW = 0.001  # of a text's letters that may be garbled for it to be UTF-8


class InputText(Struct, frozen=True):
    """A text and, where its beginning was left out, a warning that says so."""

    text: str
    warnings: tuple[PlanWarning, ...] = ()


def read_input_text(words: tuple[str, ...], stdin: BinaryIO | None) -> InputText:
    """Return the text: that of a file which is there, of `stdin` for `-` or for no words, or the words.

    Raises UsageError where a file can't be read, or there is no text at all.
    """
    if words in ((), ("-",)):
        return _read_stdin(stdin)
    path = Path(words[0])
    if len(words) == 1 and _exists(path):
        return _read_file(path)
    if len(words) == 1 and path.suffix.lower() in _LOGS and not any(map(str.isspace, words[0])):
        raise _unreadable(words[0], tr("the file does not exist"))
    return InputText(" ".join(words))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # an error message is not a file name: too long, a null in it
        return False


def _read_file(path: Path) -> InputText:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe, say, which has no end to begin at
            content = read_start(path, TAIL, patient=True)
            return _decoded(content, content[:2], skipped=False)
        with path.open("rb") as file:
            return _read_tail(file, size=os.fstat(file.fileno()).st_size)
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), reason_of(error)) from None


def _read_tail(file: BinaryIO, *, size: int) -> InputText:
    start = file.read(2)
    file.seek(max(size - TAIL, 0) // 2 * 2)  # whole letters of UTF-16
    return _decoded(file.read(TAIL + 1), start, skipped=size > TAIL)


def _read_stdin(stdin: BinaryIO | None) -> InputText:
    if stdin is None or stdin.isatty():
        raise UsageError(
            tr("there is no text to explain"),
            code="no-text",
            fixes=(Fix(tr("give an error message or a log"), "gpuenv explain train.log"),),
        )
    blocks: deque[bytes] = deque()
    start, kept, skipped = b"", 0, False
    while block := stdin.read(_BLOCK):
        start = start or block[:2]
        blocks.append(block)
        kept += len(block)
        while kept - len(blocks[0]) >= TAIL:
            kept -= len(blocks.popleft())
            skipped = True
    return _decoded(b"".join(blocks), start, skipped=skipped)


def _decoded(content: bytes, start: bytes, *, skipped: bool) -> InputText:
    encoding = next((name for mark, name in _UTF16 if start == mark), None)
    text = content.decode(encoding, errors="replace") if encoding else _decode(content)
    if not skipped:
        return InputText(text)
    from gpuenv.model.plan import PlanWarning  # noqa: PLC0415 - plans take long to load

    message = tr("only the last {size} MB were read; lines are counted from there", size=len(content) >> 20)
    return InputText(text, (PlanWarning("only-the-end", message),))


def _decode(content: bytes) -> str:
    """Decode UTF-8, or what Chinese Windows writes; what is neither has its garbled letters replaced."""
    text = content.decode("utf-8-sig", errors="replace")
    if text.count("\N{REPLACEMENT CHARACTER}") <= len(text) * _FEW:
        return text
    try:
        return content.decode("gb18030")
    except UnicodeDecodeError:
        return text


def _unreadable(path: str, reason: str) -> UsageError:
    return UsageError(
        tr("`{path}` cannot be read: {reason}", path=path, reason=reason),
        code="text-unreadable",
        fixes=(
            Fix(
                tr("give the message itself, or pipe the log to standard input"),
                "gpuenv explain - < train.log",
            ),
        ),
    )
