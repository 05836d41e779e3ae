from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.verification.judge_code import find_code


@pytest.mark.parametrize(
    ("listed", "capability", "expected"),
    [
        ("sm_75 sm_80 sm_90", "8.6", "sm_80"),
        ("sm_80 sm_86 sm_90", "8.9", "sm_86"),
        ("sm_50 sm_60 sm_70", "6.1", "sm_60"),
        ("sm_50 sm_60 sm_70", "7.5", "sm_70"),
        ("sm_86", "8.0", None),  # never downwards
        ("sm_80", "9.0", None),  # never across majors
        ("sm_75 sm_80 sm_86 sm_90", "12.0", None),
        ("sm_80 compute_80", "8.6", "sm_80"),  # machine code before PTX
        ("sm_70 compute_70", "8.6", "compute_70"),
        ("compute_90", "8.6", None),
        ("sm_90a", "9.0", "sm_90a"),
        ("sm_100a", "10.3", None),
        ("sm_100f", "10.3", "sm_100f"),
        ("compute_100f", "12.0", None),
        ("compute_100a", "10.0", "compute_100a"),
        ("gfx90a gfx942", "9.0", None),
        ("", "9.0", None),
    ],
)
def test_the_nearest_code_that_runs_is_found(listed: str, capability: str, expected: str | None) -> None:
    result = find_code(tuple(listed.split()), parse_compute_capability(capability))
    assert (str(result) if result else None) == expected


@given(st.lists(st.text(max_size=12), max_size=8), st.integers(1, 20), st.integers(0, 9))
def test_any_text_may_stand_in_the_list(listed: list[str], major: int, minor: int) -> None:
    find_code(tuple(listed), ComputeCapability(major, minor))
