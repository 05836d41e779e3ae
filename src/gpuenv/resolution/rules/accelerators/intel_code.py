"""Rule `kernels` for XPU: the build has code for the device ip of every GPU, or compiles it there.

Builds hold machine code for some devices and SPIR-V besides, which the driver compiles at first use.
"""

from __future__ import annotations

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.accelerator_facts import PlannableBuild
from gpuenv.knowledge.accelerators import AcceleratorArchitecture
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.rules.accelerators.device_code import no_code, unknown_code, unknown_device
from gpuenv.resolution.rules.gpu_code import CodeFailure
from gpuenv.resolution.target import Target


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[CodeFailure, ...]:
    """Return a failure for each kind of GPU that the build does not support."""
    build = candidate.accelerated
    if build is None or not target.devices:
        return ()
    if not build.targets:
        return (unknown_code(candidate),)
    failures = {}
    for device in target.devices:
        ip = device.accelerator.architecture
        known = knowledge.accelerators.architecture("xpu", ip)
        if known is None:
            failures[ip or ""] = unknown_device(candidate, device)
        elif not (has_machine_code(build, known) or is_compiled(build, known)):
            failures[known.architecture] = no_code(candidate, device, tr(", ").join(build.targets))
    return tuple(failures.values())


def has_machine_code(build: PlannableBuild, device: AcceleratorArchitecture) -> bool:
    """Whether the build has machine code that the device runs."""
    return not set(build.targets).isdisjoint(device.code)


def is_compiled(build: PlannableBuild, device: AcceleratorArchitecture) -> bool:
    """Whether the build supports the device by code that the driver compiles at first use."""
    since = device.compiled_since
    return since is not None and build.torch >= Version(since)
