"""What several checks ask of the findings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from gpuenv.model.findings import CondaPackage, Dist, Findings, PciDevice
from gpuenv.model.variant import CudaVersion, Variant
from gpuenv.model.wheel import Platform
from gpuenv.resolution.target import PLATFORMS_BY_SYSTEM, TargetGpu

NVIDIA, AMD = "10de", "1002"
_DISPLAY = "03"
# what stands beside usable GPUs, or has a check of its own
_CHECKED_ELSEWHERE = (
    *("mig", "vgpu", "devices-hidden", "tegra"),
    *("capability-unknown", "capability-ambiguous"),
)
# what nvidia-smi names a cause with, where no GPU of the machine is reported
_NAMED = (
    *("driver-mismatch", "driver-not-loaded", "nvidia-smi-failed", "nvidia-smi-timeout"),
    *("gpu-lost", "gpu-error"),
)
_NVML = "libnvidia-ml"  # a container without a GPU lacks it too

# where a problem's repair begins, in English and in Chinese
_QUOTED_END = re.compile(r"(?<=`)(?:: |：)")
_END = re.compile(r": |：")


def parse_requirement(line: str) -> Requirement | None:
    """Parse a `Requires-Dist`; None where it is not valid."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def version_of(text: str | None) -> Version | None:
    """Return a version, None for a text that is none."""
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def torch_version(findings: Findings) -> Version | None:
    """Return the version of the torch that the environment has: by its files, else by its metadata."""
    version = version_of(findings.torch.version) if findings.torch else None
    dist = dist_of(findings, "torch")
    return version or (version_of(dist.version) if dist else None)


def has_torch(findings: Findings) -> bool:
    """Tell whether there is a torch in the environment, whole or not."""
    return findings.torch is not None or dist_of(findings, "torch") is not None


def variant_of(findings: Findings) -> Variant | None:
    """Return the variant of the torch, None where nothing tells it."""
    if findings.torch and findings.torch.variant:
        return Variant(findings.torch.variant)
    version = torch_version(findings)
    local = Variant(version.local) if version and version.local else None
    return local if local and local.is_known else None


def cuda_of(findings: Findings) -> CudaVersion | None:
    """Return the CUDA that the torch was built with."""
    variant = variant_of(findings)
    return variant.cuda if variant else None


def torch_label(findings: Findings) -> str:
    """Return the torch in words: `torch 2.14.1+cu126`."""
    version, variant = torch_version(findings), variant_of(findings)
    if version is None:
        return "torch"
    return f"torch {version}" if version.local or variant is None else f"torch {version} ({variant})"


def dists_of(findings: Findings, name: str) -> tuple[Dist, ...]:
    """Return the distributions of that (normalized) name."""
    return tuple(dist for dist in findings.dists if dist.name == name)


def dist_of(findings: Findings, name: str) -> Dist | None:
    """Return the distribution of that name that is imported: the first; of torch's the one of its files."""
    there = dists_of(findings, name)
    value = findings.torch.version if findings.torch and name == "torch" else None
    return next((dist for dist in there if value and dist.version == value), next(iter(there), None))


def installed(findings: Findings, name: str) -> Version | None:
    """Return the version that is installed of a distribution."""
    dist = dist_of(findings, name)
    return version_of(dist.version) if dist else None


def conda_of(findings: Findings, name: str) -> CondaPackage | None:
    """Return a package of the conda environment."""
    return next((item for item in findings.conda if item.name == name), None)


def variable(findings: Findings, name: str) -> str | None:
    """Return an environment variable, None where it is not set."""
    return dict(findings.variables).get(name)


def platform_of(findings: Findings) -> Platform | None:
    """Return the machine's platform; None for one that CUDA builds are not made for."""
    system = findings.machine.system
    return PLATFORMS_BY_SYSTEM.get((system.os, system.arch))


def is_posix_linux(findings: Findings) -> bool:
    """Tell whether this is Linux with a driver of its own, not WSL2's."""
    return findings.machine.system.os == "linux" and not findings.machine.system.wsl


def nvidia_devices(findings: Findings) -> tuple[PciDevice, ...]:
    """Return NVIDIA's display devices on the bus."""
    own = (device for device in findings.pci if device.vendor == NVIDIA)
    return tuple(device for device in own if device.kind.startswith(_DISPLAY))


