"""D60: both packages of ONNX Runtime."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D60"
_BOTH = ("onnxruntime", "onnxruntime-gpu")


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the CPU's and the GPU's package, which write the same files."""
    there = [name for name in _BOTH if subject.dist_of(findings, name)]
    if not there:
        return skipped(tr("no ONNX Runtime"))
    return problem("both", " ".join(there)) if len(there) == len(_BOTH) else ok(there[0])
