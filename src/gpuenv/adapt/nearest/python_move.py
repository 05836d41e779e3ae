"""How far a Python is from the one that a project declares."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from gpuenv.model.python import PythonOffer
from gpuenv.resolution.release_distance import named_releases
from gpuenv.resolution.rules.python import admitted

UNMOVED = (0, 0)
_OTHER_PATCH = (0, 1)  # nearer than any other minor release: packages are built for a minor one
_MINORS = 50  # of Python 3: more than there are


def python_move(python: PythonOffer, wanted: SpecifierSet | None) -> tuple[int, int]:
    """Return how many minor releases the Python moves; of two equally far the newer is nearer.

    Another patch release of the minor one that is asked for is the nearest move.
    """
    if wanted is None or admitted((python,), wanted):
        return UNMOVED
    offers = [PythonOffer(f"3.{minor}") for minor in range(_MINORS)]
    anchors = [offer.minor for offer in offers if admitted((offer,), wanted)]
    anchors = anchors or [(version.major, version.minor) for version in named_releases(wanted)]
    if python.minor in anchors:
        return _OTHER_PATCH
    major, minor = python.minor
    far = min((abs((major - other[0]) * _MINORS + minor - other[1]) for other in anchors), default=1)
    return far, -minor


def keeps_minor(python: PythonOffer, wanted: SpecifierSet | None) -> bool:
    """Whether a Python is of a minor release that is asked for, whatever its patch release."""
    return python_move(python, wanted) in (UNMOVED, _OTHER_PATCH)
