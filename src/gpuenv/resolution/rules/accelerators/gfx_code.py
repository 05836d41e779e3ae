"""Rule `kernels` for ROCm: the build has code for the gfx of every GPU.

Code objects run on the very gfx that they were made for: there is nothing like PTX in torch's wheels.
https://llvm.org/docs/AMDGPUUsage.html#processors
"""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.rules.accelerators.device_code import no_code, unknown_code, unknown_device
from gpuenv.resolution.rules.gpu_code import CodeFailure
from gpuenv.resolution.target import Target


def check(candidate: Candidate, target: Target, _knowledge: Knowledge) -> tuple[CodeFailure, ...]:
    """Return a failure for each kind of GPU whose gfx is not in the build's list."""
    build = candidate.accelerated
    if build is None or not target.devices:
        return ()
    if not build.targets:
        return (unknown_code(candidate),)
    failures = {}
    for device in target.devices:
        gfx = device.accelerator.architecture
        if gfx is None:
            failures[""] = unknown_device(candidate, device)
        elif gfx not in build.targets:
            failures[gfx] = no_code(candidate, device, tr(", ").join(build.targets))
    return tuple(failures.values())
