"""D28: on a Mac there is no CUDA, and a Python for Intel runs translated."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D28"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Tell whether the Python is one for this Mac's processor."""
    system, python = findings.machine.system, findings.python
    if system.os != "macos":
        return skipped(tr("this is no Mac"))
    read = tr("processor {arch}, Python for {machine}", arch=system.arch, machine=python.machine)
    if system.arch == "aarch64" and python.machine == "x86_64":
        return problem("translated", read, torch=subject.torch_label(findings))
    return ok(read)
