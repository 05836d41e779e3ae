"""What a person calls the place that an address lies on, and whether it is a mirror."""

from __future__ import annotations

from urllib.parse import urlsplit

from gpuenv.core.mirror_names import mirror_of_url
from gpuenv.values.mirror import Mirror
from gpuenv.workflow.mirrors import Mirrors
from gpuenv.workflow.options import PlanOptions

_OFFICIAL = "official"


def label_of(url: str, mirrors: Mirrors) -> str:
    """Return the name of the mirror that an address lies on, of others the host."""
    mirror = mirror_at(url, mirrors)
    return mirror.name if mirror else _host(url) or url


def is_mirror(url: str, options: PlanOptions, mirrors: Mirrors) -> bool:
    """Tell whether an index is a mirror: a known one, or one that `--mirror` names by its address."""
    mirror = mirror_at(url, mirrors)
    if mirror is not None:
        return mirror.kind != _OFFICIAL
    return _host(url) in {_host(named) for named in options.mirrors if "://" in named}


def mirror_at(url: str, mirrors: Mirrors) -> Mirror | None:
    """Return the mirror that an address lies on, also where it is a host of that mirror's files."""
    found = mirror_of_url(url, mirrors.all)
    return found or next((one for one in mirrors.all if _host(url) in _file_hosts(one)), None)


def _file_hosts(mirror: Mirror) -> tuple[str, ...]:
    parts = (mirror.pypi, mirror.torch)
    return tuple(host for part in parts if part for host in part.files)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
