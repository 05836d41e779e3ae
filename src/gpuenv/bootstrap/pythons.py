"""Which Pythons a bootstrap script brings."""

from __future__ import annotations

import re

from packaging.specifiers import SpecifierSet

from gpuenv.bootstrap.model import LockedWheel
from gpuenv.bootstrap.resolve import PLATFORMS
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.model.python import PythonOffer
from gpuenv.planning.conda.choose import conda_pythons
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.request import parse_python

_RELEASE = re.compile(r"(3\.\d+)(?:\.\d+)?")


def asked_python(options: PlanOptions) -> str | None:
    """Return the release that an environment of wheels asks for; a conda tool brings its own."""
    text = (options.python or "").strip()
    if not text or options.manager in CONDA_MANAGERS:
        return None
    match = _RELEASE.fullmatch(text)
    return match[1] if match else fitting_python(parse_python(text))


def fitting_python(specifiers: SpecifierSet) -> str | None:
    """Return the newest usual release that fits."""
    return next((offer.short for offer in _usual_pythons() if specifiers.contains(f"{offer.short}.99")), None)


def _usual_pythons() -> tuple[PythonOffer, ...]:
    return tuple(offer for offer in conda_pythons(PLATFORMS[0]) if not offer.free_threaded)


def pythons_to_bring(requested: tuple[str, ...], wheels: tuple[LockedWheel, ...]) -> tuple[str, ...]:
    """Return what is brought where there is no Python: what is asked for, and one that can run gpuenv."""
    can_run = {target.partition("/")[0] for wheel in wheels for target in wheel.targets}
    if can_run & set(requested):
        return requested
    usual = tuple(offer.short for offer in _usual_pythons())
    return (*requested, next((item for item in usual if item in can_run), usual[0]))
