"""Failures of builds without code for a device."""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.rules.gpu_code import CodeFailure
from gpuenv.resolution.target_device import TargetDevice


def no_code(candidate: Candidate, device: TargetDevice, listed: str) -> CodeFailure:
    """Say what the build has code for, and for which device not."""
    facts = {"build": candidate.label, "gpu": device.label}
    return CodeFailure(
        kind="code",
        subject=device.accelerator.architecture or "",
        detail=tr("{build} has code for {list}, none of which runs on {gpu}", list=listed, **facts),
        source=f"{candidate.source}; {device.source}",
        **facts,
    )


def unknown_code(candidate: Candidate) -> CodeFailure:
    """Say that nobody knows what the build is compiled for."""
    build = candidate.label
    detail = tr("what {build} is compiled for is not in the matrix", build=build)
    return CodeFailure(kind="unknown", detail=detail, source=candidate.source, build=build)


def unknown_device(candidate: Candidate, device: TargetDevice) -> CodeFailure:
    """Say that the device's architecture is not known."""
    detail = tr("the architecture of {gpu} is not known", gpu=device.label)
    return CodeFailure(
        kind="device",
        subject=device.label,
        detail=detail,
        source=device.source,
        build=candidate.label,
        gpu=device.label,
    )
