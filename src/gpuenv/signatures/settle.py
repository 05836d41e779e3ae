"""What a match comes down to by the facts of the text that it was found in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.signatures.cases import first_case
from gpuenv.signatures.clauses import fitting_fix
from gpuenv.signatures.lazy_regex import LazyRegex
from gpuenv.signatures.match import SignatureMatch

_EXPORT = LazyRegex(r"\bexport ((?:[A-Za-z_]\w*=[^\s`;,]+ ?)+)")
_WINDOWS = "windows"


def settled(match: SignatureMatch, facts: Mapping[str, str]) -> SignatureMatch:
    """Return a match with the texts of the case that holds; its own facts count before those of the text.

    Where none holds, its fix stays without the clauses that are for other machines.
    """
    if not (match.cases or match.clauses):
        return match
    own = {**facts, **dict(match.facts)}
    case = first_case(match.cases, own)
    if case is None:
        return replace(match, fix=fitting_fix(match.fix, match.clauses, own)) if match.clauses else match
    wants = match.wants if case.replans else ()
    detail = None if case.cause else match.detail
    cause = case.cause or match.cause
    return replace(
        match,
        cause=cause,
        fix=case.fix,
        detail=detail,
        wants=wants,
        confidence="high" if case.cause else match.confidence,
        settled=bool(case.cause),
        check=None,
    )


def in_its_shell(fix: str, facts: Mapping[str, str]) -> str:
    """Return a fix whose `export A=1 B=2` is `set "A=1" & set "B=2"` where the text is from Windows."""
    if facts.get("system") != _WINDOWS or "export " not in fix:
        return fix
    return _EXPORT.pattern.sub(_as_set, fix)


def _as_set(match: re.Match[str]) -> str:
    space = " " if match[1].endswith(" ") else ""
    return " & ".join(f'set "{pair}"' for pair in match[1].split()) + space
