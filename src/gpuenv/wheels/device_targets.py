"""For which chips a library was compiled for ROCm or XPU, read from its bytes as they come.

The list stands in two places:

1. in libtorch_python, what torch.cuda.get_arch_list() or torch.xpu.get_arch_list() returns: `gfx90a gfx942`;
2. for ROCm in the library with the kernels (`.hip_fatbin`): bundles of code objects, each for some chips,
   plain or packed. https://clang.llvm.org/docs/ClangOffloadBundler.html
"""

from __future__ import annotations

import re
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterable

from gpuenv.i18n.messages import tr

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

_GFX = rb"gfx[0-9]{1,2}[0-9a-f]{2}"
_GFX_LIST = re.compile(rb"(?<=\0)" + _GFX + rb"(?:[ ;]" + _GFX + rb")*(?=\0)")
_WORDS = re.compile(rb"(?<=\0)[a-z][a-z0-9]{1,4}(?:-[a-z]?[0-9]{0,3})?(?:[ ,][a-z][a-z0-9-]{1,7})+(?=\0)")
_LONGEST = 4096  # bytes that a list may have
_TARGET = re.compile(rb"amdgcn-amd-amdhsa-[^\0]{0,40}?-(" + _GFX + rb")")

_PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
_PACKED = b"CCOB"
_START = struct.Struct("<4sHH")  # magic, version, method
_SIZES = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_ZLIB, _ZSTD = 0, 1
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")  # where the code is, how long, how long its name is
_MOST_ENTRIES = 256
_HEAD = 64 << 10  # bytes of an unpacked bundle that hold all its names
_LONGEST_BUNDLE = 64 << 10  # bytes of a bundle, packed or not, that are waited for: its names come first
_ALIKE = 4  # bundles that must agree: some kernels are for few chips


def in_order(targets: Iterable[str]) -> tuple[str, ...]:
    """Sort targets as people write them: gfx908 < gfx90a < gfx1030."""
    return tuple(sorted(set(targets), key=lambda name: (len(name), name)))


def parse_bundle(data: bytes) -> tuple[str, ...]:
    """Read for which chips a plain bundle has code, from its magic on; ValueError where it is none.

    The names of its entries are `host-x86_64-unknown-linux--`, `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.
    """
    position = len(_PLAIN) + _COUNT.size
    if not data.startswith(_PLAIN) or len(data) < position:
        raise ValueError(tr("no bundle of code objects"))
    (count,) = _COUNT.unpack_from(data, len(_PLAIN))
    targets: list[str] = []
    for _ in range(min(count, _MOST_ENTRIES)):
        if len(data) < position + _ENTRY.size:
            raise ValueError(tr("no bundle of code objects"))
        _, _, length = _ENTRY.unpack_from(data, position)
        position += _ENTRY.size
        match = _TARGET.search(data[position : position + min(length, _LONGEST)])
        position += length
        if match:
            targets.append(match[1].decode())
    if not targets:
        raise ValueError(tr("no bundle of code objects"))
    return in_order(targets)


def parse_packed_bundle(data: bytes) -> tuple[str, ...]:
    """Read the same of a packed bundle, of which the beginning is enough; ValueError as above.

    `CCOB`, the version and the method (0 zlib, 1 zstd) as u16, sizes (version 1: unpacked, 2: file and
    unpacked, as u32; 3: the same as u64), a hash as u64, the data.
    """
    if len(data) < _START.size:
        raise ValueError(tr("no bundle of code objects"))
    _, version, method = _START.unpack_from(data)
    if version not in _SIZES or method not in (_ZLIB, _ZSTD):
        raise ValueError(tr("no bundle of code objects"))
    body = data[_START.size + _SIZES[version].size :]
    try:
        if method == _ZLIB:
            return parse_bundle(zlib.decompressobj().decompress(body, _HEAD))
        return parse_bundle(ZstdDecompressor().decompress(body, max_length=_HEAD))
    except (zlib.error, ZstdError, EOFError) as error:
        raise ValueError(tr("no bundle of code objects")) from error


class TargetList:
    """Finds the list that torch keeps in `libtorch_python`; of words that are no gfx two must be `known`."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self._known = frozenset(known)
        self._rest = b"\0"
        self._singles: set[tuple[str, ...]] = set()

    def feed(self, chunk: bytes) -> tuple[str, ...] | None:
        """Return the targets once the list is whole."""
        seen = self._rest + chunk
        for match in _GFX_LIST.finditer(seen):
            targets = in_order(re.split(r"[ ;]", match[0].decode()))
            if len(targets) > 1:
                return targets
            self._singles.add(targets)
        for match in _WORDS.finditer(seen) if self._known else ():
            words = re.split(r"[ ,]", match[0].decode())
            if len(self._known.intersection(words)) > 1:
                return tuple(dict.fromkeys(words))
        self._rest = seen[-_LONGEST:]
        return None

    def finish(self) -> tuple[str, ...] | None:
        """Return the one chip, where the library names only one."""
        return next(iter(self._singles)) if len(self._singles) == 1 else None


class BundleFinder:
    """Finds the bundles in the library that holds the kernels, and what most of them are for."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._seen: Counter[tuple[str, ...]] = Counter()

    def feed(self, chunk: bytes) -> tuple[str, ...] | None:
        """Return the targets as soon as enough bundles agree."""
        self._data += chunk
        while (start := self._next()) is not None:
            if len(self._data) - start < _LONGEST_BUNDLE:  # its names may not be here yet
                del self._data[:start]
                return None
            if found := self._read(start):
                return found
            del self._data[: start + len(_PACKED)]
        del self._data[: -len(_PLAIN)]
        return None

    def finish(self) -> tuple[str, ...] | None:
        """Return what most bundles of a library are for that was read to its end."""
        while (start := self._next()) is not None:
            if found := self._read(start):
                return found
            del self._data[: start + len(_PACKED)]
        return self._seen.most_common(1)[0][0] if self._seen else None

    def _next(self) -> int | None:
        starts = [start for magic in (_PLAIN, _PACKED) if (start := self._data.find(magic)) >= 0]
        return min(starts, default=None)

    def _read(self, start: int) -> tuple[str, ...] | None:
        data = bytes(self._data[start : start + _LONGEST_BUNDLE])
        try:
            targets = parse_bundle(data) if data.startswith(_PLAIN) else parse_packed_bundle(data)
        except ValueError:
            return None
        self._seen[targets] += 1
        return targets if self._seen[targets] >= _ALIKE else None
