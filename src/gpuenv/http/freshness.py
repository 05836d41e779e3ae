"""For how long a page may be used without asking its server again: RFC 9111, for a private cache.

https://www.rfc-editor.org/rfc/rfc9111
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from gpuenv.http.errors import MISSING

KEPT_HEADERS = ("cache-control", "expires", "date", "age", "etag", "last-modified", "vary")
_OF_ONE_ANSWER = ("date", "age")  # what a later 304 without them does not inherit
_DIRECTIVE = re.compile(r"([\w-]+)(?:\s*=\s*(\"[^\"]*\"|[^\s,]+))?")
_LONGEST_S = 1 << 31  # RFC 9111, 1.2.2
_KEEP_UNDATED_S = 600
_KEEP_MISSING_S = 120


class Validators(Struct, frozen=True):
    """What tells one state of a file from another (RFC 9110, 8.8)."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a conditional request."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def validators_of(headers: Mapping[str, str]) -> Validators:
    """Return the validators among headers whose names are in lower case."""
    return Validators(headers.get("etag"), headers.get("last-modified"))


def kept_headers(headers: Mapping[str, str], older: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers that tell how long a page is fresh; a 304's over the `older` (section 4.3.4)."""
    old = {name: value for name, value in (older or {}).items() if name not in _OF_ONE_ANSWER}
    new = {name.lower(): value for name, value in headers.items()}
    return {**old, **{name: new[name] for name in KEPT_HEADERS if name in new}}


def fresh_for(headers: Mapping[str, str], status: int, *, now: float, public: bool) -> float | None:
    """Return for how many seconds after its request a page is fresh; None if it must not be kept at all.

    `headers` are those of `kept_headers`. A `public` page that asks not to be stored is kept for
    revalidation where it has a validator. The clock of a server counts against itself only.
    """
    control = _directives(headers.get("cache-control", ""))
    has_validator = bool(validators_of(headers).headers)
    if "*" in headers.get("vary", ""):
        return None
    if "no-store" in control:
        return 0.0 if public and has_validator else None
    if "no-cache" in control:
        return 0.0
    lifetime = _lifetime(control, headers, status, now)
    return max(0.0, lifetime - _age(headers.get("age", "")))


def max_age(cache_control: str) -> int:
    """Return for how many seconds a response is fresh by its Cache-Control alone; 0 where that is unknown."""
    control = _directives(cache_control)
    return 0 if {"no-store", "no-cache"} & control.keys() else _seconds(control.get("max-age", []))


def _directives(text: str) -> dict[str, list[str]]:
    """Read `max-age=600, private="x-a, x-b"`; names in lower case, each with all its values."""
    control: dict[str, list[str]] = {}
    for name, value in _DIRECTIVE.findall(text):
        control.setdefault(name.lower(), []).append(value.strip('"'))
    return control


def _lifetime(control: Mapping[str, list[str]], headers: Mapping[str, str], status: int, now: float) -> float:
    if "max-age" in control:
        return _seconds(control["max-age"])
    if "expires" in headers:
        expires = _instant(headers["expires"])
        return 0.0 if expires is None else expires - (_instant(headers.get("date", "")) or now)
    if control or validators_of(headers).headers:
        return 0.0
    return _KEEP_MISSING_S if status in MISSING else _KEEP_UNDATED_S


def _seconds(values: list[str]) -> int:
    """Return a delta-seconds; 0 for a garbled one, and for several that differ (section 4.2.1)."""
    value = values[0] if len(set(values)) == 1 else ""
    return min(int(value[:12]), _LONGEST_S) if value.isascii() and value.isdecimal() else 0


def _age(text: str) -> int:
    """Return how many seconds the answer lay in other caches; of a list the first counts (section 5.1)."""
    return _seconds([text.partition(",")[0].strip()])


def _instant(text: str) -> float | None:
    """Read an HTTP date as seconds since the epoch; None for what is none."""
    from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415 - needed only where the network is asked

    parts = parsedate_tz(text)
    try:
        return float(mktime_tz(parts)) if parts else None
    except (ValueError, OverflowError):
        return None
