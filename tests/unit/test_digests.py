"""What is known of a file outvotes a page, and no mirror's word counts for another's file."""

from __future__ import annotations

from building import listing
from hypothesis import given
from hypothesis import strategies as st
from published import wheel

from gpuenv.model.index import IndexSource, Listing
from gpuenv.resolution.digests import (
    Contradiction,
    need_known_digests,
    warn_of_contradictions,
    with_known_digests,
)

LOCAL = "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
PLAIN = "torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl"
A, B, C = "a" * 64, "b" * 64, "c" * 64


def page(*files: tuple[str, str | None], kind: str = "pytorch") -> Listing:
    return listing(*(wheel(name, sha256=digest) for name, digest in files), kind=kind)


def nobody(_: IndexSource) -> bool:
    return False


def settled(*pages: Listing, known: dict[str, str] | None = None) -> list[str | None]:
    return digests(with_known_digests(pages, known or {}, nobody)[0])


def digests(listings: tuple[Listing, ...]) -> list[str | None]:
    return [file.sha256 for item in listings for file in item.files]


def test_a_digest_that_is_known_helps_a_page_that_tells_none() -> None:
    assert settled(page((LOCAL, None)), known={LOCAL: A}) == [A]


def test_a_mirror_s_word_never_counts_for_another_s_file() -> None:
    assert settled(page((LOCAL, None)), page((LOCAL, B))) == [None, B]
    assert settled(page((LOCAL, A)), page((LOCAL, B))) == [A, B]


def test_a_page_that_contradicts_what_is_known_is_passed_over_and_named() -> None:
    good, bad = page((LOCAL, A)), page((LOCAL, B), (LOCAL.replace("cp312", "cp313"), B))
    left, contradictions = with_known_digests((bad, good), {LOCAL: A}, nobody)
    assert digests(left) == [B, A]
    assert contradictions == (Contradiction(bad.source, LOCAL),)
    (warning,) = warn_of_contradictions(contradictions)
    assert warning.code == "digest-contradicted"
    assert LOCAL in warning.message
    assert (bad.source.name or bad.source.url) in warning.message


def test_a_digest_in_capitals_is_the_same() -> None:
    assert settled(page((LOCAL, A.upper())), known={LOCAL: A}) == [A.upper()]


def test_the_official_index_knows_better_than_what_ships() -> None:
    official, mirror = page((LOCAL, B)), page((LOCAL, C))

    def is_official(source: IndexSource) -> bool:
        return source is official.source

    left, contradictions = with_known_digests((official, mirror), {LOCAL: A}, is_official)
    assert digests(left) == [B]
    assert [contradiction.source for contradiction in contradictions] == [mirror.source]


@given(st.data())
def test_where_no_known_digest_is_needed_none_changes_anything(data: st.DataObject) -> None:
    """For other pages than the official index's own, from which the known digests are."""
    names = st.sampled_from((LOCAL, PLAIN))
    pages = tuple(
        page(*data.draw(st.lists(st.tuples(names, st.sampled_from((None, A, B))), max_size=3)), kind=kind)
        for kind in ("pytorch", "pypi")
    )
    official = data.draw(st.sampled_from(("pytorch", "pypi", "none")))
    others = tuple(item for item in pages if item.source.kind != official)
    if not need_known_digests(pages, lambda source: source.kind == official):
        assert with_known_digests(others, {LOCAL: C, PLAIN: C}, nobody) == (others, ())


def test_files_of_one_name_that_may_differ_tell_nothing_of_each_other() -> None:
    # PyPI's build and an old build of the PyTorch index had the same name and other bytes
    assert settled(page((PLAIN, None)), page((PLAIN, A), kind="pypi"), known={PLAIN: B}) == [None, A]


NAMES = st.sampled_from([LOCAL, LOCAL.replace("126", "118"), PLAIN])
DIGESTS = st.none() | st.sampled_from([A, B])
PAGES = st.lists(st.lists(st.tuples(NAMES, DIGESTS), max_size=4).map(lambda files: page(*files)), max_size=3)


@given(PAGES.map(tuple), st.dictionaries(NAMES, st.sampled_from([A, B])))
def test_each_file_is_kept_helped_out_or_named(pages: tuple[Listing, ...], known: dict[str, str]) -> None:
    left, contradictions = with_known_digests(pages, known, nobody)
    assert with_known_digests(left, known, nobody) == (left, ())
    assert sum(len(pair.files) for pair in pages) == sum(len(pair.files) for pair in left) + len(
        contradictions
    )
    for item in left:
        for file in item.files:
            if file.version.local is not None and file.filename in known:
                assert file.sha256 == known[file.filename]
