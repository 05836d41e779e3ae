"""Secrets in URLs of indexes and around them: user names, passwords, tokens, signatures."""

from __future__ import annotations

import re

# `://ada:hunter2@`, `://token@`, and passwords that nobody has encoded: `://ada:hun/ter2@`
_LOGIN = r"(?:[^/?#\s\"']*@|[^/?#\s\"':@\[]+:(?!\d{1,5}(?:[/?#]|$))[^\s\"'@]{1,256}@)"
# not what is hidden already; a path that was made of an address has one slash
_USERINFO = re.compile(rf"(?:(?<=://)|(?<=[A-Za-z][A-Za-z]:/)(?!/))(?!\*+@){_LOGIN}")
# of a conda channel: https://HOST/t/TOKEN/CHANNEL; `/t/` alone stands in base64, and before numbers in forums
_TOKEN = re.compile(
    r"((?:://[^\s\"'/]{1,255}|[\w-]{1,63}\.[\w.-]{1,255})(?:/[^\s\"'/]{1,200}){0,6}?)/t/"
    r"(?!\*+/|[\w-]+/\d+(?:[/?#\s\"']|$))(?:[\w-]{8,}(?=/|$|[\s\"'?#])|[\w.~%+=-]+(?=/[\w.-]))"
)
# `?token=...`, `&X-Amz-Signature=...`, `?sig=...` (Azure): what opens a door to who has the address
_PARAMETER = (
    r"(?:[\w.-]{0,40}(?:token|signature|secret|passw(?:or)?d|credential|api[_-]?key|access[_-]?key)[\w.-]{0,20}"
    r"|sig|key|pwd|auth|authorization|jwt)=(?!\*+(?:[&;#\s\"'<>]|$))[^&;#\s\"'<>]+"
)
_SHOWN_PARAMETER = re.compile(rf"(?i)(?<=[?&;#])({_PARAMETER})")
_PARAMETERS = re.compile(rf"(?i)([?&;#])(?:{_PARAMETER}[&;])*{_PARAMETER}([&;]?)")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:private|job|deploy|x-auth|x-access|x-amz-security)-token|x-api-key"
    r"|x-jfrog-art-api)([\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?!\*+)(?:(?:basic|bearer|token)\s{1,4})?[^\s\"',;]+"
)
_VARIABLE = re.compile(
    r"\b([A-Z][A-Z0-9_]{0,80}?_(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY))([\"']?[=:]\s{0,2}[\"']?)(?!\*+)[^\s\"',;}]+"
)
# `git+ssh://git@HOST/...`: the name is no secret there, and nothing is reached without it
_NOT_SSH = re.compile(rf"(?<=://)(?<!ssh://){_LOGIN}")
_SSH_PASSWORD = re.compile(r"(?<=ssh://)([^:/?#@\s\"']*):[^/?#\s\"']*@")
_HIDDEN = "****"


def redact_credentials(text: str) -> str:
    """Hide names, passwords, tokens and signatures in each URL, header and variable of a text."""
    if "/" in text:
        text = _TOKEN.sub(rf"\1/t/{_HIDDEN}", _USERINFO.sub(f"{_HIDDEN}@", text))
    if "=" in text or ":" in text:
        text = _SHOWN_PARAMETER.sub(lambda match: f"{match[1].partition('=')[0]}={_HIDDEN}", text)
        text = _VARIABLE.sub(rf"\1\2{_HIDDEN}", _HEADER.sub(rf"\1\2{_HIDDEN}", text))
    return text


def redact_bytes(data: bytes) -> bytes:
    """Hide the secrets in a program's output, whatever its encoding."""
    return redact_credentials(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def without_userinfo(text: str) -> str:
    """Return a text without the secrets in its URLs."""
    if "://" not in text:
        return text
    text = _TOKEN.sub(r"\1", _SSH_PASSWORD.sub(r"\1@", _NOT_SSH.sub("", text)))
    return _PARAMETERS.sub(lambda match: match[1] if match[2] else "", text)


def has_userinfo(text: str) -> bool:
    """Tell whether a URL in a text holds a secret."""
    return without_userinfo(text) != text


def has_hidden_path(text: str) -> bool:
    """Tell whether a URL has a secret in its path or its query, beside name and password."""
    return has_userinfo(_NOT_SSH.sub("", text))
