"""The name of the index that a URL is on, and whether it is a mirror."""

from __future__ import annotations

from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import host_of, mirror_at
from gpuenv.planning.options import PlanOptions

_OFFICIAL = "official"


def label_of(url: str, mirrors: Mirrors) -> str:
    """Return the name of the mirror that a URL is on, of others the host."""
    mirror = mirror_at(url, mirrors.all)
    return mirror.name if mirror else host_of(url) or url


def is_mirror(url: str, options: PlanOptions, mirrors: Mirrors) -> bool:
    """Whether an index is a mirror: a known one, or one that `--mirror` names by its URL."""
    mirror = mirror_at(url, mirrors.all)
    if mirror is not None:
        return mirror.kind != _OFFICIAL
    return host_of(url) in {host_of(named) for named in options.mirrors if "://" in named}