def sees_hardware(findings: Findings) -> bool:
    """Tell whether there is NVIDIA hardware, whatever state it is in."""
    return bool(findings.machine.gpus or nvidia_devices(findings)) or not findings.machine.without_gpu


def has_traces(findings: Findings) -> bool:
    """Tell whether there is proof of NVIDIA hardware or its driver, whatever nvidia-smi says."""
    return bool(nvidia_devices(findings) or findings.kernel.nvidia or gpu_nodes(findings))


def is_cpu_build_alone(findings: Findings) -> bool:
    """Tell whether torch is for the CPU, by its build or by its plan, and no hardware is seen for it."""
    variant = variant_of(findings)
    seen = sees_hardware(findings) or has_traces(findings)
    return variant is not None and (variant.is_cpu or findings.planned_without_gpu) and not seen


def has_node(findings: Findings, name: str) -> bool:
    """Tell whether a device file is there: `nvidia0`."""
    return any(node.path.rpartition("/")[2] == name for node in findings.nodes)


def gpu_nodes(findings: Findings) -> tuple[str, ...]:
    """Return the device files of NVIDIA GPUs: `/dev/nvidia0`."""
    names = (node.path for node in findings.nodes)
    return tuple(path for path in names if path.rpartition("/nvidia")[2].isdigit())


def has_problem(findings: Findings, *codes: str) -> bool:
    """Tell whether detect named one of these problems of the machine."""
    return any(item.code in codes for item in findings.machine.problems)


def message_of(findings: Findings, *codes: str) -> str:
    """Return what detect says of the first of these problems."""
    return next((item.message for item in findings.machine.problems if item.code in codes), "")


def complaint_of(findings: Findings, *codes: str) -> str:
    """Return what detect says of the first of these problems, without the repair."""
    return without_repair(message_of(findings, *codes))


def without_repair(message: str) -> str:
    """Return a problem's message without the repair at its end.

    "`nvidia-smi` says `No devices were found`: the driver is loaded but ..."; "GPU 0 is lost: shut ..."
    """
    end = _QUOTED_END.search(message) or _END.search(message)
    return message[: end.start()] if end else message


def broken_driver(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return the problems (code, message) that keep the machine's GPUs from being used."""
    problems = findings.machine.blocking_problems
    return tuple((item.code, item.message) for item in problems if item.code not in _CHECKED_ELSEWHERE)


def names_its_cause(findings: Findings) -> bool:
    """Tell whether nvidia-smi answers, and names a cause by which no GPU can be used."""
    if findings.machine.gpus:
        return False
    return any(code in _NAMED and _NVML not in message for code, message in broken_driver(findings))


def proven(findings: Findings) -> bool:
    """Tell whether verify put GPUs to work, and all was well."""
    return findings.proof is not None and findings.proof.ok and findings.proof.gpus > 0


def works(findings: Findings) -> bool:
    """Tell whether verify found a torch that works, on whatever there is."""
    return findings.proof is not None and findings.proof.ok


def failed(findings: Findings) -> bool:
    """Tell whether verify ran on GPUs that programs may see, and did not prove the environment."""
    hidden = bool(findings.machine.gpus) and not findings.machine.visible_gpus
    return findings.proof is not None and not findings.proof.ok and not hidden


def said(findings: Findings) -> str:
    """Return all that verify and torch printed of what went wrong, in lower case."""
    proof = findings.proof
    return "\n".join((*proof.errors, *proof.messages)).lower() if proof else ""


def target_gpus(findings: Findings) -> tuple[TargetGpu, ...]:
    """Return the GPUs that programs see and whose compute capability is known."""
    machine = findings.machine
    return tuple(
        TargetGpu(gpu, gpu.compute_capability, machine)
        for gpu in machine.visible_gpus or machine.gpus
        if gpu.compute_capability is not None
    )


def nvidia_dists(findings: Findings) -> Iterator[tuple[str, int, Dist]]:
    """Yield the libraries of CUDA that are installed as packages: component, CUDA major, distribution.

    `nvidia-cudnn-cu12` is (`cudnn`, 12).
    """
    for dist in findings.dists:
        name, _, major = dist.name.rpartition("-cu")
        if name.startswith("nvidia-") and major.isdigit():
            yield name.removeprefix("nvidia-"), int(major), dist
