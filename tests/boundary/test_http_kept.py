"""Pages that are kept: used while they are fresh, asked for again after that, without a secret in them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from serving import Site, serve

from gpuenv.http import FetchLimits, HttpClient, HttpPage, HttpProblem, fetch_page
from gpuenv.http.forms import TEXT
from gpuenv.http.page_store import KeptPage, PageStore
from gpuenv.indexes.index_page import INDEX_PAGE
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.urls import guess_source
from gpuenv.model.index import Listing

ACCEPT = "text/html"
TORCH = canonicalize_name("torch")
WHEEL = "torch-2.14.1%2Bcu126-cp312-cp312-win_amd64.whl"
DIGEST = "0f" * 32
OTHER = "torch-2.15.0%2Bcu130-cp312-cp312-win_amd64.whl"


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


def a_client(cache: Path, *, offline: bool = False) -> HttpClient:
    limits = FetchLimits(connect_s=2, read_s=2, whole_s=5)
    return HttpClient({"GPUENV_CACHE_DIR": str(cache)}, offline=offline, limits=limits)


def links(*hrefs: str) -> str:
    return "<h1>Links for torch</h1>" + "".join(f'<a href="{href}">x</a>' for href in hrefs)


def listed(url: str, cache: Path, *, offline: bool = False) -> Listing:
    with a_client(cache, offline=offline) as client:
        (listing,) = read_listings((guess_source(f"{url}/simple", "test"),), (TORCH,), client)
    return listing


def kept(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


def test_an_unchanged_page_is_not_sent_again_and_lists_the_same(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", links(WHEEL, "torch-2.0-what.whl"), ETag='"1"')
    first, second = (listed(site.url, tmp_path) for _ in range(2))
    assert first == second
    assert len(first.files) == len(first.unparsed) == 1
    assert site.seen[1]["if-none-match"] == '"1"'


def test_a_304_makes_a_page_fresh_again(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", links(WHEEL), ETag='"1"')
    listed(site.url, tmp_path)
    site.page("/simple/torch/", links(WHEEL), ETag='"1"', Cache_Control="max-age=600")
    assert [len(listed(site.url, tmp_path).files) for _ in range(3)] == [1, 1, 1]
    assert len(site.asked) == 2


def test_a_304_that_asks_for_it_ends_the_keeping(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", links(WHEEL), ETag='"1"')
    listed(site.url, tmp_path)
    site.page("/simple/torch/", links(WHEEL), ETag='"1"', Cache_Control="no-store")
    assert len(listed(site.url, tmp_path).files) == 1
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    "validator", [{}, {"ETag": '"1"'}, {"Last_Modified": "Mon, 01 Jun 2026 00:00:00 GMT"}]
)
def test_nothing_is_kept_of_a_page_that_says_no_store(
    site: Site, tmp_path: Path, validator: dict[str, str]
) -> None:
    control = "no-cache,no-store,must-revalidate"
    site.page("/simple/torch/", links(WHEEL), Cache_Control=control, **validator)
    assert len(listed(site.url, tmp_path).files) == 1
    assert kept(tmp_path) == []
    assert listed(site.url, tmp_path, offline=True).problem == "is not in the cache"


def test_a_public_index_that_says_no_store_is_asked_each_time_and_there_offline(
    site: Site, tmp_path: Path
) -> None:
    source = replace(guess_source(f"{site.url}/simple", "test"), public=True)
    site.page("/simple/torch/", links(WHEEL), Cache_Control="max-age=600, no-store", ETag='"1"')
    for offline in (False, False, True):
        with a_client(tmp_path, offline=offline) as client:
            (listing,) = read_listings((source,), (TORCH,), client)
        assert len(listing.files) == 1
    assert ["if-none-match" in seen for seen in site.seen] == [False, True]


def test_a_page_that_was_kept_is_gone_once_it_says_no_store(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", links(WHEEL), ETag='"1"')
    listed(site.url, tmp_path)
    site.page("/simple/torch/", links(OTHER), ETag='"2"', Cache_Control="no-store")
    listed(site.url, tmp_path)
    assert kept(tmp_path) == []


def test_a_server_that_fails_does_not_cost_the_page_that_is_kept(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", links(WHEEL), ETag='"1"')
    listed(site.url, tmp_path)
    for status, body in ((500, ""), (200, "<h1>Log in to the Wi-Fi</h1>")):
        site.page("/simple/torch/", body, status=status)
        assert listed(site.url, tmp_path).problem
    assert len(listed(site.url, tmp_path, offline=True).files) == 1


def test_each_page_on_the_way_is_asked_for_by_its_own_state(site: Site, tmp_path: Path) -> None:
    """What a redirect leads to is another page: the state of the one that led there says nothing of it."""
    site.page("/simple/torch/", links(WHEEL), ETag='"same"')
    listed(site.url, tmp_path)
    site.page("/simple/torch/", status=302, Location="/new/torch/")
    site.page("/new/torch/", links(OTHER), ETag='"same"')
    assert [file.filename for file in listed(site.url, tmp_path).files] == [OTHER.replace("%2B", "+")]
    assert "if-none-match" not in site.seen[2]
    assert listed(site.url, tmp_path).read_at == f"{site.url}/new/torch/"
    assert site.seen[4]["if-none-match"] == '"same"'


def with_password(url: str, password: str) -> str:
    return url.replace("://", f"://ada:{password}@")


def test_passwords_stand_in_no_name_and_no_file(site: Site, tmp_path: Path) -> None:
    """The links of a page are those of who asks; whether another password opens it the server says."""
    site.page("/simple/torch/", links(WHEEL), ETag='"1"', Cache_Control="max-age=600")
    for password in ("sesame", "swordfish"):
        url = with_password(site.url, password)
        for offline in (False, True):
            (file,) = listed(url, tmp_path, offline=offline).files
            assert file.url == f"{url}/simple/torch/{WHEEL}"
    assert len(site.asked) == 2
    assert len(kept(tmp_path)) == 1
    everything = b"".join(str(path).encode() + path.read_bytes() for path in kept(tmp_path))
    assert not any(word in everything for word in (b"sesame", b"swordfish", b"ada:", b"ada@"))


def test_a_token_in_a_query_is_kept_nowhere(site: Site, tmp_path: Path) -> None:
    site.page("/x/?token=sesame", "hello", ETag='"1"')
    with a_client(tmp_path) as client:
        assert fetch_page(client, f"{site.url}/x/?token=sesame", ACCEPT).text == "hello"
    assert all(b"sesame" not in path.read_bytes() for path in kept(tmp_path))


def test_a_redirect_to_a_secret_address_leaves_no_secret(site: Site, tmp_path: Path) -> None:
    site.page("/simple/torch/", status=302, Location=with_password(site.url, "sesame") + "/private/torch/")
    site.page("/private/torch/", links(WHEEL), ETag='"1"')
    for _ in range(2):
        assert len(listed(site.url, tmp_path).files) == 1
    assert all(b"sesame" not in path.read_bytes() for path in kept(tmp_path))


def test_forms_and_kinds_of_a_page_are_kept_apart(site: Site, tmp_path: Path) -> None:
    def behaviour(request: BaseHTTPRequestHandler) -> None:
        body = request.headers["Accept"].encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    site.at("/x/", behaviour)
    for _ in range(2):
        with a_client(tmp_path) as client:
            assert fetch_page(client, f"{site.url}/x/", "text/html").text == "text/html"
            assert fetch_page(client, f"{site.url}/x/", "*/*").text == "*/*"
    assert len(site.asked) == 2


@pytest.mark.parametrize("shift", [-10_000.0, 601.0, 1e12])
def test_a_page_is_not_fresh_for_a_clock_that_was_set(shift: float) -> None:
    page = KeptPage("http://x/", 200, {}, 1e9, 600.0, b"")
    assert page.is_fresh(1e9 + 599)
    assert not page.is_fresh(1e9 + shift)


def a_page(content: bytes) -> KeptPage:
    return KeptPage("http://x/", 200, {}, 0.0, 0.0, content)


def test_who_reads_while_others_write_reads_a_whole_page(tmp_path: Path) -> None:
    store = PageStore(tmp_path / "pages")
    contents = [bytes([number]) * 200_000 for number in range(4)]
    writers = [
        threading.Thread(
            target=lambda mine=mine: [store.keep("http://x/", "", "f", a_page(mine)) for _ in range(20)]
        )
        for mine in contents
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        page = store.find("http://x/", "", "f")
        assert page is None or page.content in contents
    (file,) = kept(tmp_path)
    assert os.name == "nt" or file.stat().st_mode & 0o077 == 0


@given(position=st.integers(0, 150), change=st.integers(0, 255))
def test_a_file_that_was_changed_anywhere_is_as_none(position: int, change: int) -> None:
    """Changed in one byte, or cut off there."""
    with TemporaryDirectory() as folder:
        store = PageStore(Path(folder))
        store.keep("http://x/", "", "f", a_page(b"some content"))
        (file,) = kept(Path(folder))
        content = bytearray(file.read_bytes())
        position = min(position, len(content) - 1)
        if change:
            content[position] ^= change
        else:
            del content[position:]
        file.write_bytes(content)
        assert store.find("http://x/", "", "f") is None


@pytest.mark.skipif(os.name != "posix", reason="a device file")
def test_a_file_that_never_ends_is_as_none(tmp_path: Path) -> None:
    store = PageStore(tmp_path)
    store.keep("http://x/", "", "f", a_page(b""))
    (file,) = kept(tmp_path)
    file.unlink()
    file.symlink_to("/dev/zero")
    assert store.find("http://x/", "", "f") is None


_NAMES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        (WHEEL, OTHER, "../../f/torch-1.0-py3-none-any.whl", "torch-1.0.tar.gz#sha256=" + "0f" * 32)
    ),
)
_FILES = st.fixed_dictionaries(
    {"filename": _NAMES, "url": _NAMES},
    optional={
        "hashes": st.fixed_dictionaries({"sha256": st.sampled_from(("0f" * 32, "x"))}),
        "size": st.integers(-1, 1 << 70),
        "requires-python": st.text(max_size=8),
        "yanked": st.one_of(st.booleans(), st.text(max_size=3)),
    },
)


@given(st.one_of(
    st.lists(_NAMES, max_size=5).map(lambda hrefs: ("text/html", links(*hrefs))),
    st.lists(st.one_of(_FILES, st.integers()), max_size=5).map(
        lambda files: ("application/json", json.dumps({"meta": {"api-version": "1.0"}, "files": files}))
    ),
))  # fmt: skip
def test_what_is_kept_of_a_page_is_what_was_read_of_it(page: tuple[str, str]) -> None:
    kind, text = page
    url = "https://index.example.com/simple/torch/"
    read = INDEX_PAGE.read(HttpPage(url, text, kind))
    packed = INDEX_PAGE.pack(read)
    assert packed is not None
    assert INDEX_PAGE.unpack(packed, url) == read


@given(st.text(), st.text())
def test_what_is_kept_of_a_text_is_the_text(text: str, kind: str) -> None:
    page = HttpPage("https://x/", text, kind)
    packed = TEXT.pack(page)
    assert packed is not None
    assert TEXT.unpack(packed, page.url) == page


def test_a_page_that_is_missing_is_told_in_the_same_words_from_the_cache(site: Site, tmp_path: Path) -> None:
    reasons = set()
    for _ in range(2):
        with a_client(tmp_path) as client, pytest.raises(HttpProblem) as raised:
            fetch_page(client, f"{site.url}/gone/", ACCEPT)
        reasons.add((raised.value.reason, raised.value.status))
    assert reasons == {("answered 404", 404)}
    assert len(site.asked) == 1


def test_a_page_with_half_a_letter_is_kept_as_well() -> None:
    page = {"meta": {"api-version": "1.0"}, "files": [{"filename": "torch-\udcff.whl", "url": "x"}]}
    read = INDEX_PAGE.read(HttpPage("https://x/", json.dumps(page), "application/json"))
    packed = INDEX_PAGE.pack(read)
    assert packed is not None
    assert INDEX_PAGE.unpack(packed, "https://x/") == read
    assert read.unparsed == ("torch-\udcff.whl",)


def test_a_kept_page_of_another_form_has_another_name() -> None:
    """Whoever changes what is kept gives the form another number, so that older files are not read."""
    text = links(
        f"/whl/cu126/{WHEEL}#sha256={DIGEST}", "x/torch-1.0-py3-none-any.whl?a", "torch-2.0-what.whl"
    )
    packed = INDEX_PAGE.pack(INDEX_PAGE.read(HttpPage("https://x/torch/", text, "text/html")))
    assert (INDEX_PAGE.name, sha256(packed or b"").hexdigest()[:16]) == ("index page 2", "6f282149b2ec7bf4")
