"""Data that can be posted in a bug report: without passwords, and without the user's name in paths."""

from __future__ import annotations

import re
from typing import Any

from gpuenv.secrets.url_credentials import redact_credentials


def redacted(value: Any, homes: tuple[str, ...], user: str | None) -> Any:
    """Return JSON data in which `~` stands for the home directory and for the user's name in other paths."""
    if isinstance(value, dict):
        return {_text(str(key), homes, user): redacted(item, homes, user) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted(item, homes, user) for item in value]
    return _text(value, homes, user) if isinstance(value, str) else value


def _text(text: str, homes: tuple[str, ...], user: str | None) -> str:
    text = redact_credentials(text)
    for home in sorted((home.rstrip("/\\") for home in homes), key=len, reverse=True):
        if home:
            text = re.sub(rf"{re.escape(home)}(?![^/\\:;,\s'\"])", "~", text)
    if user:
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?![^/\\:;,\s'\"])", "~", text)
    return text
