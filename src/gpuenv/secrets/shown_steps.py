"""Steps as they are shown: without the passwords that stand in the addresses of indexes."""

from __future__ import annotations

from urllib.parse import urlsplit

from gpuenv.i18n.messages import tr
from gpuenv.model.plan import Step
from gpuenv.secrets.url_credentials import has_userinfo, without_userinfo


def shown_step(step: Step) -> Step:
    """Return a step with plain addresses; its reason says where the password can be put instead."""
    hosts = dict.fromkeys(_host(word) for word in step.argv if has_userinfo(word))
    if not hosts:
        return step
    named = ", ".join(filter(None, hosts))
    why = tr("{why}; {hosts} requires a password: put it into ~/.netrc", why=step.why, hosts=named)
    return Step(tuple(map(without_userinfo, step.argv)), without_userinfo(why))


def _host(word: str) -> str:
    """Return the host of the address in an argument: `https://HOST/simple`, `name @ https://HOST/x.whl`."""
    try:
        return urlsplit("//" + without_userinfo(word).partition("://")[2]).hostname or ""
    except ValueError:
        return ""
