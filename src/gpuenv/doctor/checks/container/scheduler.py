"""D09: a cluster's scheduler that gave this job no GPU."""

from __future__ import annotations

from gpuenv.doctor.checks import queries as subject
from gpuenv.doctor.checks.outcome import Outcome, ok, problem, skipped, warning
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

ID = "D09"
_INDEXES = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL")  # `0` is the first GPU
_COUNTS = ("SLURM_GPUS", "SLURM_GPUS_ON_NODE")  # `0` is none; `a100:1,l4:2` is three
_HIDDEN = "NoDevFiles"  # what Slurm writes where it gives none


def is_at_work(findings: Findings) -> bool:
    """Tell whether this runs where Slurm does: in a job, or on a node from which jobs are sent."""
    return bool(findings.programs) or any(name.startswith("SLURM_") for name, _ in findings.variables)


def granted(findings: Findings) -> tuple[str, ...]:
    """Return the variables that tell of GPUs given to this job; AMD's users set some of them elsewhere."""
    if subject.variable(findings, "SLURM_JOB_ID") is None:
        return ()
    indexes = (name for name in _INDEXES if subject.variable(findings, name) not in (None, "", _HIDDEN))
    counts = (name for name in _COUNTS if _counted(subject.variable(findings, name) or ""))
    return (*indexes, *counts)


def _counted(value: str) -> bool:
    return any(part.rpartition(":")[2].strip() not in ("", "0") for part in value.split(","))


def gave_none(findings: Findings) -> bool:
    """Tell whether this is a job that was given no GPU; a cause that nvidia-smi names comes before that."""
    if subject.names_its_cause(findings):
        return False
    if subject.variable(findings, "CUDA_VISIBLE_DEVICES") == _HIDDEN:
        return True
    job = subject.variable(findings, "SLURM_JOB_ID")
    return bool(job) and not granted(findings) and not findings.machine.gpus


def check(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the job was given a GPU."""
    job, given = subject.variable(findings, "SLURM_JOB_ID"), granted(findings)
    if gave_none(findings):
        make = warning if subject.is_cpu_build_alone(findings) else problem
        return make("no-gpu", tr("job {job} was given no GPU", job=job or "?"), job=job or "?")
    if not is_at_work(findings):
        return skipped(tr("no scheduler is in sight"))
    if given or findings.machine.gpus:
        told = ", ".join(f"{name}={subject.variable(findings, name)}" for name in given)
        return ok(told or tr("a GPU is there"))
    return _without_job(findings) if not job else skipped(tr("`nvidia-smi` names a cause of its own"))


def _without_job(findings: Findings) -> Outcome:
    if subject.cuda_of(findings) is None:
        return ok(tr("no job, no GPU"))
    if subject.has_traces(findings):
        return skipped(tr("there is NVIDIA hardware: what keeps it from being used is told of its driver"))
    make = warning if subject.names_its_cause(findings) else problem
    return make("login-node", tr("no job, no GPU"))
