"""Read what xformers' wheels on PyPI were built with: `python tools/read_xformers.py`.

Its METADATA names no CUDA and no GPU; `xformers/cpp_lib.json`, which its build leaves in the wheel, does. A
few ranged requests a wheel; the rows go to tools/matrix_tables/pypi/xformers.json. gpuenv must be
importable: installed, or PYTHONPATH=src.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from matrix_tables.build_record import parse_build_record
from matrix_tables.wheel_read import READ
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.http import HttpClient
from gpuenv.http.ranges import ByteRanges
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.matrix_checks.refresh_targets import platform_of
from gpuenv.matrix_checks.serialise import render_table
from gpuenv.model.index import IndexSource
from gpuenv.model.wheel import WheelFile
from gpuenv.wheels.archive import WheelProblem, open_wheel

_MEMBER = "xformers/cpp_lib.json"
_SMALL = 1 << 20  # bytes; the member has 1 kB


def main() -> int:
    """Read one wheel of each release and platform; return the exit status."""
    index = default_index(os.environ)
    if index is None:
        print("error: neither uv nor pip tells where PyPI is", file=sys.stderr)
        return 4
    source = IndexSource("pypi", index, "this tool", "pypi")
    with HttpClient(dict(os.environ)) as client:
        (listing,) = read_listings((source,), (canonicalize_name("xformers"),), client)
        if listing.problem:
            print(f"error: {listing.page} {listing.problem}", file=sys.stderr)
            return 4
        rows = sorted(_read_all(_speakers(listing.files), client), key=_order)
    (READ / "xformers.json").write_text(render_table(rows), encoding="utf-8", newline="\n")
    print(f"xformers: {len(rows)} rows")
    return 0


def _speakers(files: Iterable[WheelFile]) -> dict[tuple[Version, str], WheelFile]:
    """One wheel of each release and platform: they differ by Python alone."""
    wheel_files: dict[tuple[Version, str], WheelFile] = {}
    for file in files:
        platform = platform_of(file)
        if platform and not file.version.is_prerelease:
            wheel_files[file.version, platform] = file
    return wheel_files


def _read_all(speakers: dict[tuple[Version, str], WheelFile], client: HttpClient) -> Iterator[dict[str, Any]]:
    date = datetime.now(timezone.utc).date().isoformat()
    for (version, platform), file in speakers.items():
        try:
            with open_wheel(ByteRanges(client, file.url), whole=True) as archive:
                record = parse_build_record(archive.read(_MEMBER, limit=_SMALL).decode("utf-8"))
        except (WheelProblem, ValueError) as problem:
            print(f"left out: {file.filename}: {problem}")
            continue
        yield {
            "project": "xformers",
            "version": str(version),
            "platform": platform,
            "torch": str(record.torch),
            "cuda": str(record.cuda),
            "architectures": list(map(str, record.architectures)),
            "source": f"{_MEMBER} in wheel {file.filename} on PyPI ({date}), sha256 {file.sha256}",
        }


def _order(row: dict[str, Any]) -> Any:
    return Version(row["version"]), row["platform"]


if __name__ == "__main__":
    sys.exit(main())
