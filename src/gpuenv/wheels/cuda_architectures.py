"""For which GPUs a library was compiled, read from its bytes as they come.

The list stands in three places, each nearer to the truth and further into the wheel:

1. in libtorch_python, since 1.6, what `torch.cuda.get_arch_list()` returns: `sm_75 sm_80 compute_80`;
2. in the library with the kernels, since 1.1, nvcc's flags: `-gencode;arch=compute_37,code=sm_37;…`;
3. in the same library, the code itself: fat binaries, each of machine code and PTX for some architectures.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol, TypeVar

from gpuenv.i18n.messages import tr
from gpuenv.model.capability import Architecture, parse_architecture

_Found_co = TypeVar("_Found_co", covariant=True)
_ONE = rb"(?:sm|compute)_\d{2,3}[af]?"
_LIST = re.compile(rb"(?<=\0)" + _ONE + rb"(?: " + _ONE + rb")+(?=\0)")
_SINGLE = re.compile(rb"(?<=\0)sm_\d{2,3}[af]?(?=\0)")
_GENCODE = re.compile(rb"-gencode;arch=[\w,=;\[\]-]+(?=[^\w,=;\[\]-])")
_CODE = re.compile(rb"code=\[?((?:(?:sm|compute)_\d{2,3}[af]?,?)+)\]?")
_LONGEST = 4096  # bytes; the flags of a build for every GPU there is have 600

_MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<4sHHQ")  # magic, version, bytes of the header, bytes of the entries
_ENTRY = struct.Struct("<HHIQ12xI")  # kind, -, bytes of the header, bytes of the code, …, capability
_KINDS = {1: "compute", 2: "sm"}
_LARGEST_FATBIN = 64 << 20
_ALIKE = 4  # code objects that must agree: one might be of a library linked in


class Finder(Protocol[_Found_co]):
    """Reads a library in chunks, however it is cut."""

    def feed(self, chunk: bytes) -> _Found_co | None:
        """Return what the library was compiled for as soon as it is known."""

    def finish(self) -> _Found_co | None:
        """Return what is to be made of a library that was read to its end."""


def parse_flags(text: str) -> tuple[Architecture, ...]:
    """Parse `sm_75 sm_80 compute_120`: machine code first, each kind by capability; ValueError for others."""
    return _sorted(parse_architecture(word) for word in text.split())


def parse_gencode(text: str) -> tuple[Architecture, ...]:
    """Parse nvcc's flags: `-gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_37,code=compute_37`."""
    values = _CODE.findall(text.encode())
    return _sorted(
        parse_architecture(word.decode()) for codes in values for word in codes.split(b",") if word
    )


def parse_fatbin(data: bytes) -> tuple[Architecture, ...]:
    """Read which code a fat binary holds, from its header on; ValueError where it does not hold together."""
    if len(data) < _HEADER.size:
        raise ValueError(tr("no fat binary"))
    _, _, header, size = _HEADER.unpack_from(data)
    position, end = header, min(header + size, len(data))
    architectures: list[Architecture] = []
    while position + _ENTRY.size <= end:
        kind, _, own, code, capability = _ENTRY.unpack_from(data, position)
        if kind not in _KINDS or own < _ENTRY.size or position + own + code > end:
            raise ValueError(tr("no fat binary"))
        architectures.append(parse_architecture(f"{_KINDS[kind]}_{capability}"))
        position += own + code
    if not architectures:
        raise ValueError(tr("no fat binary"))
    return _sorted(architectures)


def _sorted(architectures: Iterable[Architecture]) -> tuple[Architecture, ...]:
    return tuple(
        sorted(
            set(architectures),
            key=lambda architecture: (
                architecture.kind != "sm",
                architecture.capability,
                architecture.suffix,
            ),
        )
    )


class FlagFinder:
    """Finds the list that torch keeps in `libtorch_python`.

    A build for a single GPU has one word there, which any string of the library could be: it counts only
    where the whole library has no list and no other such word.
    """

    def __init__(self) -> None:
        self._rest = b"\0"
        self._singles: set[bytes] = set()

    def feed(self, chunk: bytes) -> tuple[Architecture, ...] | None:
        """Return the architectures once the list is whole."""
        seen = self._rest + chunk
        match = _LIST.search(seen)
        if match:
            return parse_flags(match[0].decode())
        self._singles.update(_SINGLE.findall(seen))
        self._rest = seen[-_LONGEST:]
        return None

    def finish(self) -> tuple[Architecture, ...] | None:
        """Return the one word, if there is only one."""
        return parse_flags(next(iter(self._singles)).decode()) if len(self._singles) == 1 else None


class CodeFinder:
    """Finds nvcc's flags in the library that holds the kernels, else the kernels themselves."""

    def __init__(self) -> None:
        self._rest = b""
        self._fatbin: bytearray | None = None
        self._seen: list[tuple[Architecture, ...]] = []

    def feed(self, chunk: bytes) -> tuple[Architecture, ...] | None:
        """Return the architectures that the flags name, or that the first fat binaries agree on."""
        if self._fatbin is not None:
            self._fatbin += chunk
            return self._take()
        seen = self._rest + chunk
        match = _GENCODE.search(seen)
        if match and (named := parse_gencode(match[0].decode("ascii", errors="replace"))):
            return named
        start = seen.find(_MAGIC)
        if start >= 0:
            self._fatbin = bytearray(seen[start:])
            return self._take()
        self._rest = seen[-_LONGEST:]
        return None

    def finish(self) -> tuple[Architecture, ...] | None:
        """Return what all fat binaries agree on, where there are fewer than are asked for."""
        return self._seen[0] if self._seen and len(set(self._seen)) == 1 else None

    def _take(self) -> tuple[Architecture, ...] | None:
        """Read the fat binaries that are whole; those that are none are stepped over."""
        data = self._fatbin
        while data is not None and len(data) >= _HEADER.size:
            _, _, header, size = _HEADER.unpack_from(data)
            if header == _HEADER.size and size <= _LARGEST_FATBIN:
                if len(data) < header + size:
                    return None
                self._keep(bytes(data[: header + size]))
                if len(self._seen) >= _ALIKE:
                    return self._seen[0] if len(set(self._seen)) == 1 else None
            start = data.find(_MAGIC, len(_MAGIC))
            if start < 0:
                self._rest, self._fatbin = bytes(data[-_LONGEST:]), None
                return None
            del data[:start]
        return None

    def _keep(self, fatbin: bytes) -> None:
        with suppress(ValueError):
            self._seen.append(parse_fatbin(fatbin))
