"""D24: a GPU that is lost or answers with errors."""

from __future__ import annotations

import re

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D24"
_XID = re.compile(r"\bXid\b.{0,80}?: (\d{1,3}),")
_LOST = frozenset({"48", "79", "94", "95", "119", "120"})


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for lost GPUs, uncorrected memory errors and the kernel's Xid messages."""
    if subject.has_problem(findings, "gpu-lost", "gpu-error"):
        message = subject.complaint_of(findings, "gpu-lost", "gpu-error")
        return problem("lost", tr("a GPU that does not answer"), message=message)
    xids = tuple(found[1] for line in findings.kernel.messages if (found := _XID.search(line)))
    if _LOST & set(xids) and not subject.proven(findings):
        return problem("xid", f"Xid {' '.join(dict.fromkeys(xids))}", xid=xids[-1])
    faulty = [state for state in findings.states if state.ecc_errors]
    if faulty:
        count = faulty[0].ecc_errors
        return warning("ecc", tr("{count} uncorrected errors", count=count), gpu=faulty[0].index, count=count)
    if not findings.machine.gpus:
        return skipped(tr("no GPU answers"))
    return ok(tr("no GPU is lost, no uncorrected memory errors were told"))
