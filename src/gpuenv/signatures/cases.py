"""What a cause comes down to where the text tells more of it: cases of a signature, by facts of the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_THERE, _MISSING = "*", "-"
_COMPARES = re.compile(r"[<>=!~]=?")


class SignatureCase(Struct, frozen=True):
    """What is said in place of a signature's own texts, where each condition holds.

    A condition is a fact's name and `*` (it is reported), `-` (it is not), a PEP 440 specifier, in which
    `{other}` stands for another fact, or a regular expression that its value has. `cause` is None where the
    signature's own stands. `replans` is false where no other environment is needed.
    """

    when: tuple[tuple[str, str], ...]
    cause: str | None
    fix: str
    replans: bool = True


def first_case(cases: tuple[SignatureCase, ...], facts: Mapping[str, str]) -> SignatureCase | None:
    """Return the first case that holds, its texts filled with the facts."""
    for case in cases:
        if all(holds(name, wanted, facts) for name, wanted in case.when) and _has_facts(case, facts):
            cause = case.cause.format_map(facts) if case.cause else None
            return SignatureCase(case.when, cause, case.fix.format_map(facts), case.replans)
    return None


def holds(name: str, wanted: str, facts: Mapping[str, str]) -> bool:
    """Whether a condition holds; what compares something that is not reported, or is no version, does not."""
    value = facts.get(name)
    if wanted in (_THERE, _MISSING):
        return (value is not None) == (wanted == _THERE)
    if value is None:
        return False
    if not _COMPARES.match(wanted):
        return re.search(wanted, value, re.IGNORECASE) is not None
    from packaging.specifiers import InvalidSpecifier  # noqa: PLC0415 - takes long to load; few texts need it
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415

    try:
        version = Version(_decimal(value))
        return _specifier(wanted.format_map(facts)).contains(version.public, prereleases=True)
    except (KeyError, InvalidVersion, InvalidSpecifier):
        return False


@cache
def _specifier(text: str) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - see `holds`

    operator = _COMPARES.match(text)
    end = operator.end() if operator else 0
    return SpecifierSet(text[:end] + _decimal(text[end:].strip()) if "," not in text else text)


def _decimal(text: str) -> str:
    """Return `0x10`, as numpy counts its ABI, as 16."""
    return str(int(text, 16)) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) else text


def _has_facts(case: SignatureCase, facts: Mapping[str, str]) -> bool:
    names = (name for text in (case.cause or "", case.fix) for _, name, _, _ in Formatter().parse(text))
    return all(name in facts for name in names if name)
