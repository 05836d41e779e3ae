"""The problems of a machine; each message ends with the repair."""

from __future__ import annotations

from collections.abc import Iterable

from gpuenv.host.nvidia.reading import GpuReading
from gpuenv.host.nvidia.smi_messages import Complaint, repair_of
from gpuenv.i18n.messages import N_, gettext, series, tr
from gpuenv.model.machine import Gpu, Problem, System


def complained(complaint: Complaint, program: str = "nvidia-smi") -> Problem:
    """Report an error message of nvidia-smi or NVML."""
    unknown = tr("run it manually, and reinstall the driver if it keeps failing")
    repair = gettext(complaint.repair) if complaint.repair else unknown
    line = complaint.line or tr("nothing")
    message = tr("`{program}` reported `{said}`: {repair}", program=program, said=line, repair=repair)
    return Problem(complaint.code, message)


def unread_lines(count: int) -> Problem:
    """Report lines that look like GPUs but are damaged."""
    message = tr("{count} lines of `nvidia-smi` could not be read: run `gpuenv detect` again", count=count)
    return Problem("nvidia-smi-unreadable", message)


def timed_out(after_s: float) -> Problem:
    """Report that nvidia-smi hangs."""
    message = tr(
        "`nvidia-smi` did not respond within {seconds:g} s: try it manually; if it is only slow, "
        "run `sudo nvidia-smi -pm 1` or set `GPUENV_NVIDIA_SMI_TIMEOUT`; if it hangs, reboot",
        seconds=after_s,
    )
    return Problem("nvidia-smi-timeout", message)


def no_devices() -> Problem:
    """Report a loaded driver that shows no GPU."""
    message = tr("the driver is loaded but shows no GPU: {repair}", repair=gettext(repair_of("no-devices")))
    return Problem("no-devices", message)


def driver_unknown() -> Problem:
    """Report GPUs with an unknown driver version, so that no driver floor can be checked."""
    message = tr("the driver version is not known: run `nvidia-smi` manually, and reinstall the driver")
    return Problem("driver-unknown", message)


def no_driver(names: Iterable[str], bound: Iterable[str]) -> Problem:
    """Report hardware without NVIDIA's driver; `bound` are the drivers in its place."""
    others = series(dict.fromkeys(bound))
    facts = {
        "there": series(dict.fromkeys(names)),
        "because": tr(" (`{others}` has it)", others=others) if others else "",
    }
    message = tr(
        "{there} exists, but no NVIDIA driver is loaded{because}: install the driver and reboot; "
        "in a container or virtual machine, pass the GPU through",
        **facts,
    )
    return Problem("no-driver", message)


def nvidia_smi_missing(system: System) -> Problem:
    """Report traces of a driver without nvidia-smi."""
    if system.wsl:
        location = tr("WSL2")
        repair = tr(
            "install a current NVIDIA driver in Windows, then run `wsl --update` and `wsl --shutdown`"
        )
    elif system.container:
        repair = tr(
            "start it with `--gpus all` (docker, podman; the host needs the NVIDIA container toolkit) "
            "or `--nv` (apptainer)"
        )
        location = tr("this container")
    else:
        repair = tr("reinstall the driver together with its programs (`nvidia-utils`)")
        location = tr("this machine")
    facts = {"place": location, "repair": repair}
    message = tr("{place} has traces of an NVIDIA driver, but no `nvidia-smi`: {repair}", **facts)
    return Problem("nvidia-smi-missing", message)


def lost(gpu: GpuReading) -> Problem:
    """Report a GPU that dropped off the bus."""
    message = tr("GPU {index} is lost: {repair}", index=gpu.index, repair=gettext(repair_of("gpu-lost")))
    return Problem("gpu-lost", message)


def answers_with_errors(gpu: GpuReading) -> Problem:
    """Report a GPU with fields that read `ERR!`."""
    message = tr(
        "GPU {index} returns errors for some queries: reboot, and have it checked if that persists",
        index=gpu.index,
    )
    return Problem("gpu-error", message)


def about_gpu(gpu: Gpu, *, virtual: bool, ambiguous: bool) -> Iterable[Problem]:
    """Report what a user should know about a usable GPU."""
    facts = {"index": gpu.index, "name": gpu.name or tr("without a name")}
    if gpu.mig:
        message = tr(
            "GPU {index} is split by MIG: a program sees one part only; choose it by the `MIG-` UUID that "
            "`nvidia-smi -L` shows, in `CUDA_VISIBLE_DEVICES`",
            **facts,
        )
        yield Problem("mig", message)
    if virtual:
        message = tr(
            "GPU {index} ({name}) is a vGPU: keep the driver compatible with the host's, and the "
            "license valid",
            **facts,
        )
        yield Problem("vgpu", message)
    if gpu.compute_capability is None:
        code = "capability-ambiguous" if ambiguous else "capability-unknown"
        text = (
            N_(
                "{name} (GPU {index}) is ambiguous: it names GPUs of several compute capabilities; "
                "specify one, as in `--gpu 8.6`"
            )
            if ambiguous
            else N_(
                "the compute capability of GPU {index} ({name}) is not known: specify it, as in `--gpu 8.6`"
            )
        )
        yield Problem(code, tr(text, **facts))


def hidden(gpus: Iterable[Gpu], value: str) -> Problem:
    """Report the GPUs that CUDA_VISIBLE_DEVICES hides."""
    indices = series(str(gpu.index) for gpu in gpus)
    message = tr(
        "`CUDA_VISIBLE_DEVICES={value}` hides GPU {indices}: unset it to use all; with "
        "`CUDA_DEVICE_ORDER=PCI_BUS_ID` its numbers match `nvidia-smi`",
        value=value[:80],
        indices=indices,
    )
    return Problem("devices-hidden", message)
