"""Which requirements count, Python by Python: those without a marker, and those whose marker holds."""

from __future__ import annotations

from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.model.python import PythonOffer
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.request import STACK, Request
from gpuenv.resolution.rules.python import full_version
from gpuenv.resolution.target import Target

Part = tuple[Request, tuple[PythonOffer, ...]]


def by_python(request: Request, target: Target, offers: tuple[PythonOffer, ...]) -> tuple[Part, ...]:
    """Return the request as it counts for each of the Pythons, those alike together, in their order.

    Only the torch stack matters here: other requirements keep their markers for the installer.
    """
    if not offers or not any(_is_conditional(item) for item in request.requirements):
        return ((request, offers),)
    parts: dict[tuple[Requirement, ...], list[PythonOffer]] = {}
    for offer in offers:
        environment = marker_environment(target.platform, str(full_version(offer)))
        kept = tuple(item for item in request.requirements if _counts(item, environment))
        parts.setdefault(kept, []).append(offer)
    return tuple((replace(request, requirements=kept), tuple(alike)) for kept, alike in parts.items())


def _is_conditional(requirement: Requirement) -> bool:
    return requirement.marker is not None and canonicalize_name(requirement.name) in STACK


def _counts(requirement: Requirement, environment: dict[str, str]) -> bool:
    if not _is_conditional(requirement) or requirement.marker is None:
        return True
    return requirement.marker.evaluate(environment)
