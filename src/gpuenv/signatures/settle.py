"""What a match comes down to by the facts of the text that it was found in."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gpuenv.signatures.cases import first_case
from gpuenv.signatures.match import SignatureMatch


def settled(match: SignatureMatch, facts: Mapping[str, str]) -> SignatureMatch:
    """Return a match with the texts of the case that holds; its own facts count before those of the text."""
    if not match.cases:
        return match
    case = first_case(match.cases, {**facts, **dict(match.facts)})
    if case is None:
        return match
    wants = match.wants if case.replans else ()
    detail = None if case.cause else match.detail
    return replace(match, cause=case.cause or match.cause, fix=case.fix, detail=detail, wants=wants)
