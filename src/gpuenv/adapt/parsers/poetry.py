"""Poetry's version constraints as specifiers of PEP 440.

https://python-poetry.org/docs/dependency-specification/#version-constraints
"""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet

_BOUND = re.compile(r"(?P<kind>[\^~])\s*(?P<release>\d{1,9}(?:\.\d{1,9}){0,4})(?P<rest>[^\s,]*)")
_EXACT = re.compile(r"v?(?P<version>\d[^\s,<>=!~]*)")


def specifier_of(text: str) -> str | None:
    """Return `^1.7.1` as `>=1.7.1,<2`, `~1.7` as `>=1.7,<1.8`, `1.7.1` as `==1.7.1`; None where it can't be.

    Empty for any version.
    """
    clauses = [_clause(part.strip()) for part in re.split(r",|(?<=[\w*])\s+(?=[<>=!~^])", text.strip())]
    try:
        return str(SpecifierSet(",".join(filter(None, clauses))))
    except InvalidSpecifier:  # `^1 || ^2` among others
        return None


def _clause(text: str) -> str:
    bound, exact = _BOUND.fullmatch(text), _EXACT.fullmatch(text)
    if text in ("", "*"):
        return ""
    if bound:
        parts = [int(part) for part in bound["release"].split(".")]
        upper = _caret(parts) if bound["kind"] == "^" else _tilde(parts)
        return f">={bound['release']}{bound['rest']},<{'.'.join(map(str, upper))}"
    return f"=={exact['version']}" if exact else text


def _caret(parts: list[int]) -> list[int]:
    """Up to the first number that is not zero: ^1.2.3 to 2, ^0.2.3 to 0.3, ^0.0 to 0.1, ^0 to 1."""
    position = next((offset for offset, part in enumerate(parts) if part), len(parts) - 1)
    return [*parts[:position], parts[position] + 1]


def _tilde(parts: list[int]) -> list[int]:
    position = min(1, len(parts) - 1)
    return [*parts[:position], parts[position] + 1]
