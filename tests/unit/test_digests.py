"""Digests that a page leaves out are taken from where the very same file is known, and from nowhere else."""

from __future__ import annotations

from building import listing
from hypothesis import given
from hypothesis import strategies as st
from published import wheel

from gpuenv.core.digests import lacks_digests, with_digests
from gpuenv.values.index import Listing

LOCAL = "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
PLAIN = "torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl"
A, B = "a" * 64, "b" * 64


def page(*files: tuple[str, str | None], kind: str = "pytorch") -> Listing:
    return listing(*(wheel(name, sha256=digest) for name, digest in files), kind=kind)


def digests(listings: tuple[Listing, ...]) -> list[str | None]:
    return [file.sha256 for one in listings for file in one.files]


def test_a_page_without_digests_is_told_only_for_files_with_a_local_version() -> None:
    assert lacks_digests((page((LOCAL, A)), page((LOCAL, None))))
    assert not lacks_digests((page((LOCAL, A)), page((PLAIN, None))))
    assert not lacks_digests(())


def test_a_digest_that_another_page_tells_holds() -> None:
    assert digests(with_digests((page((LOCAL, None)), page((LOCAL, A))), {})) == [A, A]
    assert digests(with_digests((page((LOCAL, A)), page((LOCAL, None))), {})) == [A, A]


def test_a_digest_that_is_known_holds_where_no_page_tells_one() -> None:
    assert digests(with_digests((page((LOCAL, None)),), {LOCAL: A})) == [A]
    assert digests(with_digests((page((LOCAL, None)), page((LOCAL, B))), {LOCAL: A})) == [B, B]


def test_what_a_page_says_itself_is_never_changed() -> None:
    pages = (page((LOCAL, A)), page((LOCAL, B)))
    assert with_digests(pages, {LOCAL: "c" * 64}) == pages


def test_files_of_one_name_that_may_differ_get_no_digest_from_each_other() -> None:
    # PyPI's build and an old build of the PyTorch index had the same name and other bytes
    assert digests(with_digests((page((PLAIN, None)), page((PLAIN, A), kind="pypi")), {PLAIN: A})) == [
        None,
        A,
    ]


def test_a_file_that_nobody_knows_stays_without() -> None:
    other = LOCAL.replace("cp312", "cp313")
    assert digests(with_digests((page((LOCAL, None), (other, A)),), {})) == [None, A]


NAMES = st.sampled_from([LOCAL, LOCAL.replace("126", "118"), PLAIN])
DIGESTS = st.none() | st.sampled_from([A, B])
PAGES = st.lists(st.lists(st.tuples(NAMES, DIGESTS), max_size=4).map(lambda files: page(*files)), max_size=3)


@given(PAGES.map(tuple), st.dictionaries(NAMES, st.sampled_from([A, B])))
def test_digests_are_added_once_and_nothing_else_changes(
    pages: tuple[Listing, ...], known: dict[str, str]
) -> None:
    filled = with_digests(pages, known)
    assert with_digests(filled, known) == filled
    assert [[file.filename for file in one.files] for one in filled] == [
        [file.filename for file in one.files] for one in pages
    ]
    for before, after in zip(digests(pages), digests(filled), strict=True):
        assert before is None or after == before
    if not lacks_digests(pages):
        assert filled == pages
