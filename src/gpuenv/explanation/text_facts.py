"""The facts by which cases and clauses are chosen: what a text reports, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv import matrices
from gpuenv.signatures.circumstances import circumstances
from gpuenv.signatures.derived import derived_facts
from gpuenv.signatures.reported import Reported

OTHER_CARDS = frozenset({"radeon", "gfx", "intel_gpu"})  # facts by which cards of AMD and Intel are known
_OF_LIBRARIES = frozenset({"cublas_type", "cudnn_status"})  # facts for which the card counts


def facts_of(reported: Reported, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a text reports, and what follows from it; plans are decided as `environ` has it."""
    values = reported.values
    facts = circumstances(values) | values | derived_facts(values, matrices.load("companions"))
    if not _OF_LIBRARIES.isdisjoint(values) and (reported.gpus or "gpu_named" in values):
        from gpuenv.explanation.card_facts import cuda_facts  # noqa: PLC0415 - planning is much

        facts |= cuda_facts(reported, environ or {})
    if OTHER_CARDS.isdisjoint(values):
        return facts
    from gpuenv.explanation.card_facts import card_facts  # noqa: PLC0415 - planning is much

    return facts | card_facts(reported, environ or {})
