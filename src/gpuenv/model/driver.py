"""The version of an NVIDIA driver."""

from __future__ import annotations

from packaging.version import Version


class DriverVersion(Version):
    """An NVIDIA driver's version: compared as any version is, written as NVIDIA writes it (`450.80.02`)."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Keep `text` beside what it means; raise InvalidVersion for what is no version."""
        super().__init__(text)
        self._text = text.strip()

    def __str__(self) -> str:
        return self._text
