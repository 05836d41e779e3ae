"""Which release of Jetson Linux (L4T) of those known says what there is on a board."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

from gpuenv.knowledge.accelerators import JetsonRelease


def newest_until(l4t: str, releases: Iterable[JetsonRelease]) -> JetsonRelease | None:
    """Return a release of L4T, one that is not listed as the newest before it; else one of its major."""
    there = Version(l4t)
    rows = [row for row in releases if row.l4t]
    older = [row for row in rows if Version(row.l4t or "") <= there]
    same = [row for row in rows if Version(row.l4t or "").major == there.major]
    return max(older or same, key=lambda row: Version(row.l4t or ""), default=None)
