"""D32: libraries of two CUDA generations in one environment."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D32"


def strangers(findings: Findings) -> tuple[str, ...]:
    """Return the packages of another CUDA generation than torch's whose component torch's has too."""
    cuda = subject.cuda_of(findings)
    found = tuple(subject.nvidia_dists(findings))
    if cuda is None:
        return ()
    own = {component for component, major, _ in found if major == cuda.major}
    return tuple(dist.name for component, major, dist in found if major != cuda.major and component in own)


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for a component installed for two CUDA majors, and for files that both claim."""
    cuda, others = subject.cuda_of(findings), strangers(findings)
    if cuda is None or not tuple(subject.nvidia_dists(findings)):
        return skipped(tr("CUDA's libraries are no packages of their own here"))
    if not others:
        return ok(tr("all for CUDA {major}", major=cuda.major))
    clash = next((file for file in findings.shared_files if set(file.owners) & set(others)), None)
    if clash:
        facts = {"path": clash.path, "owners": ", ".join(clash.owners), "others": " ".join(others)}
        return problem("overwrite", clash.path, major=cuda.major, **facts)
    return warning("beside", " ".join(others), others=" ".join(others), major=cuda.major)
