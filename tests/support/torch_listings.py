"""What indexes list of torch, for tests of a refresh."""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name

from gpuenv.indexes.link import Link
from gpuenv.indexes.wheel_files import parse_wheel_link
from gpuenv.matrix_checks.refresh_targets import WheelTarget, find_targets, parse_only
from gpuenv.model.index import IndexSource, Listing

DIGEST = "ab" * 32


def listing(
    *names: str, yanked: tuple[str, ...] = (), page: str = "https://pypi.example.com/simple/torch/"
) -> Listing:
    files = tuple(
        parse_wheel_link(Link(f"https://files.example.com/{name}", name, DIGEST, yanked=name in yanked), page)
        for name in (*names, *yanked)
    )
    project = canonicalize_name((*names, *yanked)[0].partition("-")[0])
    return Listing(IndexSource("pypi", "https://pypi.example.com/simple", "test"), project, files, page)


def find(
    *listings: Listing, only: tuple[str, ...] = (), known: tuple[Any, ...] = (), reread: bool = False
) -> tuple[WheelTarget, ...]:
    return find_targets(listings, parse_only(only), known, reread=reread)


def torch(version: str, python: str = "cp312", tag: str = "manylinux_2_28_x86_64") -> str:
    return f"torch-{version}-{python.rstrip('t')}-{python}-{tag}.whl"
