"""What a match comes down to by the facts of the text that it was found in."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.signatures.cases import first_case
from gpuenv.signatures.clauses import fitting_fix
from gpuenv.signatures.match import SignatureMatch


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
