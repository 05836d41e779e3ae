"""D14: a libcuda that is not the driver's: a stub, or a compatibility package."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D14"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for libcuda.so.1 in the directories that are searched before the driver's."""
    if not findings.driver_libraries:
        return ok(tr("no other libcuda stands before the driver's"))
    path, via = findings.driver_libraries[0]
    if subject.proven(findings):
        return ok(tr("{path}, and torch works with it", path=path))
    if "/stubs" in path:
        return problem("stub", path, path=path, via=via)
    if "compat" in path:
        data_centre = not any("GeForce" in (gpu.name or "") for gpu in findings.machine.gpus)
        make = warning if data_centre and not subject.failed(findings) else problem
        return make("compat", path, path=path, via=via)
    return warning("other", path, path=path, via=via) if findings.machine.gpus else skipped(path)
