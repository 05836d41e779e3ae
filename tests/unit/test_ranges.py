"""Ranges of versions against each other: what a request admits, and what is bad."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.knowledge.version_ranges import lies_apart, lies_within

RELEASES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
SPECIFIERS = st.lists(
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), RELEASES).map("".join)
    | st.tuples(st.sampled_from(["==", "!="]), RELEASES).map(lambda pair: f"{pair[0]}{pair[1]}.*"),
    max_size=2,
).map(lambda parts: SpecifierSet(",".join(parts)))
VERSIONS = [Version(f"{a}.{b}.{c}") for a in range(6) for b in range(6) for c in range(6)]


@pytest.mark.parametrize(
    ("asked", "bad", "within", "apart"),
    [
        ("==2.1", ">=2", True, False),
        (">=1.26", ">=2", False, False),
        ("", ">=2", False, False),
        ("", ">=0", True, False),
        ("<2", ">=2", False, True),
        ("==1.*", ">=2", False, True),
        ("~=8.3.0", "==8.3.*", True, False),
        ("==8.3.*", "==8.3.*", True, False),
        (">=8.3", "==8.3.*", False, False),
        ("==2.8.3", "==2.8.3.post1", False, True),
        ("==2.8.3.post1", "==2.8.3.post1", True, False),
        (">=1.13.3", "!=1.13.1", True, False),
        ("===whatever", ">=2", False, True),  # no version that can be compared
        (">3,<2", ">=0", False, True),  # nothing is admitted
    ],
)
def test_a_request_lies_within_what_is_bad_or_apart_from_it(
    asked: str, bad: str, within: bool, apart: bool
) -> None:
    assert lies_within(SpecifierSet(asked), SpecifierSet(bad)) is within
    assert lies_apart(SpecifierSet(asked), SpecifierSet(bad)) is apart


@given(SPECIFIERS, SPECIFIERS)
def test_no_version_contradicts_what_is_told(asked: SpecifierSet, bad: SpecifierSet) -> None:
    admitted = [version for version in VERSIONS if asked.contains(version)]
    if lies_within(asked, bad):
        assert all(bad.contains(version) for version in admitted)
    if lies_apart(asked, bad):
        assert not any(bad.contains(version) for version in admitted)
