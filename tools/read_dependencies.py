"""Read what PyPI's builds of torch depend on, and how large all that is: `python tools/read_dependencies.py`.

A few ranged requests a wheel: its directory, which tells how large it is unpacked, and its METADATA. The rows
go to tools/matrix_tables/pypi/dependencies.json; what stands there is not read again. gpuenv must be
importable: installed, or PYTHONPATH=src.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from itertools import chain
from typing import Any

from matrix_tables.dependencies import pins_of_toolkits
from matrix_tables.wheel_read import READ
from packaging.utils import canonicalize_name

from gpuenv import matrices
from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.pool import in_turns
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.matrix.dependency_rows import build_row, sizes_of
from gpuenv.matrix.read_wheel import read_metadata
from gpuenv.matrix.refresh_dependencies import BESIDE, open_any, read_dependencies
from gpuenv.matrix.refresh_rows import cite
from gpuenv.matrix_checks.refresh_targets import WheelTarget, find_targets
from gpuenv.matrix_checks.serialise import merge_rows, render_table
from gpuenv.model.index import IndexSource
from gpuenv.wheels.archive import WheelProblem

_PATH = READ / "dependencies.json"
_AT_A_TIME = 4
_LIMIT_S = 120.0
_BESIDE = (*BESIDE, "torchvision", "torchaudio")

Row = dict[str, Any]


def main() -> int:
    """Read what is not yet known; return the exit status."""
    index = default_index(os.environ)
    if index is None:
        print("error: neither uv nor pip tells where PyPI is", file=sys.stderr)
        return 4
    sources = (IndexSource("pypi", index, "this tool", "pypi"),)
    date = datetime.now(timezone.utc).date().isoformat()
    known = tuple(_known())
    with HttpClient(dict(os.environ)) as client:
        (listing,) = read_listings(sources, (canonicalize_name("torch"),), client)
        if listing.problem:
            print(f"error: {listing.page} {listing.problem}", file=sys.stderr)
            return 4
        builds = tuple(_builds(find_targets((listing,), (), (), reread=False), known, client, date))
        asking = (*known, *builds, *_beside())
        files = tuple(chain(*read_dependencies(asking, known, sources, client, date)))
    rows = merge_rows("dependencies", known, (*builds, *files))
    _PATH.write_text(render_table(rows, dense=True), encoding="utf-8", newline="\n")
    print(f"dependencies: {len(rows)} rows, {len(builds) + len(files)} of them new")
    return 0


def _known() -> list[Row]:
    try:
        rows: list[Row] = json.loads(_PATH.read_text(encoding="utf-8"))["rows"]
    except FileNotFoundError:
        return []
    return rows


def _beside() -> Iterator[Row]:
    """What no build on PyPI asks for: what stands beside torch, and the libraries of other CUDA releases."""
    for platform in ("linux-64", "linux-aarch64", "win-64"):
        yield {"platform": platform, "requires": list(_BESIDE)}
    for platform in ("linux-64", "linux-aarch64"):
        yield {"platform": platform, "requires": pins_of_toolkits(matrices.load("torch"))}


def _builds(
    targets: tuple[WheelTarget, ...], known: tuple[Row, ...], client: HttpClient, date: str
) -> Iterator[Row]:
    there = {(row["torch"], row["platform"]) for row in known if row["kind"] == "build"}
    variants = {
        (row["torch"], row["platform"]): row["variant"]
        for row in matrices.load("torch")
        if row["index"] == "pypi"
    }
    wanted = [
        target for target in targets if (str(target.version), target.platform) in variants.keys() - there
    ]
    jobs: list[Callable[[], Row | None]] = [
        partial(_read, target, variants[str(target.version), target.platform], client, date)
        for target in wanted
    ]
    for position, answer in in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=_LIMIT_S):
        if answer is None or isinstance(answer, HttpProblem):
            print(f"left out: {wanted[position].file.filename}: {answer}")
        else:
            yield answer


def _read(target: WheelTarget, variant: str, client: HttpClient, date: str) -> Row | None:
    try:
        with open_any(target.file.url, client, target.file.size) as archive:
            metadata, _ = read_metadata(archive)
            sizes = sizes_of(archive)
    except WheelProblem as problem:
        raise HttpProblem(problem.reason) from None
    if metadata is None:
        return None
    torch = {"variant": variant, "source": cite(target, date)}
    return dict(build_row(target, torch, metadata, sizes))


if __name__ == "__main__":
    sys.exit(main())
