"""Local versions of wheels: read back whatever is written, and never more than they tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from gpuenv.model.variant import Variant
from gpuenv.resolution.rules.torch_bound import Binding, fits_cuda, parse_binding

VARIANTS = st.sampled_from(["cpu", "cu92", "cu102", "cu118", "cu126", "cu130"])
MINORS = st.tuples(st.integers(1, 9), st.integers(0, 99))


@given(MINORS, VARIANTS)
def test_a_local_version_of_pyg_tells_torch_and_variant(torch: tuple[int, int], variant: str) -> None:
    assert parse_binding(f"pt{torch[0]}{torch[1]}{variant}") == Binding(torch, variant)


@given(MINORS, st.sampled_from(["cu11", "cu12", "cu118", "cu130"]), st.sampled_from([None, True, False]))
def test_a_local_version_of_flash_attn_tells_torch_cuda_and_abi(
    torch: tuple[int, int], variant: str, cxx11: bool | None
) -> None:
    abi = "" if cxx11 is None else f"cxx11abi{str(cxx11).upper()}"
    version = Version(f"2.8.3+{variant}torch{torch[0]}.{torch[1]}{abi}")
    assert parse_binding(version.local or "") == Binding(torch, variant, cxx11)


@given(st.text())
def test_any_other_text_is_refused_or_tells_a_variant(text: str) -> None:
    try:
        binding = parse_binding(text)
    except ValueError:
        return
    assert binding.variant in text


@pytest.mark.parametrize(
    "text", ["", "cu", "cu1", "pt2", "pt211", "abc1234", "cu12torch2", "torch2.8", "rocm6.3"]
)
def test_what_tells_no_variant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="contains neither torch"):
        parse_binding(text)


@pytest.mark.parametrize(
    ("bound", "variant", "loose", "fits"),
    [
        ("cu126", "cu126", False, True),
        ("cu126", "cu128", False, False),
        ("cu123", "cu126", True, True),
        ("cu118", "cu126", True, False),
        ("cu12", "cu126", False, True),
        ("cu12", "cu130", True, False),
        ("cu92", "cu92", False, True),
        ("cpu", "cpu", False, True),
        ("cpu", "cu126", True, False),
        ("cu126", "cpu", True, False),
    ],
)
def test_a_cuda_fits_its_own_or_its_major(bound: str, variant: str, loose: bool, fits: bool) -> None:
    assert fits_cuda(bound, Variant(variant), loose=loose) is fits
