"""AMD's kernel driver and the releases of ROCm that it is stated to support."""

from __future__ import annotations

from gpuenv.knowledge.accelerator_facts import Release, parse_release
from gpuenv.knowledge.accelerators import DriverWindow
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.machine import Machine
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.target import Target

# Windows that end before it are closed: support is for two minor releases either way. Later ones end where
# their page was written. https://github.com/ROCm/rocm-install-on-linux user/kernel-space compatibility
_OPEN_FROM = (6, 4)


def window_of(machine: Machine, knowledge: Knowledge) -> DriverWindow | None:
    """Return what is stated of the machine's driver, None where it is not known.

    A package between two that the matrix names is taken for the older of them.
    """
    if machine.amdgpu is None:
        return None
    try:
        there = parse_release(machine.amdgpu)
    except ValueError:
        return None
    windows = knowledge.accelerators.windows
    older = [module for module in windows if module[:2] == there[:2] and module <= there]
    alike = [module for module in windows if module[:2] == there[:2]]
    return windows[max(older)] if older else windows[min(alike)] if alike else None


def is_stated(candidate: Candidate, target: Target, knowledge: Knowledge) -> bool:
    """Whether the drivers of all machines are stated to support the build's ROCm, or not known."""
    if candidate.variant.kind != "rocm":
        return True
    windows = (window_of(machine, knowledge) for machine in target.machines)
    return all(window is None or supports(window, candidate.variant.release) for window in windows)


def supports(window: DriverWindow, release: Release) -> bool:
    """Whether a window states a release of ROCm, or one so new that its page could not."""
    stated = stated_releases(window)
    newest = max(stated)
    return release[:2] in stated or (newest >= _OPEN_FROM and release[:2] > newest)


def stated_releases(window: DriverWindow) -> tuple[Release, ...]:
    """The releases of ROCm, MAJOR.MINOR, that a driver is stated to support."""
    return tuple(parse_release(text)[:2] for text in window.rocm)
