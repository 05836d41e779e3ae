"""Data and commands to show others: without passwords, and without the user's name in paths."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Step
from gpuenv.secrets.url_credentials import has_userinfo, redact_credentials, without_userinfo


def redact_step(step: Step) -> Step:
    """Return a step without passwords in its URLs; its reason says where to put them instead."""
    hosts = dict.fromkeys(_host(word) for word in step.argv if has_userinfo(word))
    if not hosts:
        return step
    named = ", ".join(filter(None, hosts))
    why = tr("{why}; {hosts} requires a password: put it into ~/.netrc", why=step.why, hosts=named)
    return Step(tuple(map(without_userinfo, step.argv)), without_userinfo(why))


def _host(word: str) -> str:
    """Return the host of the URL in an argument: `https://HOST/simple`, `name @ https://HOST/x.whl`."""
    try:
        return urlsplit("//" + without_userinfo(word).partition("://")[2]).hostname or ""
    except ValueError:
        return ""


def redact_data(value: Any, homes: tuple[str, ...], user: str | None) -> Any:
    """Return JSON data in which `~` stands for the home directory and for the user's name in other paths."""
    if isinstance(value, dict):
        return {_text(str(key), homes, user): redact_data(item, homes, user) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_data(item, homes, user) for item in value]
    return _text(value, homes, user) if isinstance(value, str) else value


def _text(text: str, homes: tuple[str, ...], user: str | None) -> str:
    text = redact_credentials(text)
    for home in sorted((home.rstrip("/\\") for home in homes), key=len, reverse=True):
        if home:
            text = re.sub(rf"{re.escape(home)}(?![^/\\:;,\s'\"])", "~", text)
    if user:
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?![^/\\:;,\s'\"])", "~", text)
    return text
