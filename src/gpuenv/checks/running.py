"""Checks of torch at work: which GPUs it is shown, and what `verify` says."""

from __future__ import annotations

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_SHADOWED = "module-shadowed"  # the error signature that D38 looks for the file of
_FAILURES = {"import-failed": "import", "crashed": "crash", "hung": "hang", "no-gpu": "no-gpu"}


@check("D07")  # CUDA_VISIBLE_DEVICES hides the GPU
def visible_devices(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Read the variable as CUDA does: the first entry that names no device ends the list."""
    value = queries.variable(findings, _VISIBLE)
    if value is None:
        return ok(tr("not set"))
    gpus = findings.machine.gpus
    read = f"{_VISIBLE}={value}"
    if not gpus:
        return skipped(read)
    count = len(gpus)
    if not findings.machine.visible_gpus:
        entries = [entry.strip() for entry in value.split(",")]
        case = "twice" if len(set(entries)) < len(entries) else "all"
        return problem(case, read, value=value, count=count)
    entries = [entry for entry in value.split(",") if entry.strip()]
    seen = len(findings.machine.visible_gpus)
    if not value.startswith("MIG-") and seen < len(entries):
        return warning("cut-short", read, value=value, seen=seen, count=count)
    return ok(read)


@check("D54")  # torch counts a GPU, and its work fails all the same
def verify_result(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Take verify's word: real work on every GPU, compared with the CPU."""
    proof = findings.proof
    if proof is None:
        return skipped(tr("verify has not run"))
    if "no-torch" in proof.codes:
        return skipped(tr("torch is not installed"))
    if proof.ok:
        return ok(tr("{count} GPUs passed", count=proof.gpus) if proof.gpus else tr("the CPU worked"))
    message = proof.errors[0] if proof.errors else tr("no message")
    facts = {"message": message, "torch": queries.torch_label(findings)}
    if proof.signature == _SHADOWED and not (findings.foreign_torch or findings.here):
        why = tr("nothing hides it, so its installation is incomplete")
        return problem("known", message, why=why, advice=tr("reinstall it"), **facts)
    if proof.cause and proof.fix:
        return problem("known", f"{proof.signature}: {message}", why=proof.cause, advice=proof.fix, **facts)
    return problem(_FAILURES.get(proof.codes[0] if proof.codes else "", "wrong"), message, **facts)
