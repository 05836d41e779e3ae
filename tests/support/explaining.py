"""What a text means, however long looking takes."""

from __future__ import annotations

from collections.abc import Iterable

from gpuenv.signatures.catalogue import Signature
from gpuenv.signatures.match import SignatureMatch, examine


def explain(text: str, signatures: Iterable[Signature]) -> tuple[SignatureMatch, ...]:
    return examine(text, signatures, lambda: 0.0).matches
