"""Facts that stand in an error's text: what was named, in the words that gpuenv has for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpuenv.model.capability import parse_compute_capability
from gpuenv.signatures.catalogue import compile_regex
from gpuenv.signatures.log_pages import JoinedPage

Facts = tuple[tuple[str, str], ...]  # name and value, each name once

_AROUND = 1500  # letters before and after a match that belong to it
_BUILT = 12000  # letters before a match in which the error of a compiler or a program stands that it tells of
_SAID = "said"  # the group that goes on to the end of its line
_LONGEST = 300  # letters of a value


def read_facts(match: re.Match[str], words: JoinedPage, reads: tuple[str, ...]) -> Facts:
    """Return the named groups of a match, and those that `reads` find nearest around it."""
    facts = _facts_of(match, words)
    end = match.end() + _AROUND
    for regex in reads:
        start = max(match.start() - (_BUILT if f"<{_SAID}>" in regex else _AROUND), 0)
        matched = compile_regex(regex).search(words.text, match.start(), end)
        matched = matched or _last(regex, words.text, start, end)
        if matched:
            facts = {**_facts_of(matched, words), **facts}
    return tuple(facts.items())


def _last(regex: str, text: str, start: int, end: int) -> re.Match[str] | None:
    match = None
    for match in compile_regex(regex).finditer(text, start, end):  # noqa: B007 - the last one counts
        pass
    return match


def _facts_of(match: re.Match[str], words: JoinedPage) -> dict[str, str]:
    facts = match.groupdict()
    if facts.get(_SAID):
        facts[_SAID] = words.text[match.start(_SAID) : words.end_of_line(match.start(_SAID))]
    kept = {name: value.strip() for name, value in facts.items() if value and value.strip()}
    return {name: _tidy(name, value[:_LONGEST]) for name, value in kept.items()}


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
