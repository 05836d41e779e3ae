"""Pieces of text files: their byte order mark and their line ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuenv.i18n.messages import tr

_BOM = "\ufeff"


def without_mark(text: str) -> tuple[str, str]:
    """Split off a byte order mark: the mark or nothing, and the text."""
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def check_only_changed(
    before: Mapping[str, Any], wanted: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Raise ValueError unless `after` has what was before and what is wanted, None for what is removed."""
    changed = {**before, **wanted}
    if after != {key: value for key, value in changed.items() if key not in wanted or value is not None}:
        raise ValueError(tr("the file cannot be changed without changing its other content"))


def line_end(text: str) -> str:
    r"""Return the line end of the first line, `\n` where there is none."""
    first = text.partition("\n")
    return "\r\n" if first[1] and first[0].endswith("\r") else "\n"


def ended(text: str) -> str:
    """Return the text with its last line ended."""
    return text if not text or text.endswith("\n") else text + line_end(text)
