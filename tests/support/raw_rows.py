"""Whether a build runs on a GPU under a driver, said in a few lines from the raw rows of the matrices.

Written without looking at the rules, to hold their answers against.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv import matrices

CUDA_ROWS = matrices.load("cuda")


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


@cache
def floor(cuda: str, system: str) -> tuple[int, ...]:
    family = [
        row[system]
        for row in CUDA_ROWS
        if row["kind"] == "family" and str(row["major"]) == cuda.split(".", maxsplit=1)[0]
    ]
    release = [
        row[system] for row in CUDA_ROWS if row["kind"] == "release" and row["cuda"] == cuda and row[system]
    ]
    own = [max(release, key=version)] if release else []
    return min(version(text) for text in [*family, *own] if text)


@cache
def newest_cuda(branch: int, system: str) -> tuple[int, ...]:
    return max(
        version(row["cuda"])
        for row in CUDA_ROWS
        if row["kind"] == "branch" and row["os"] == system and row["branch"] <= branch
    )


@cache
def integrated(capability: str) -> str | None:
    rows = [
        row for row in CUDA_ROWS if row["kind"] == "integrated" and row["compute_capability"] == capability
    ]
    return (rows[0]["until_cuda"] or "99.9") if rows else None


@cache
def generation_began(major: str) -> tuple[int, ...]:
    return min(
        version(row["first_cuda"])
        for row in CUDA_ROWS
        if row["kind"] == "architecture"
        and any(cc.split(".")[0] == major for cc in row["compute_capabilities"])
    )


def executes(code: str, gpu: str, cuda: str) -> bool:
    kind, _, number = code.partition("_")
    suffix, digits = number.lstrip("0123456789"), number.rstrip("af")
    built, there = (int(digits[:-1]), int(digits[-1])), version(gpu)
    if kind == "compute":
        return built == there if suffix == "a" else built <= there and (suffix != "f" or built[0] == there[0])
    if built == there or suffix == "a":
        return built == there
    alone = integrated(f"{built[0]}.{built[1]}") or version(integrated(gpu) or "0.0") > version(cuda)
    return not alone and built[0] == there[0] and built[1] <= there[1]


@cache
def bundled(torch: str, cuda: str) -> str | None:
    values = [
        entry["version"]
        for entry in matrices.load("libraries")
        if entry["kind"] == "bundled" and (entry["torch"], entry["cuda"]) == (torch, cuda)
    ]
    return values[0] if values else None


def libraries_serve(row: dict[str, Any], gpu: str, gpus: int) -> bool:
    cuda = row["cuda"]
    own = row["cudnn"] or bundled(row["torch"], cuda)
    floors = [
        version(entry["min_compute_capability"])
        for entry in matrices.load("libraries")
        if entry["kind"] == "floor" and gpus >= entry["least_gpus"] and row["platform"] in entry["platforms"]
        if (release := cuda if entry["counts"] == "cuda" else own)
        and Version(entry["from"]) <= Version(release)
        if entry["cuda"] is None or SpecifierSet(entry["cuda"]).contains(cuda)
    ]
    return version(gpu) >= max(floors, default=(0,))


def serves(row: dict[str, Any], stated: str, system: str) -> bool:
    """On Arm, drivers of a branch are numbered otherwise: of the floor's own branch the CUDA counts."""
    least, driver, cuda = floor(row["cuda"], system), version(stated), version(row["cuda"])
    branch_does = driver[0] == least[0] and newest_cuda(driver[0], system)[0] >= cuda[0]
    return driver >= least or (row["platform"] == "linux-aarch64" and branch_does)


def runs(row: dict[str, Any], gpu: str, stated: str, system: str, gpus: int = 1) -> bool:
    cuda = row["cuda"]
    major = gpu.partition(".")[0]
    if not serves(row, stated, system) or version(cuda) < generation_began(major):
        return False
    native = newest_cuda(version(stated)[0], system) >= version(cuda)
    codes = [code for code in row["architectures"] if executes(code, gpu, cuda)]
    return libraries_serve(row, gpu, gpus) and any(code.startswith("sm") or native for code in codes)
