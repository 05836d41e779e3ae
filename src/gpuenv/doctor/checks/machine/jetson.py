"""D35: a Jetson needs NVIDIA's own builds."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D35"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the torch on a Jetson is one of NVIDIA's, by its local version (`+nv24.08`)."""
    if not subject.has_problem(findings, "tegra"):
        return skipped(tr("this is no Jetson that needs NVIDIA's own wheels"))
    board = subject.message_of(findings, "tegra")
    if not subject.has_torch(findings):
        return skipped(tr("torch is not installed"))
    version = subject.torch_version(findings)
    if version is None or "nv" in (version.local or ""):
        return ok(board)
    return problem("foreign-wheel", board, torch=subject.torch_label(findings), board=board)
