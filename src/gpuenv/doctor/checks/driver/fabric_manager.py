"""D12: NVSwitch without its fabric manager."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D12"
_BRIDGE = "0680"  # PCI class of an NVSwitch


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for NVSwitches, and for the service that they need."""
    nodes = [node.path for node in findings.nodes if "nvidia-nvswitch" in node.path]
    bridges = [one for one in findings.pci if one.vendor == subject.NVIDIA and one.kind.startswith(_BRIDGE)]
    if not nodes and not bridges:
        return skipped(tr("there is no NVSwitch"))
    if findings.kernel.fabric_manager or subject.proven(findings):
        return ok(tr("the fabric manager runs, or is not missed"))
    driver = findings.machine.driver
    facts = {"driver": driver.version if driver else "?"}
    if findings.kernel.fabric_manager is None:
        code_802 = "802" in subject.said(findings) or "system not yet initialized" in subject.said(findings)
        return (
            problem("not-running", "802", **facts) if code_802 else skipped(tr("services can't be seen here"))
        )
    make = problem if findings.proof is None or subject.failed(findings) else warning
    return make("not-running", tr("NVSwitch, but no nv-fabricmanager"), **facts)
