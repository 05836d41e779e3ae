"""D09: a cluster's scheduler that gave this job no GPU."""

from __future__ import annotations

from gpuenv.core.doctor import subject
from gpuenv.core.doctor.outcome import Outcome, ok, problem, skipped
from gpuenv.core.knowledge import Knowledge
from gpuenv.values.findings import Findings
from gpuenv.values.text import tr

ID = "D09"
_GRANTED = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "GPU_DEVICE_ORDINAL")


def is_at_work(findings: Findings) -> bool:
    """Tell whether this runs where Slurm does: in a job, or on a node from which jobs are sent."""
    return bool(findings.programs) or any(name.startswith("SLURM_") for name, _ in findings.variables)


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the job was given a GPU."""
    hidden = subject.variable(findings, "CUDA_VISIBLE_DEVICES") == "NoDevFiles"
    if not is_at_work(findings) and not hidden:
        return skipped(tr("no scheduler is in sight"))
    granted = tuple(name for name in _GRANTED if subject.variable(findings, name) not in (None, "", "0"))
    job = subject.variable(findings, "SLURM_JOB_ID")
    if hidden or (job and not granted and not findings.machine.gpus):
        return problem("no-gpu", tr("job {job} was given no GPU", job=job or "?"), job=job or "?")
    if not job and not findings.machine.gpus and subject.cuda_of(findings):
        return problem("login-node", tr("no job, no GPU"))
    return ok(
        ", ".join(f"{name}={subject.variable(findings, name)}" for name in granted) or tr("a GPU is there")
    )
