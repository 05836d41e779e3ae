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
    found = _RELEASE.fullmatch(text)
    return found[1] if found else fitting_python(parse_python(text))


def fitting_python(asked: SpecifierSet) -> str | None:
    """Return the newest usual release that fits."""
    return next((one.short for one in _usual_pythons() if asked.contains(f"{one.short}.99")), None)


def _usual_pythons() -> tuple[PythonOffer, ...]:
    return tuple(one for one in conda_pythons(PLATFORMS[0]) if not one.free_threaded)


def pythons_to_bring(asked: tuple[str, ...], wheels: tuple[LockedWheel, ...]) -> tuple[str, ...]:
    """Return what is brought where there is no Python: what is asked for, and one that can run gpuenv."""
    can_run = {target.partition("/")[0] for wheel in wheels for target in wheel.targets}
    if can_run & set(asked):
        return asked
    usual = tuple(one.short for one in _usual_pythons())
    return (*asked, next((one for one in usual if one in can_run), usual[0]))
