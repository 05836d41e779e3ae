"""Checks of what stands between a program and the machine: WSL, notebooks, schedulers, containers."""

from __future__ import annotations

from gpuenv.checks import queries
from gpuenv.checks.outcome import Outcome, check, ok, problem, skipped, warning
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.findings import Findings

_WSL_LIBRARIES = "/wsl/lib/"
_NOTEBOOK_SERVICES = {"COLAB_": "Colab", "KAGGLE_": "Kaggle"}
_GPU_INDEXES = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL")  # `0` is the first GPU
_GPU_COUNTS = ("SLURM_GPUS", "SLURM_GPUS_ON_NODE")  # `0` is none; `a100:1,l4:2` is three
_HIDDEN = "NoDevFiles"  # what Slurm writes where it gives none
_MIB = 1 << 20
_LITTLE_MEMORY = 512 * _MIB  # docker gives 64 MiB where nothing is said
_FEW_FILES = 1024


@check("D17")  # WSL2, where the driver is Windows'
def wsl(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/dxg, for Windows' libcuda, and for a Linux driver that hides it."""
    if not findings.machine.system.wsl:
        return skipped(tr("this is not WSL"))
    libraries = findings.kernel.libraries
    if not queries.has_node(findings, "dxg"):
        return problem("no-device", tr("there is no /dev/dxg"))
    stub = next((path for path in libraries if _WSL_LIBRARIES in path), None)
    others = tuple(path for path in libraries if _WSL_LIBRARIES not in path)
    broken = queries.broken_driver(findings)
    if others and stub is None:
        return problem("hidden", others[0], path=others[0])
    if others and not queries.proven(findings):
        make = problem if broken or queries.failed(findings) else warning
        return make("linux-driver", others[0], path=others[0])
    if stub is None or broken:
        return problem("windows-driver", broken[0][1] if broken else tr("no libcuda from Windows"))
    return ok(stub)


def notebook_service(findings: Findings) -> str | None:
    """Return the service that hosts this notebook."""
    names = [name for name, _ in findings.variables]
    services = _NOTEBOOK_SERVICES.items()
    return next((where for mark, where in services if any(name.startswith(mark) for name in names)), None)


@check("D57")  # a hosted notebook on a runtime without GPU
def notebook(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for the variables of Colab and Kaggle, and for a GPU."""
    where = notebook_service(findings)
    if where is None:
        return skipped(tr("this is not a hosted notebook"))
    if findings.machine.gpus or queries.gpu_nodes(findings):
        return ok(where)
    return problem("no-gpu", tr("{where}, no GPU", where=where), where=where)


def has_scheduler(findings: Findings) -> bool:
    """Tell whether this runs where Slurm does: in a job, or on a node from which jobs are sent."""
    return bool(findings.programs) or any(name.startswith("SLURM_") for name, _ in findings.variables)


def granted_gpus(findings: Findings) -> tuple[str, ...]:
    """Return the variables that tell of GPUs given to this job; AMD's users set some of them elsewhere."""
    if queries.variable(findings, "SLURM_JOB_ID") is None:
        return ()
    indexes = (name for name in _GPU_INDEXES if queries.variable(findings, name) not in (None, "", _HIDDEN))
    counts = (name for name in _GPU_COUNTS if _counted(queries.variable(findings, name) or ""))
    return (*indexes, *counts)


def _counted(value: str) -> bool:
    return any(part.rpartition(":")[2].strip() not in ("", "0") for part in value.split(","))


def gave_no_gpu(findings: Findings) -> bool:
    """Tell whether this is a job that was given no GPU; a cause that nvidia-smi names comes before that."""
    if queries.names_its_cause(findings):
        return False
    if queries.variable(findings, "CUDA_VISIBLE_DEVICES") == _HIDDEN:
        return True
    job = queries.variable(findings, "SLURM_JOB_ID")
    return bool(job) and not granted_gpus(findings) and not findings.machine.gpus


@check("D09")  # a cluster's scheduler that gave this job no GPU
def scheduler(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look whether the job was given a GPU."""
    job, given = queries.variable(findings, "SLURM_JOB_ID"), granted_gpus(findings)
    if gave_no_gpu(findings):
        make = warning if queries.is_cpu_build_alone(findings) else problem
        return make("no-gpu", tr("job {job} was given no GPU", job=job or "?"), job=job or "?")
    if not has_scheduler(findings):
        return skipped(tr("no scheduler was found"))
    if given or findings.machine.gpus:
        message = series(f"{name}={queries.variable(findings, name)}" for name in given)
        return ok(message or tr("a GPU is present"))
    return _without_job(findings) if not job else skipped(tr("`nvidia-smi` reports its own cause"))


def _without_job(findings: Findings) -> Outcome:
    if queries.cuda_of(findings) is None:
        return ok(tr("no job, no GPU"))
    if queries.has_traces(findings):
        return skipped(tr("there is NVIDIA hardware: the check of its driver says why it is not usable"))
    make = warning if queries.names_its_cause(findings) else problem
    return make("login-node", tr("no job, no GPU"))


def is_without_gpu(findings: Findings) -> bool:
    """Tell whether this is a container into which no GPU was handed, and nvidia-smi names no other cause."""
    return lacks_nodes(findings) and not queries.names_its_cause(findings)


def lacks_nodes(findings: Findings) -> bool:
    """Tell whether this is a container without device files of GPUs."""
    machine = findings.machine
    inside = machine.system.container is not None and not machine.system.wsl
    return inside and not machine.gpus and not queries.gpu_nodes(findings)


@check("D08")  # a container that was started without a GPU
def container(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for device files of GPUs, and for what the container's image asks of them."""
    kind = findings.machine.system.container
    if kind is None:
        return skipped(tr("this is not a container"))
    scheduled = has_scheduler(findings) and not granted_gpus(findings)
    if notebook_service(findings) or scheduled:
        return skipped(tr("this container was created by a service or a scheduler"))
    if not lacks_nodes(findings):
        return ok(tr("{kind} with a GPU", kind=kind))
    wanted = queries.variable(findings, "NVIDIA_VISIBLE_DEVICES")
    built_for = None if findings.planned_without_gpu else queries.cuda_of(findings)
    asks = queries.nvidia_devices(findings) or wanted or built_for
    read = tr("{kind}, no /dev/nvidia0", kind=kind)
    if not asks:
        return ok(read)
    case = "kubernetes" if kind == "kubernetes" else "no-gpu"
    case = "void" if wanted in ("void", "none", "") else case
    told_elsewhere = queries.names_its_cause(findings) or queries.is_cpu_build_alone(findings)
    make = warning if told_elsewhere else problem
    return make(case, read, kind=kind, wanted=wanted or "")


@check("D15")  # a container that lost its GPU while it ran
def container_lost(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for NVML's `Unknown Error` inside a container."""
    if findings.machine.system.container is None:
        return skipped(tr("this is not a container"))
    message = next((text for _, text in queries.broken_driver(findings) if "Unknown Error" in text), None)
    return problem("lost", message) if message else ok(tr("NVML responds, or was never available"))


@check("D56")  # a container that lacks the device of unified memory
def container_uvm(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look for /dev/nvidia-uvm where /dev/nvidia0 was handed in."""
    system = findings.machine.system
    if system.container is None or system.wsl or not queries.gpu_nodes(findings):
        return skipped(tr("this is not a container with a GPU"))
    if queries.has_node(findings, "nvidia-uvm") or queries.proven(findings):
        return ok("/dev/nvidia-uvm")
    return problem("no-uvm", tr("/dev/nvidia0 without /dev/nvidia-uvm"), kind=system.container)


@check("D27")  # too little shared memory, or too few files, for the workers of a DataLoader
def shared_memory(findings: Findings, _knowledge: Knowledge) -> Outcome:
    """Look at the size of /dev/shm and at how many files may be open: neither keeps torch from the GPU."""
    size, files = findings.limits.shared_memory, findings.limits.open_files
    if size is None:
        return skipped(tr("there is no /dev/shm"))
    read = tr("{size} MiB of shared memory, {files} open files", size=size // _MIB, files=files or "?")
    inside = findings.machine.system.container is not None
    if inside and size <= _LITTLE_MEMORY:
        return warning("small", read, size=size // _MIB)
    if files is not None and files < _FEW_FILES:
        return warning("files", read, files=files)
    return ok(read)
