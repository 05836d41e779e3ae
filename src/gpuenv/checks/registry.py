"""All checks that look at findings, in order of dependence: what comes first explains what comes after."""

from __future__ import annotations

from gpuenv.checks import (
    accelerators,
    build,
    container,
    driver,
    hardware,
    installation,
    libraries,
    packages,
    running,
)
from gpuenv.checks.outcome import Check

_SUBJECTS = (
    hardware,
    container,
    driver,
    accelerators,
    installation,
    build,
    libraries,
    packages,
    running,
)

CHECKS = tuple(var for subject in _SUBJECTS for var in vars(subject).values() if isinstance(var, Check))
