"""What is secret in addresses of indexes: user names, passwords, tokens."""

from __future__ import annotations

import re

_USERINFO = re.compile(r"(?<=://)(?!\*+@)[^/?#\s\"']*@")  # not what is hidden already
# of a conda channel: https://HOST/t/TOKEN/CHANNEL; `/t/` alone stands in base64, too
_TOKEN = re.compile(
    r"((?:://[^\s\"'/]{1,255}|[\w-]{1,63}\.[\w.-]{1,255})(?:/[^\s\"'/]{1,200}){0,6}?/t/)"
    r"[A-Za-z0-9_-]{8,}(?=/)"
)
# `git+ssh://git@HOST/...`: the name is no secret there, and nothing is reached without it
_NOT_SSH = re.compile(r"(?<=://)(?<!ssh://)[^/?#\s\"']*@")
_SSH_PASSWORD = re.compile(r"(?<=ssh://)([^:/?#@\s\"']*):[^/?#\s\"']*@")


def redact(text: str) -> str:
    """Hide user names, passwords and conda's tokens in every address in a text."""
    return _TOKEN.sub(r"\1****", _USERINFO.sub("****@", text))


def redact_bytes(data: bytes) -> bytes:
    """Hide user names, passwords and tokens in what a program printed, whatever its encoding."""
    if b"://" not in data:
        return data
    return redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def without_userinfo(text: str) -> str:
    """Return a text without the user names and passwords in its addresses: they are not for everybody."""
    return _SSH_PASSWORD.sub(r"\1@", _NOT_SSH.sub("", text))


def has_userinfo(text: str) -> bool:
    """Tell whether an address in a text has a user name or a password that is not for everybody."""
    return without_userinfo(text) != text
