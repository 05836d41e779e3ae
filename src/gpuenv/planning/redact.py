"""Plans and scripts without the passwords in URLs of indexes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.model.plan import Plan
from gpuenv.secrets.url_credentials import has_userinfo, redact_credentials, without_userinfo

T = TypeVar("T")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")


def without_passwords(plan: Plan) -> Plan:
    """Hide passwords in all that is printed of a plan; its steps and sources, which are run, keep them."""
    return replace(
        plan,
        packages=_changed(plan.packages, redact_credentials),
        why=_changed(plan.why, redact_credentials),
        rejected=_changed(plan.rejected, redact_credentials),
        advice=_changed(plan.advice, redact_credentials),
        warnings=_changed(plan.warnings, redact_credentials),
    )


def without_secrets(value: T) -> T:
    """Leave what is secret out of every address in a value: it is written for others."""
    return _changed(value, without_userinfo)


def secret_addresses(value: Any) -> Iterator[str]:
    """Yield the URLs in a value that are secret."""
    if isinstance(value, str):
        yield from (match[0] for match in _ADDRESS.finditer(value) if has_userinfo(match[0]))
    elif isinstance(value, tuple):
        for item in value:
            yield from secret_addresses(item)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from secret_addresses(getattr(value, name))


def _changed(value: T, change: Callable[[str], str]) -> T:
    if isinstance(value, str):
        return cast("T", change(value))
    if isinstance(value, tuple):
        return cast("T", tuple(_changed(item, change) for item in value))
    if isinstance(value, Struct):
        texts = {name: getattr(value, name) for name in value.__struct_fields__}
        return cast("T", replace(value, **{name: _changed(text, change) for name, text in texts.items()}))
    return value
