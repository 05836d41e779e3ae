"""libraries.json: what the libraries of builds support, and which release of them old builds bundle."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from gpuenv.model.variant import parse_cuda_version
from matrix_tables.facts import DATA, Facts, Row, UnusableFacts, read_toml

_TABLE = "conda_pytorch_channel.csv"
_SOURCE = "the conda build of the same release and CUDA, made by the same scripts"


def build_libraries(facts: Facts, builds: list[Row]) -> list[Row]:
    """Make the rows of libraries.json: floors, families, the cuDNN of builds (torch.json) that state none."""
    answer = read_toml(DATA / "libraries.toml")
    floors = [_floor(entry) for entry in answer["floor"]]
    families = [{"kind": "family", **entry, "evidence": "matrix"} for entry in answer["family"]]
    return [
        *sorted(floors, key=_floor_order),
        *sorted(families, key=lambda row: (row["library"], row["major"])),
        *sorted(_bundled(facts, builds), key=_bundled_order),
    ]


def _floor(entry: Row) -> Row:
    row: Row = {
        "kind": "floor",
        "library": entry["library"],
        "name": entry["name"],
        "counts": entry["counts"],
        "from": entry["from"],
        "cuda": entry.get("cuda"),
        "min_compute_capability": entry["min_compute_capability"],
        "least_gpus": entry.get("least_gpus", 1),
        "platforms": entry.get("platforms", ["linux-64", "linux-aarch64", "win-64"]),
        "confidence": entry["confidence"],
        "source": entry["source"],
        "evidence": "matrix",
    }
    return row | ({"note": entry["note"]} if "note" in entry else {})


def _bundled(facts: Facts, builds: list[Row]) -> list[Row]:
    """Make a row for each release and CUDA of which a build holds its cuDNN without stating it.

    Before 1.13 cuDNN is linked into torch's own libraries and no metadata names it; the conda builds do:
    `py3.7_cuda9.0.176_cudnn7.4.1_1`.
    """
    silent = {(row["torch"], row["cuda"]) for row in builds if row["cuda"] and not row["cudnn"]}
    strs: dict[tuple[str, str], set[str]] = {}
    for fact in facts.table(_TABLE):
        key = (str(Version(fact["version"])), _cuda(fact["cuda"]))
        if fact["cudnn"] and key in silent:
            strs.setdefault(key, set()).add(fact["cudnn"])
    for key, versions in strs.items():
        if len(versions) > 1:
            raise UnusableFacts(f"{_TABLE}: torch {' with CUDA '.join(key)} has cuDNN {sorted(versions)}")
    return [_bundled_row(*key, *versions) for key, versions in strs.items()]


def _cuda(text: str) -> str:
    return str(parse_cuda_version(text)) if text else ""


def _bundled_row(torch: str, cuda: str, version: str) -> Row:
    return {
        "kind": "bundled",
        "library": "cudnn",
        "torch": torch,
        "cuda": cuda,
        "version": version,
        "source": _SOURCE,
        "evidence": "assumed",
    }


def _floor_order(row: Row) -> Any:
    return row["library"], Version(row["from"]), row["cuda"] or ""


def _bundled_order(row: Row) -> Any:
    return Version(row["torch"]), Version(row["cuda"])
