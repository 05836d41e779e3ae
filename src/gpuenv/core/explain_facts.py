"""Facts that stand in an error's text: what was named, in the words that gpuenv has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpuenv.core.signatures import compile_regex
from gpuenv.values.capability import parse_compute_capability

Facts = tuple[tuple[str, str], ...]  # name and value, each name once

_AROUND = 1500  # letters before and after a match that belong to it
_LONGEST = 300  # letters of a value


def read_facts(match: re.Match[str], text: str, reads: tuple[str, ...]) -> Facts:
    """Return the named groups of a match, and those that `reads` find nearest around it."""
    facts = _named(match)
    start, end = max(match.start() - _AROUND, 0), match.end() + _AROUND
    for regex in reads:
        found = compile_regex(regex).search(text, match.start(), end) or _last(regex, text, start, end)
        if found:
            facts = {**_named(found), **facts}
    return tuple(facts.items())


def _last(regex: str, text: str, start: int, end: int) -> re.Match[str] | None:
    found = None
    for found in compile_regex(regex).finditer(text, start, end):  # noqa: B007 - the last one counts
        pass
    return found


def _named(match: re.Match[str]) -> dict[str, str]:
    told = {name: value.strip() for name, value in match.groupdict().items() if value and value.strip()}
    return {name: _tidy(name, value[:_LONGEST]) for name, value in told.items()}


def _tidy(name: str, value: str) -> str:
    try:
        return _TIDY.get(name, _without_end)(value)
    except ValueError:
        return value


def _without_end(value: str) -> str:
    return value.rstrip(".,;:")


def _capability(value: str) -> str:
    """Return 8.6 for `sm_86`, `86` and `8.6`; 9.0 for `sm_90a`."""
    digits = re.sub(r"^(?:sm|compute)_|[af]$", "", value.rstrip("."))
    if digits.isdigit() and len(digits) > 1:
        digits = f"{digits[:-1]}.{digits[-1]}"
    return str(parse_compute_capability(digits))


def _architectures(value: str) -> str:
    """Return `sm_75 sm_80 compute_90` as it is, and capabilities as they are: without commas."""
    return " ".join(re.findall(r"(?:sm|compute)_\d+[af]?|\d+\.\d+", value)) or value


def _driver_cuda(value: str) -> str:
    """Return 12.4 for `12040`, as cudaDriverGetVersion counts."""
    number = int(value)
    return f"{number // 1000}.{number % 1000 // 10}"


_TIDY: Mapping[str, Callable[[str], str]] = {
    "capability": _capability,
    "least_capability": _capability,
    "architectures": _architectures,
    "driver_cuda": _driver_cuda,
}
