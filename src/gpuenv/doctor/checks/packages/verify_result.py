"""D54: torch counts a GPU, and its work fails all the same."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D54"
_SHADOWED = "module-shadowed"  # the error signature that D38 looks for the file of
_CASES = {"import-failed": "import", "crashed": "crash", "hung": "hang", "no-gpu": "no-gpu"}


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Take verify's word: real work on every GPU, compared with the CPU."""
    proof = findings.proof
    if proof is None:
        return skipped(tr("verify has not run"))
    if "no-torch" in proof.codes:
        return skipped(tr("torch is not installed"))
    if proof.ok:
        return ok(tr("{count} GPUs worked", count=proof.gpus) if proof.gpus else tr("the CPU worked"))
    told = proof.errors[0] if proof.errors else tr("no message")
    facts = {"message": told, "torch": subject.torch_label(findings)}
    if proof.signature == _SHADOWED and not (findings.foreign_torch or findings.here):
        why = tr("nothing hides it, so its installation is incomplete")
        return problem("known", told, why=why, advice=tr("install it anew"), **facts)
    if proof.cause and proof.fix:
        return problem("known", f"{proof.signature}: {told}", why=proof.cause, advice=proof.fix, **facts)
    return problem(_CASES.get(proof.codes[0] if proof.codes else "", "wrong"), told, **facts)
