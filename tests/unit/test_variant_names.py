"""A variant's name tells its kind and its release, and variants are sorted by both."""

from __future__ import annotations

import pytest

from gpuenv.model.variant import Variant, parse_variant


@pytest.mark.parametrize(
    ("name", "kind", "release"),
    [
        ("cu126", "cuda", (12, 6)),
        ("cu92", "cuda", (9, 2)),
        ("rocm6.4", "rocm", (6, 4)),
        ("rocm4.0.1", "rocm", (4, 0, 1)),
        ("rocm7.14.0", "rocm", (7, 14, 0)),
        ("xpu", "xpu", ()),
        ("npu", "npu", ()),
        ("mps", "mps", ()),
        ("cpu", "cpu", ()),
        ("rocm714", None, ()),
        ("rocm7", None, ()),
        ("rocm\u0667.\u0662", None, ()),
        ("cpu.cxx11.abi", None, ()),
        ("cuda", None, ()),
        ("", None, ()),
    ],
)
def test_a_name_tells_kind_and_release(name: str, kind: str | None, release: tuple[int, ...]) -> None:
    variant = Variant(name)
    assert (variant.kind, variant.release) == (kind, release)
    assert variant.is_known == (kind is not None)
    assert variant.is_cuda_or_cpu == (kind in ("cuda", "cpu"))


def test_releases_are_sorted_as_numbers() -> None:
    names = ["cpu", "cu92", "cu118", "cu130", "rocm5.7", "rocm7.2", "rocm7.14", "rocm7.15", "rocm10.0", "xpu"]
    mixed = [Variant(name) for name in names]
    assert [str(variant) for variant in sorted(mixed[1::2] + mixed[::2])] == names
    assert Variant("rocm10.0") > Variant("rocm7.15")


@pytest.mark.parametrize(
    ("text", "name"),
    [(" 12.6 ", "cu126"), ("CU118", "cu118"), ("rocm6.4", "rocm6.4"), ("ROCm7.14.0", "rocm7.14.0"),
     ("xpu", "xpu"), ("npu", "npu"), ("mps", "mps"), ("cpu", "cpu")],
)  # fmt: skip
def test_what_people_write_is_read(text: str, name: str) -> None:
    assert parse_variant(text) == Variant(name)


@pytest.mark.parametrize("text", ["rocm", "rocm64", "hip6.4", "gpu", "cuda", "", "rocm6.4.1.2", "rocm 6.4"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid CUDA version or variant"):
        parse_variant(text)
