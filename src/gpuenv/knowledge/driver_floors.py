"""The drivers that releases and families of CUDA need, by rows of cuda.json."""

from __future__ import annotations

from collections.abc import Iterable

from gpuenv.knowledge.records import DriverFloor, DriverOs, Row, as_cuda_version, parse_driver_floors
from gpuenv.model.variant import CudaVersion


def release_floors(rows: Iterable[Row]) -> dict[tuple[CudaVersion, DriverOs], DriverFloor]:
    """Return the floor of each release on each system: the strictest of its updates'."""
    floors: dict[tuple[CudaVersion, DriverOs], DriverFloor] = {}
    for row in rows:
        for os, floor in parse_driver_floors(row):
            key = (as_cuda_version(row["cuda"]), os)
            if key not in floors or floors[key].version < floor.version:
                floors[key] = floor
    return floors


def family_floors(rows: Iterable[Row]) -> dict[tuple[int, DriverOs], DriverFloor]:
    """Return the floor of each major version on each system."""
    return {(row["major"], os): floor for row in rows for os, floor in parse_driver_floors(row)}


def driver_branches(rows: Iterable[Row]) -> dict[str, list[tuple[int, CudaVersion]]]:
    """Return the branches of each system's drivers, oldest first, with the newest CUDA of each."""
    branches: dict[str, list[tuple[int, CudaVersion]]] = {}
    for row in sorted(rows, key=lambda row: int(row["branch"])):
        branches.setdefault(row["os"], []).append((row["branch"], as_cuda_version(row["cuda"])))
    return branches
