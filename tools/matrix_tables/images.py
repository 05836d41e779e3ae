"""images.json: container images to start from, by Python, distribution and CUDA.

Their digests are in image_digests.json, which tools/image_digests.py brings up to date from the registries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from packaging.version import Version

from gpuenv.model.variant import parse_cuda_version
from matrix_tables.facts import DATA, Row, read_toml

DIGESTS = DATA / "image_digests.json"
_REGISTRY = "docker.io"
_PLATFORMS = ["linux-64", "linux-aarch64"]
_FLAVOURS = ("cuda-runtime", "cuda-devel")


def build_images(digests: Path = DIGESTS) -> list[Row]:
    """Make the rows of images.json: one a tag."""
    answer = read_toml(DATA / "images.toml")
    rows = [_slim(entry, python) for entry in answer["python"] for python in entry["pythons"]]
    rows += [
        _cuda(entry, release, flavour)
        for entry in answer["cuda"]
        for release in entry["releases"]
        for flavour in _FLAVOURS
    ]
    known = {entry["image"]: entry for entry in json.loads(digests.read_text(encoding="utf-8"))}
    return [_with_digest(row, known) for row in sorted(rows, key=_order)]


def image_of(row: Row) -> str:
    """Return the whole name of a row's image: `docker.io/library/python:3.12-slim-bookworm`."""
    return f"{row['registry']}/{row['repository']}:{row['tag']}"


def _with_digest(row: Row, digests: dict[str, Row]) -> Row:
    known = digests.get(image_of(row), {})
    row["digest"], row["digest_source"] = known.get("digest"), known.get("source")
    return row


def _slim(entry: Row, python: str) -> Row:
    return _row(entry, "slim", entry["tag"].format(python=python), python, None)


def _cuda(entry: Row, release: str, flavour: str) -> Row:
    tag = entry["tag"].format(release=release, flavour=flavour.removeprefix("cuda-"))
    return _row(entry, flavour, tag, entry["python"], release)


def _row(entry: Row, flavour: str, tag: str, python: str, release: str | None) -> Row:
    compiling = entry["compile_packages"] if flavour == "cuda-devel" else []
    row = {
        "registry": _REGISTRY,
        "repository": entry["repository"],
        "tag": tag,
        "digest": None,
        "digest_source": None,
        "flavour": flavour,
        "distribution": entry["distribution"],
        "glibc": entry["glibc"],
        "python": python,
        "cuda": str(parse_cuda_version(release)) if release else None,
        "release": release,
        "packages": entry.get("packages", []),
        "build_packages": [*entry.get("build_packages", []), *compiling],
        "platforms": _PLATFORMS,
        "source": entry["source"],
        "evidence": "matrix",
    }
    return row | ({"note": entry["note"]} if "note" in entry else {})


def _order(row: Row) -> Any:
    return row["flavour"] != "slim", Version(row["release"] or "0"), Version(row["python"]), row["tag"]
