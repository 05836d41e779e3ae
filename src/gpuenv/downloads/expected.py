"""What is known of a file before it is read, and what shows that a server sends another."""

from __future__ import annotations

from msgspec import Struct

from gpuenv.http.file_reader import FileAnswer
from gpuenv.http.ranges import BrokenFileError
from gpuenv.i18n.messages import tr

_ZIP = b"PK"


class Expected(Struct, frozen=True):
    """What is known of a file before it is read: None where nobody tells."""

    sha256: str | None = None
    size: int | None = None

    def check_length(self, length: int | None) -> None:
        """Raise BrokenFileError unless a file may be of this length."""
        if self.size is not None and length is not None and length != self.size:
            raise BrokenFileError(
                tr("has {length} bytes, but its index lists {told}", length=length, told=self.size)
            )

    def check_start(self, answer: FileAnswer, chunk: bytes) -> None:
        """Raise BrokenFileError where a page begins instead of a wheel."""
        is_text = answer.is_text or chunk.lstrip()[:1] == b"<"
        if is_text and not chunk.startswith(_ZIP[: len(chunk)]):
            raise BrokenFileError(tr("is a text page, not a wheel"))
        self.check_length(answer.length)

    def check_received(self, count: int, most: int) -> None:
        """Raise BrokenFileError where more came than the file, or any file, can have."""
        if self.size is not None and count > self.size:
            raise BrokenFileError(tr("has more than the {told} bytes that its index says", told=self.size))
        if count > most:
            raise BrokenFileError(tr("is larger than {size} MB", size=most >> 20))

    def check_digest(self, digest: str) -> None:
        """Raise BrokenFileError for another digest."""
        if self.sha256 is not None and digest != self.sha256.lower():
            raise BrokenFileError(
                tr(
                    "differs from the file that was listed: its sha256 is {found}…, expected {told}…",
                    found=digest[:12],
                    told=self.sha256[:12],
                )
            )
