"""For which chips a library was compiled for ROCm or XPU: torch's list, bundles of code objects, extras."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from torch_wheels import bundle, library, packed_bundle

from gpuenv.wheels.device_targets import BundleFinder, TargetList, parse_bundle, parse_packed_bundle
from gpuenv.wheels.metadata import WheelMetadata, targets_of_extras

if sys.version_info >= (3, 14):
    from compression.zstd import compress
else:
    from backports.zstd import compress

CHIPS = ("gfx90a:xnack-", "gfx908", "gfx1030", "gfx1201")
IN_ORDER = ("gfx908", "gfx90a", "gfx1030", "gfx1201")
INTELS = ("pvc", "bmg", "dg2", "arl-h", "mtl-h", "lnl-m", "ptl-h", "ptl-u")


def fed(finder: TargetList | BundleFinder, data: bytes, size: int = 1 << 16) -> tuple[str, ...] | None:
    for start in range(0, len(data), size):
        if found := finder.feed(data[start : start + size]):
            return found
    return finder.finish()


def test_a_plain_bundle_tells_its_chips_in_order() -> None:
    """The host's entry and what follows a colon are no chips."""
    assert parse_bundle(bundle(*CHIPS)) == IN_ORDER


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_packed_bundle_tells_the_same(version: int) -> None:
    """Each version of the header, packed by zlib and by zstandard."""
    assert parse_packed_bundle(packed_bundle(*CHIPS, version=version)) == IN_ORDER
    body = compress(bundle(*CHIPS) + bytes(100_000))
    assert parse_packed_bundle(packed_bundle(*CHIPS, version=version, method=1, body=body)) == IN_ORDER


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"CCOB",
        bundle()[:20],
        bundle(*CHIPS)[:60],
        bundle(),
        packed_bundle(*CHIPS, method=2),
        packed_bundle(*CHIPS, body=b"no zlib"),
        packed_bundle(*CHIPS, method=1, body=b"no zstandard"),
        b"CCOB" + b"\xff" * 40,
    ],
)
def test_what_is_no_bundle_is_refused(data: bytes) -> None:
    """Cut off, of an unknown version or method, garbled, or with no code for a GPU."""
    with pytest.raises(ValueError, match="bundle"):
        parse_packed_bundle(data) if data.startswith(b"CCOB") else parse_bundle(data)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_bundle_or_refused(data: bytes) -> None:
    """No input ends otherwise."""
    with suppress(ValueError):
        assert parse_bundle(b"__CLANG_OFFLOAD_BUNDLE__" + data)
    with suppress(ValueError):
        assert parse_packed_bundle(b"CCOB" + data)


@pytest.mark.parametrize("size", [1 << 16, 1000, 37])
def test_the_list_of_torch_is_found_however_it_is_cut(size: int) -> None:
    """It stands between two zeros, in any order."""
    data = library("gfx900 gfx906 gfx90a gfx1100 gfx950")
    assert fed(TargetList(), data, size) == ("gfx900", "gfx906", "gfx90a", "gfx950", "gfx1100")


def test_one_chip_counts_where_there_is_no_other() -> None:
    """A build for one GPU has one word."""
    assert fed(TargetList(), library("gfx1151")) == ("gfx1151",)
    assert fed(TargetList(), library("gfx1151") + b"\0gfx1100\0") is None


@pytest.mark.parametrize("separator", [" ", ","])
def test_intels_list_is_known_by_its_names(separator: str) -> None:
    """Two of the words must be known; words of another list are not taken for it."""
    assert fed(TargetList(INTELS), library(separator.join([*INTELS[:6], "nvl-s"]))) == (*INTELS[:6], "nvl-s")
    assert fed(TargetList(INTELS), library("cpu cuda xla")) is None


@pytest.mark.parametrize("size", [1 << 16, 4096, 100])
def test_bundles_that_agree_tell_the_chips(size: int) -> None:
    """Four alike are believed; one for fewer chips, and what only looks like one, are not."""
    kernels = [bundle("gfx90a"), *[packed_bundle(*CHIPS)] * 4]
    data = b"CCOB\0".join([b"\x7fELF", *(item + bytes(70_000) for item in kernels)])
    assert fed(BundleFinder(), data, size) == IN_ORDER


def test_of_few_bundles_the_most_count() -> None:
    """A small library has two or three, at its end."""
    assert fed(BundleFinder(), bundle("gfx90a") + bytes(9) + bundle(*CHIPS) + bundle(*CHIPS)) == IN_ORDER
    assert fed(BundleFinder(), b"no code at all") is None


def test_extras_for_devices_are_chips() -> None:
    """AMD's index has the code in distributions of their own."""
    requires = (
        "filelock",
        'amd-torch-device-gfx1201==2.12.0+rocm7.14.0; extra == "device-gfx1201"',
        "amd-torch-device-gfx90a==2.12.0+rocm7.14.0; extra == 'device-gfx90a'",
        'amd-torch-device-gfx1201==2.12.0+rocm7.14.0; extra == "device-all"',
    )
    wheel = WheelMetadata("torch", Version("2.12.0"), requires, None)
    assert targets_of_extras(wheel) == ("gfx1201", "gfx90a")
