"""D47: conda chose a CPU build."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D47"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for `cpu` in the build string of conda's torch, and for `cpuonly`."""
    record = subject.conda_of(findings, "pytorch") or subject.conda_of(findings, "pytorch-cpu")
    if record is None:
        return skipped(tr("conda did not install a torch here"))
    read = f"{record.name} {record.version} {record.build}"
    if not record.build.startswith("cpu") and "_cpu" not in record.build and record.name != "pytorch-cpu":
        return ok(read)
    if findings.cpu_requested or not subject.sees_hardware(findings):
        return ok(read)
    case = "cpuonly" if subject.conda_of(findings, "cpuonly") else "cpu"
    return problem(case, read, build=record.build, cuda=_cuda(findings))


def _cuda(findings: Findings) -> str:
    driver = findings.machine.driver
    return str(driver.cuda) if driver and driver.cuda else "12.6"
