"""What a machine supports, in the words of the providers of variant properties; all its devices count.

The providers themselves let one GPU speak for the machine: the one of the highest compute capability, whether
or not CUDA_VISIBLE_DEVICES hides it. https://github.com/wheelnext/nvidia-variant-provider
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Machine
from gpuenv.model.variant import CudaVersion

FORCE_SM_ARCH = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
_LOWER, _UPPER, _SM = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"
_CUDA_MAJORS, _CUDA_MINORS = range(11, 16), range(21)  # those that the provider knows
_LEAST_MAJOR = 5  # of a compute capability


class DeviceSupport(Struct, frozen=True):
    """The values that one device supports of one feature, the best first."""

    device: str
    namespace: str
    feature: str
    values: tuple[str, ...]


class ForcedValue(Struct, frozen=True):
    """A variable that makes uv's provider see what this machine needs, and why."""

    name: str
    value: str
    why: str


def supported_by(machine: Machine) -> tuple[DeviceSupport, ...]:
    """Return what each visible device of the machine supports; a GPU of unknown capability supports none."""
    return (*_of_nvidia(machine), *(item for one in machine.accelerators if one.visible for item in _of(one)))


def common_values(supports: tuple[DeviceSupport, ...]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return by namespace and feature the values that all devices support, the best first."""
    by_feature: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for item in supports:
        by_feature.setdefault((item.namespace, item.feature), []).append(item.values)
    return {
        feature: tuple(value for value in first if all(value in other for other in others))
        for feature, (first, *others) in by_feature.items()
    }


def forced_values(machine: Machine) -> tuple[ForcedValue, ...]:
    """Return the variables for uv where its own choice, the highest of all GPUs, would be wrong."""
    known = [gpu.compute_capability for gpu in machine.gpus if gpu.compute_capability]
    visible = [gpu.compute_capability for gpu in machine.visible_gpus if gpu.compute_capability]
    if not visible or max(known) == min(visible):
        return ()
    highest, lowest = max(known), min(visible)
    if highest in visible:
        why = tr("uv would choose for {highest}; {lowest} must work too", highest=highest, lowest=lowest)
    else:
        why = tr("uv would choose for {highest}, which is hidden", highest=highest)
    return (ForcedValue(FORCE_SM_ARCH, str(lowest), why),)


def _of_nvidia(machine: Machine) -> Iterator[DeviceSupport]:
    cuda = machine.driver.cuda if machine.driver else None
    for gpu in machine.visible_gpus:
        name = gpu.name or str(gpu.compute_capability or gpu.index)
        lower, upper = _bounds(cuda)
        yield DeviceSupport(name, "nvidia", _LOWER, lower)
        yield DeviceSupport(name, "nvidia", _UPPER, upper)
        yield DeviceSupport(name, "nvidia", _SM, _sm_values(gpu.compute_capability))


def _bounds(cuda: CudaVersion | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the releases up to a driver's CUDA, and those above it, the newest first."""
    if cuda is None:
        return (), ()
    releases = [
        CudaVersion(major, minor) for major in reversed(_CUDA_MAJORS) for minor in reversed(_CUDA_MINORS)
    ]
    lower = (text for release in releases if release <= cuda for text in _written(release))
    upper = (text for release in releases if release > cuda for text in _written(release))
    return tuple(lower), tuple(upper)


def _written(release: CudaVersion) -> tuple[str, ...]:
    """A major version without a minor is its first release."""
    return (str(release), str(release.major)) if release.minor == 0 else (str(release),)


def _sm_values(capability: ComputeCapability | None) -> tuple[str, ...]:
    if capability is None or capability.major < _LEAST_MAJOR:
        return ()
    real = (f"{capability.major}{minor}_real" for minor in range(capability.minor, -1, -1))
    return (*real, f"{capability.major}0_virtual")


def _of(accelerator: Accelerator) -> Iterator[DeviceSupport]:
    architecture = (accelerator.architecture or "").lower()
    name = accelerator.name or architecture
    if accelerator.kind == "rocm" and architecture:
        yield DeviceSupport(name, "amd", "gfx_arch", (architecture,))
    if accelerator.kind == "xpu" and architecture:
        yield DeviceSupport(name, "intel", "device_ip", (architecture,))
    if accelerator.kind == "npu" and architecture:
        yield DeviceSupport(name, "ascend", "npu_type", (architecture.removeprefix("ascend"),))
