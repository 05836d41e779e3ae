"""D17: WSL2, where the driver is Windows'."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D17"
_OURS = "/wsl/lib/"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/dxg, for Windows' libcuda, and for a Linux driver that hides it."""
    if not findings.machine.system.wsl:
        return skipped(tr("this is not WSL"))
    libraries = findings.kernel.libraries
    if not subject.has_node(findings, "dxg"):
        return problem("no-device", tr("there is no /dev/dxg"))
    stub = next((path for path in libraries if _OURS in path), None)
    others = tuple(path for path in libraries if _OURS not in path)
    broken = subject.broken_driver(findings)
    if others and stub is None:
        return problem("hidden", others[0], path=others[0])
    if others and not subject.proven(findings):
        make = problem if broken or subject.failed(findings) else warning
        return make("linux-driver", others[0], path=others[0])
    if stub is None or broken:
        return problem("windows-driver", broken[0][1] if broken else tr("no libcuda from Windows"))
    return ok(stub)
