"""D42: the toolkit that extensions would be built with is not of torch's CUDA."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D42"


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Compare torch's CUDA with the nvcc that torch finds: by CUDA_HOME, on PATH, in /usr/local/cuda."""
    cuda, toolkit = subject.cuda_of(findings), findings.machine.toolkit
    home = subject.variable(findings, "CUDA_HOME") or subject.variable(findings, "CUDA_PATH")
    if findings.machine.system.os != "windows" and home and ":" in home:
        return warning("list", home, home=home)
    if cuda is None or toolkit is None or toolkit.cuda is None:
        return skipped(tr("no CUDA toolkit: it is needed for building extensions only"))
    read = tr("nvcc {nvcc}, torch for CUDA {cuda}", nvcc=toolkit.cuda, cuda=cuda)
    if toolkit.cuda.major == cuda.major:
        return ok(read)
    facts = {"nvcc": toolkit.cuda, "cuda": cuda, "path": toolkit.nvcc, "major": cuda.major}
    return warning("other-major-conda" if findings.conda else "other-major", read, **facts)
