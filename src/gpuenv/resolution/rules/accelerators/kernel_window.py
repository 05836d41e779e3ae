"""Rule `driver` for ROCm: no release of ROCm that is known to fail on the machine's kernel driver.

What is merely not stated to be supported is told, not refused: windows of support end where a page was
written. https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html
"""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.resolution.accelerators.kernel_driver import window_of
from gpuenv.resolution.candidate import Candidate, Failure
from gpuenv.resolution.target import Target


def check(candidate: Candidate, target: Target, knowledge: Knowledge) -> tuple[Failure, ...]:
    """Return a failure for each machine whose driver the build's ROCm fails on."""
    release = ".".join(map(str, candidate.variant.release[:2]))
    failures = []
    for machine in target.machines:
        window = window_of(machine, knowledge)
        if window is None or release not in window.fails:
            continue
        detail = tr(
            "ROCm {rocm} fails on the amdgpu driver {driver} of {place}",
            rocm=release,
            driver=machine.amdgpu,
            place=target.machine_label,
        )
        source = f"{window.source}; {machine.source_of('amdgpu')}"
        failures.append(
            Failure(rule="driver", kind="old", subject=machine.amdgpu or "", detail=detail, source=source)
        )
    return tuple(failures)
