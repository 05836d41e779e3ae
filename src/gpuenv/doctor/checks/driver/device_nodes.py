"""D05: no device files, or none that this user may open."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.container import container
from gpuenv.doctor.checks.driver import kernel_modules as modules
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D05"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/nvidia0 and /dev/nvidiactl, and whether they may be opened."""
    if not subject.is_posix_linux(findings) or container.lacks_nodes(findings):
        return skipped(tr("no device files are expected here"))
    if findings.kernel.nvidia is None or modules.is_missing(findings):
        return skipped(tr("no module of NVIDIA's is loaded"))
    nodes = subject.gpu_nodes(findings)
    if not nodes or not subject.has_node(findings, "nvidiactl"):
        missing = "/dev/nvidiactl" if nodes else "/dev/nvidia0"
        return (
            ok(tr("torch finds them"))
            if subject.proven(findings)
            else problem("missing", missing, node=missing)
        )
    closed = [
        node.path
        for node in findings.nodes
        if not node.usable and "/nvidia" in node.path and "cap" not in node.path
    ]
    closed = [path for path in closed if path in nodes or path.endswith(("nvidiactl", "nvidia-uvm"))]
    if closed and not subject.proven(findings):
        return problem("closed", " ".join(closed), node=closed[0])
    return ok(" ".join(nodes))
