"""D15: a container that lost its GPU while it ran."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D15"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for NVML's `Unknown Error` inside a container."""
    if findings.machine.system.container is None:
        return skipped(tr("this is no container"))
    told = next((text for _, text in subject.broken_driver(findings) if "Unknown Error" in text), None)
    return problem("lost", told) if told else ok(tr("NVML answers, or was not there from the start"))
