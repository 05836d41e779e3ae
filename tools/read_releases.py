"""Read for which Pythons releases on PyPI have wheels of Linux: `python tools/read_releases.py`.

Of projects that papers pin beside torch and that are compiled for one Python; a page a project. The rows go
to tools/matrix_tables/pypi/releases.json. gpuenv must be importable: installed, or PYTHONPATH=src.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from matrix_tables.releases import PROJECTS
from matrix_tables.wheel_read import READ
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.http import HttpClient
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.matrix_checks.refresh_targets import platform_of
from gpuenv.matrix_checks.serialise import python_order, render_table
from gpuenv.model.index import IndexSource
from gpuenv.model.wheel import WheelFile

_NEWEST = 14  # minor release of Python 3 that abi3 wheels are listed up to


def main() -> int:
    """Read one page a project; return the exit status."""
    index = default_index(os.environ)
    if index is None:
        print("error: neither uv nor pip tells where PyPI is", file=sys.stderr)
        return 4
    source = IndexSource("pypi", index, "this tool", "pypi")
    rows: list[dict[str, Any]] = []
    with HttpClient(dict(os.environ)) as client:
        for listing in read_listings((source,), tuple(map(canonicalize_name, PROJECTS)), client):
            if listing.problem:
                print(f"error: {listing.page} {listing.problem}", file=sys.stderr)
                return 4
            rows += _rows(str(listing.project), listing.files)
    (READ / "releases.json").write_text(render_table(rows), encoding="utf-8", newline="\n")
    print(f"releases: {len(rows)} rows")
    return 0


def _rows(project: str, files: Iterable[WheelFile]) -> list[dict[str, Any]]:
    """Return a row for each set of Pythons that releases of a project have wheels for."""
    pythons: defaultdict[Version, set[str]] = defaultdict(set)
    for file in files:
        if platform_of(file) == "linux-64" and not file.version.is_prerelease and not file.yanked:
            pythons[file.version] |= {
                name for tag in file.tags for name in _pythons(tag.interpreter, tag.abi)
            }
    grouped: defaultdict[tuple[str, ...], list[Version]] = defaultdict(list)
    for version, names in pythons.items():
        if names:
            grouped[tuple(sorted(names, key=python_order))].append(version)
    date = datetime.now(timezone.utc).date().isoformat()
    return [
        {
            "kind": "pythons",
            "project": project,
            "pythons": list(names),
            "versions": [str(version) for version in sorted(versions)],
            "source": f"wheels of linux-64 on PyPI ({date})",
            "evidence": "wheel",
        }
        for names, versions in sorted(grouped.items(), key=lambda item: min(item[1]))
    ]


def _pythons(interpreter: str, abi: str) -> set[str]:
    """Return the Pythons of a tag: `cp38-cp38`, `cp36-abi3` (that one and later ones)."""
    if not interpreter.startswith("cp3") or abi.endswith("t"):
        return set()
    minor = int(interpreter.removeprefix("cp3") or 0)
    last = _NEWEST if abi == "abi3" else minor
    return {f"cp3{item}" for item in range(minor, last + 1)}


if __name__ == "__main__":
    sys.exit(main())
