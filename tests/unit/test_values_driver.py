"""A driver's version: ordered as versions are, written as NVIDIA writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import InvalidVersion, Version

from gpuenv.model.machine import DriverVersion

TEXTS = st.lists(st.integers(0, 999).map("{:02d}".format), min_size=1, max_size=4).map(".".join)


@given(TEXTS)
def test_it_is_written_as_it_was_given(text: str) -> None:
    assert str(DriverVersion(text)) == f"{DriverVersion(text)}" == text


@given(TEXTS, TEXTS)
def test_it_is_ordered_and_hashed_as_a_version_is(one: str, other: str) -> None:
    assert (DriverVersion(one) < DriverVersion(other)) == (Version(one) < Version(other))
    assert (DriverVersion(one) == Version(other)) == (Version(one) == Version(other))
    assert hash(DriverVersion(one)) == hash(Version(one))


def test_zeros_that_stand_in_front_do_not_count() -> None:
    assert DriverVersion("580.65.06") == DriverVersion("580.65.6") < DriverVersion("580.65.10")


@pytest.mark.parametrize("text", ["", "N/A", "535..1", "[Unknown Error]"])
def test_what_is_no_version_raises(text: str) -> None:
    with pytest.raises(InvalidVersion):
        DriverVersion(text)
