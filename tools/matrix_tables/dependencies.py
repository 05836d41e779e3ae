"""dependencies.json: what builds of torch depend on, and how large wheels are.

PyPI's wheels were read (tools/read_dependencies.py). A build of the PyTorch index asks for what PyPI's
of the same release does, with the libraries of its own CUDA: as PyPI's nearest build for that CUDA pins them,
else as torch's release matrix does (toolkits.toml), and with the cuDNN that torch.json tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.knowledge.dependencies import is_cuda_library
from gpuenv.matrix_checks.serialise import sort_rows
from gpuenv.model.variant import parse_cuda_version
from matrix_tables.facts import DATA, Row, read_toml
from matrix_tables.wheel_read import load_rows

_SUFFIX = re.compile(r"-cu\d+$")
# versions of a release of torch, whatever its CUDA
_OF_RELEASE = ("nvidia-nccl", "nvidia-cusparselt", "nvidia-nvshmem")


def build_dependencies(builds: list[Row], directory: Path) -> list[Row]:
    """Return the rows of dependencies.json for the builds of torch.json."""
    read = load_rows(directory / "dependencies.json")
    answer = read_toml(DATA / "toolkits.toml")
    made = (_made(row, read, answer) for row in builds if row["index"] == "pytorch")
    return [dict(row) for row in sort_rows("dependencies", (*read, *filter(None, made)))]


def pins_of_toolkits(builds: Iterable[Row]) -> list[str]:
    """Return the pins that no METADATA on PyPI has: of other CUDA releases, and of other cuDNN."""
    answer = read_toml(DATA / "toolkits.toml")
    pins = {pin for toolkit in answer["toolkit"] for pin in toolkit["requires"]}
    pins |= {_cudnn(row) for row in builds if row["cudnn"] and Version(row["torch"]) >= Version("1.13")}
    return sorted(pins)


def _made(row: Row, read: list[Row], answer: Row) -> Row | None:
    """Return the row of a build of the PyTorch index; None where too little is known of its release."""
    same = _nearest(row, (item for item in read if _is_build(item) and item["platform"] == row["platform"]))
    if same is None:
        return None
    plain = [text for text in same["requires"] if not is_cuda_library(text)]
    libraries, source = _libraries(row, same, read, answer)
    alike = same["torch"] == row["torch"] and same["variant"] == row["variant"]
    whole = alike and sorted((*plain, *libraries)) == same["requires"]
    return {
        "kind": "build",
        "torch": row["torch"],
        "variant": row["variant"],
        "platform": row["platform"],
        "index": row["index"],
        "requires": sorted((*plain, *libraries)),
        "size": same["size"] if whole else None,
        "installed": same["installed"] if whole else None,
        "source": "; ".join(dict.fromkeys((f"PyPI's torch {same['torch']} ({same['variant']})", *source))),
        "evidence": "assumed",
    }


def _libraries(row: Row, same: Row, read: list[Row], answer: Row) -> tuple[list[str], tuple[str, ...]]:
    """Return the libraries that a build asks for, and where that is known from."""
    release, linux = Version(row["torch"]), row["platform"] != "win-64"
    triton = [f"triton{row['triton']}"] if row["triton"] and linux else []
    if row["cuda"] is None or not linux:
        return [], ()
    bundled = answer["bundled"]
    for name in ("pytorch", row["platform"]):
        if name in bundled and release < Version(bundled[name]):
            return triton, (bundled[f"{name}_source"],)
    if same["torch"] == row["torch"] and same["variant"] == row["variant"]:
        return [text for text in same["requires"] if is_cuda_library(text)], ()
    base, source = _toolkit(row, read, answer)
    of_release = {_plain(text): text for text in same["requires"] if same["torch"] == row["torch"]}
    pins = [
        _with_cudnn(_as_released(text, of_release), row) for text in base if not text.startswith("triton")
    ]
    return [*pins, *_since_then(pins, of_release, row), *triton], (source, "torch.json")


def _since_then(pins: list[str], of_release: dict[str, str], row: Row) -> Iterator[str]:
    """Return what builds of this release ask for whatever their CUDA, and the older one did not yet."""
    major = parse_cuda_version(row["cuda"]).major
    there = set(map(_plain, pins))
    for name in (*_OF_RELEASE, "cuda-bindings"):
        if name in of_release and name not in there and pins:
            own = f"-cu{major}{Requirement(of_release[name]).specifier}"
            yield f"cuda-bindings<{major + 1}" if name == "cuda-bindings" else name + own


def _toolkit(row: Row, read: list[Row], answer: Row) -> tuple[list[str], str]:
    like = (
        item
        for item in read
        if _is_build(item) and item["variant"] == row["variant"]
        and any(map(is_cuda_library, item["requires"]))
    )  # fmt: skip
    near = _nearest(row, like)
    if near is not None:
        pins = [text for text in near["requires"] if is_cuda_library(text)]
        return pins, f"PyPI's torch {near['torch']} ({near['variant']})"
    for toolkit in answer["toolkit"]:
        if toolkit["cuda"] == row["cuda"]:
            return [*toolkit["requires"], _cudnn(row)], toolkit["source"]
    return [], "no pins are known"


def _as_released(text: str, of_release: dict[str, str]) -> str:
    """Return a pin with the version that the release has for another CUDA, where that is the release's."""
    other = of_release.get(_plain(text))
    if other is None or _plain(text) not in _OF_RELEASE:
        return text
    return f"{Requirement(text).name}{Requirement(other).specifier}"


def _with_cudnn(text: str, row: Row) -> str:
    return _cudnn(row) if text.startswith("nvidia-cudnn") and row["cudnn"] else text


def _cudnn(row: Row) -> str:
    return f"nvidia-cudnn-cu{parse_cuda_version(row['cuda']).major}=={row['cudnn']}"


def _plain(text: str) -> str:
    return _SUFFIX.sub("", Requirement(text).name)


def _is_build(row: Row) -> bool:
    return bool(row["kind"] == "build")


def _nearest(row: Row, rows: Iterable[Row]) -> Row | None:
    return min(rows, key=lambda item: _distance(item["torch"], row["torch"]), default=None)


def _distance(item: str, other: str) -> tuple[int, ...]:
    return tuple(_differences(Version(item).release, Version(other).release))


def _differences(number: tuple[int, ...], other: tuple[int, ...]) -> Iterator[int]:
    for left, right in zip(number, other, strict=False):
        yield abs(left - right)
