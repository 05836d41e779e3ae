"""Releases of CPython: how old each is, and which of them uv brings to a machine.

Packages follow a new Python with months of delay, so that one released less than a year ago is planned only
where nothing else is.
"""

from __future__ import annotations

from datetime import date, timedelta

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.knowledge.records import Row
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import Platform

_MATURE_AFTER = timedelta(days=365)


class PythonRelease(Struct, frozen=True):
    """A MAJOR.MINOR of CPython: its first final release, and the platforms that uv brings it to."""

    offer: PythonOffer
    released: date
    platforms: tuple[Platform, ...]


def parse_python_release(row: Row) -> PythonRelease:
    """Read `{"version": "3.12", "released": "2023-10-02", "uv": ["linux-64"], …}`."""
    released = date.fromisoformat(row["released"])
    return PythonRelease(PythonOffer(row["version"]), released, tuple(row["uv"]))


def with_ages(
    offers: tuple[PythonOffer, ...], releases: tuple[PythonRelease, ...], today: date
) -> tuple[PythonOffer, ...]:
    """Mark the offers as recent whose release is less than a year old, or not yet known."""
    recent = {release.offer.minor for release in releases if release.released + _MATURE_AFTER > today}
    newest = max((release.offer.minor for release in releases), default=(3, 99))
    return tuple(replace(offer, recent=offer.minor in recent or offer.minor > newest) for offer in offers)


def brought_by_uv(releases: tuple[PythonRelease, ...], platform: Platform) -> tuple[PythonOffer, ...]:
    """Return the Pythons that uv brings to a machine of a platform, newest first."""
    there = (release.offer for release in releases if platform in release.platforms)
    return tuple(sorted(there, key=lambda offer: offer.minor, reverse=True))
