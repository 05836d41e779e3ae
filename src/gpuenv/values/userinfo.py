"""What is secret in addresses of indexes: user names, passwords, tokens."""

from __future__ import annotations

import re

_USERINFO = re.compile(r"(?<=://)[^/?#\s\"']*@")
_TOKEN = re.compile(r"(?<=/t/)[A-Za-z0-9_-]{8,}(?=/)")  # of a conda channel: https://HOST/t/TOKEN/CHANNEL


def redact(text: str) -> str:
    """Hide user names, passwords and conda's tokens in every address in a text."""
    return _TOKEN.sub("****", _USERINFO.sub("****@", text))


def without_userinfo(text: str) -> str:
    """Return a text without the user names and passwords in its addresses: they are not for everybody."""
    return _USERINFO.sub("", text)
