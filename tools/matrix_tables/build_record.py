"""What a companion's build leaves in its wheel: the torch, the CUDA and the GPUs that it was built for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from gpuenv.model.capability import Architecture, parse_compute_capability
from gpuenv.model.variant import CudaVersion


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """The torch release and CUDA that a companion was built with, and what its code was compiled for."""

    torch: Version  # public
    cuda: CudaVersion
    architectures: tuple[Architecture, ...]


def parse_build_record(text: str) -> BuildRecord:
    """Read `xformers/cpp_lib.json`; raise ValueError where it tells no CUDA, torch or list of GPUs.

    {"version": {"cuda": 1208, "torch": "2.8.0+cu128", "python": "3.9.23"},
     "env": {"TORCH_CUDA_ARCH_LIST": "7.5 8.0+PTX 9.0a"}}
    """
    try:
        read: Any = json.loads(text)
        version, listed = read["version"], read["env"]["TORCH_CUDA_ARCH_LIST"]
        cuda = CudaVersion(*divmod(_number(version["cuda"]), 100))
        torch = Version(Version(version["torch"]).public)
        architectures = tuple(dict.fromkeys(_architectures(listed)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"does not tell what it was built with: {error}") from None
    if not architectures:
        raise ValueError("does not tell which GPUs it was built for")
    return BuildRecord(torch, cuda, architectures)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"`{value}` is no CUDA version such as 1208")
    return value


def _architectures(listed: str) -> Iterator[Architecture]:
    """Read `7.5 8.0+PTX 9.0a`: machine code for each, PTX too where it says so."""
    for word in listed.replace(";", " ").split():
        capability, _, extra = word.partition("+")
        bound = capability.endswith("a")
        where = parse_compute_capability(capability.removesuffix("a"))
        yield Architecture("sm", where, "a" if bound else "")
        if extra == "PTX":
            yield Architecture("compute", where, "a" if bound else "")
