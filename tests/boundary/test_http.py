"""HTTP: an address is read within its limits, kept on disk, and never fails in any other way than told."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from serving import Site, serve

from gpuenv.http import (
    FetchLimits,
    HttpClient,
    HttpProblem,
    fetch_page,
    fetch_size,
    fetch_sizes,
)
from gpuenv.model.access import Access
from gpuenv.process.surroundings import cache_root

ACCEPT = "text/html"
QUICK = FetchLimits(connect_s=0.5, read_s=0.3, whole_s=0.8, page_bytes=1 << 20, redirects=5)


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with a_client(tmp_path) as made:
        yield made


def a_client(cache: Path, *, offline: bool = False, limits: FetchLimits = QUICK) -> HttpClient:
    return HttpClient({"GPUENV_CACHE_DIR": str(cache)}, offline=offline, limits=limits)


def problem(client: HttpClient, url: str) -> HttpProblem:
    with pytest.raises(HttpProblem) as raised:
        fetch_page(client, url, ACCEPT)
    return raised.value


def cache_files(cache: Path) -> list[Path]:
    return [path for path in (cache / "pages").rglob("*") if path.is_file()]


def test_reads_a_page_and_names_itself(site: Site, client: HttpClient) -> None:
    site.page("/x/", "hello")
    page = fetch_page(client, f"{site.url}/x/", ACCEPT)
    assert (page.text, page.url) == ("hello", f"{site.url}/x/")
    assert page.content_type == "text/html"
    assert site.seen[0]["user-agent"].startswith("gpuenv/")
    assert site.seen[0]["accept"] == ACCEPT


@pytest.mark.parametrize(
    "validator",
    [
        {"ETag": '"1"'},
        {"Last_Modified": "Mon, 01 Jun 2026 00:00:00 GMT"},
        {"Last_Modified": "Mon, 01 Jun 2026 00:00:00 GMT", "Cache_Control": "no-cache"},
    ],
)
def test_a_kept_page_with_a_validator_is_revalidated(
    site: Site, tmp_path: Path, validator: dict[str, str]
) -> None:
    site.page("/x/", "hello", **validator)
    for _ in range(2):
        with a_client(tmp_path) as client:
            assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"
    assert len(site.asked) == 2
    assert "if-none-match" in site.seen[1] or "if-modified-since" in site.seen[1]


def test_a_changed_page_is_read_anew(site: Site, client: HttpClient) -> None:
    site.page("/x/", "old", ETag='"1"')
    fetch_page(client, f"{site.url}/x/", ACCEPT)
    site.page("/x/", "new", ETag='"2"')
    assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "new"
    assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "new"


@pytest.mark.parametrize("headers", [{"Cache_Control": "max-age=600", "ETag": '"1"'}, {}])
def test_a_fresh_page_is_not_asked_for_again(site: Site, tmp_path: Path, headers: dict[str, str]) -> None:
    """Also one that tells nothing of its age: it is kept for minutes."""
    site.page("/x/", "hello", **headers)
    for _ in range(3):
        with a_client(tmp_path) as client:
            assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"
    assert len(site.asked) == 1


def test_a_page_that_is_not_there_is_remembered_for_a_while(site: Site, client: HttpClient) -> None:
    assert problem(client, f"{site.url}/none/").missing
    assert problem(client, f"{site.url}/none/").reason == "answered 404"
    assert len(site.asked) == 1


def test_a_page_not_to_be_stored_is_not_kept_without_a_validator(
    site: Site, client: HttpClient, tmp_path: Path
) -> None:
    site.page("/x/", "hello", Cache_Control="no-store")
    fetch_page(client, f"{site.url}/x/", ACCEPT)
    assert cache_files(tmp_path) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Date": "yesterday"},
        {"Expires": "99 Foo 99999 99:99:99 GMT", "ETag": '"1"'},
        {"Expires": "-1"},
        {"Cache_Control": "max-age=banana"},
        {"Vary": "*"},
        {"Last_Modified": "no date", "Age": "x"},
    ],
)
def test_garbled_headers_do_no_harm(site: Site, client: HttpClient, headers: dict[str, str]) -> None:
    site.page("/x/", "hello", **headers)
    assert [fetch_page(client, f"{site.url}/x/", ACCEPT).text for _ in range(2)] == ["hello", "hello"]


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 5000, None])
def test_a_damaged_cache_entry_is_as_none(site: Site, tmp_path: Path, damage: bytes | None) -> None:
    site.page("/x/", "hello", Cache_Control="max-age=600")
    with a_client(tmp_path) as client:
        fetch_page(client, f"{site.url}/x/", ACCEPT)
        (entry,) = cache_files(tmp_path)
        content = entry.read_bytes()
        entry.write_bytes(content[: len(content) // 2] if damage is None else damage)
        assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"
    assert len(site.asked) == 2


def test_a_cache_that_cannot_be_written_does_no_harm(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    site.page("/x/", "hello", Content_Type="text/html")
    site.page("/f.whl", "12345")
    with a_client(tmp_path / "file") as client:
        assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"
        assert fetch_size(client, f"{site.url}/f.whl") == 5


def test_offline_reads_what_was_kept_however_old_and_asks_nothing(site: Site, tmp_path: Path) -> None:
    site.page("/x/", "hello", ETag='"1"')
    with a_client(tmp_path) as client:
        fetch_page(client, f"{site.url}/x/", ACCEPT)
    with a_client(tmp_path, offline=True) as client:
        assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"
        assert problem(client, f"{site.url}/y/").reason == "is not in the cache"
        assert fetch_size(client, f"{site.url}/f.whl") is None
    assert len(site.asked) == 1


def test_a_refused_port_says_so(client: HttpClient) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        assert (
            problem(client, f"http://127.0.0.1:{taken.getsockname()[1]}/").reason == "refused the connection"
        )


@pytest.mark.parametrize(
    "url", ["http://", "nonsense", "ftp://example.com/", "http://[::1", "http://a b/", "http://\x00/"]
)
def test_what_is_no_address_is_told(client: HttpClient, url: str) -> None:
    assert problem(client, url).reason


def test_a_name_that_does_not_resolve_is_told(client: HttpClient) -> None:
    assert problem(client, "http://does-not-exist.invalid/").reason == "could not resolve host"


def test_a_redirect_loop_ends(site: Site, client: HttpClient) -> None:
    site.page("/a/", status=302, Location="/b/")
    site.page("/b/", status=302, Location="/a/")
    assert problem(client, f"{site.url}/a/").reason == "redirected too often"
    assert len(site.asked) == 6


def test_a_permanent_redirect_is_not_kept(site: Site, client: HttpClient) -> None:
    """A captive portal's redirect would be followed for ever."""
    site.page("/a/", status=301, Location="/b/")
    site.page("/b/", "portal")
    assert fetch_page(client, f"{site.url}/a/", ACCEPT).url == f"{site.url}/b/"
    site.page("/a/", "index")
    assert fetch_page(client, f"{site.url}/a/", ACCEPT).text == "index"


@pytest.mark.parametrize("status", [401, 403, 410, 429, 451, 500, 503])
def test_an_error_status_is_told(site: Site, client: HttpClient, status: int) -> None:
    site.page("/x/", "<h1>sorry</h1>", status=status, Retry_After="3600")
    http_problem = problem(client, f"{site.url}/x/")
    assert (http_problem.reason, http_problem.status) == (f"answered {status}", status)


def test_a_server_that_fails_once_is_asked_again(site: Site, client: HttpClient) -> None:
    def first(request: BaseHTTPRequestHandler) -> None:
        site.page("/x/", "hello")
        request.send_error(503)

    site.at("/x/", first)
    assert fetch_page(client, f"{site.url}/x/", ACCEPT).text == "hello"


def test_a_server_that_says_nothing_costs_the_read_limit_once(site: Site, client: HttpClient) -> None:
    site.at("/x/", lambda _: site.closing.wait(10))
    assert problem(client, f"{site.url}/x/").reason == "timed out after 0.3 s"
    assert len(site.asked) == 1


def trickle(site: Site, start: bytes) -> None:
    def behaviour(request: BaseHTTPRequestHandler) -> None:
        request.close_connection = True
        request.wfile.write(start)
        while not site.closing.wait(0.05):
            request.wfile.write(b"a")

    site.at("/x/", behaviour)


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Long: "]
)
def test_a_server_that_trickles_is_left_when_the_time_is_up(
    site: Site, client: HttpClient, start: bytes
) -> None:
    """In its body or, where no timeout of a socket helps, in its headers."""
    trickle(site, start)
    assert problem(client, f"{site.url}/x/").reason == "timed out after 0.8 s"


@pytest.mark.parametrize("packed", [False, True])
def test_a_page_that_is_too_large_is_left(site: Site, client: HttpClient, packed: bool) -> None:
    """Also one that only grows when it is unpacked."""
    body = b"x" * (3 << 20)
    if packed:
        site.page("/x/", gzip.compress(body), Content_Encoding="gzip")
    else:
        site.page("/x/", body)
    assert problem(client, f"{site.url}/x/").reason == "is larger than 1 MB"


def test_a_compressed_page_is_read_from_cache_too(site: Site, client: HttpClient) -> None:
    site.page("/x/", gzip.compress(b"hello"), Content_Encoding="gzip")
    assert [fetch_page(client, f"{site.url}/x/", ACCEPT).text for _ in range(2)] == ["hello"] * 2
    assert len(site.asked) == 1


def test_what_cannot_be_unpacked_is_told(site: Site, client: HttpClient) -> None:
    site.page("/x/", b"no gzip", Content_Encoding="gzip")
    assert problem(client, f"{site.url}/x/").reason == "sent a page that could not be decompressed"


def test_a_connection_that_breaks_off_is_told_and_not_kept(
    site: Site, client: HttpClient, tmp_path: Path
) -> None:
    def behaviour(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"<a href=")
        request.close_connection = True

    site.at("/x/", behaviour)
    assert problem(client, f"{site.url}/x/").reason == "broke the connection"
    assert cache_files(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<é>".encode("latin-1"), "text/html; charset=utf-8"),
        ("é".encode(), "text/html; charset=no-such-charset"),
        (b"\xff\xfe\x00", "text/html"),
        ("torch".encode("utf-16"), "text/html; charset=UTF-16"),
        (b"\xef\xbb\xbfx", "text/html; charset=punycode"),
    ],
)
def test_a_wrong_charset_does_no_harm(site: Site, client: HttpClient, body: bytes, content_type: str) -> None:
    site.page("/x/", body, Content_Type=content_type)
    assert isinstance(fetch_page(client, f"{site.url}/x/", ACCEPT).text, str)


def test_cookies_are_not_sent_back(site: Site, client: HttpClient) -> None:
    site.page("/x/", "a", Set_Cookie="a=b", Cache_Control="no-store")
    fetch_page(client, f"{site.url}/x/", ACCEPT)
    fetch_page(client, f"{site.url}/x/", ACCEPT)
    assert "cookie" not in site.seen[1]


def test_credentials_in_an_address_are_sent_and_not_written_to_disk(
    site: Site, client: HttpClient, tmp_path: Path
) -> None:
    site.page("/f.whl", "12345")
    assert fetch_size(client, site.url.replace("://", "://user:secret@") + "/f.whl#sha256=00") == 5
    assert site.seen[0]["authorization"].startswith("Basic ")
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_sizes_are_asked_for_once_for_ever(site: Site, tmp_path: Path) -> None:
    for number in range(20):
        site.page(f"/{number}.whl", b"x" * number)
    urls = tuple(f"{site.url}/{number}.whl" for number in range(20))
    for _ in range(2):
        with a_client(tmp_path) as client:
            assert fetch_sizes(client, urls) == tuple(range(20))
    assert len(site.asked) == 20
    assert {method for method, _ in site.asked} == {"HEAD"}


def test_a_size_that_is_not_told_is_none(site: Site, client: HttpClient) -> None:
    site.at("/hang.whl", lambda _: site.closing.wait(10))
    assert fetch_sizes(client, (f"{site.url}/none.whl", f"{site.url}/hang.whl", "http://")) == (None,) * 3


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": "b"}', "\x00"])
def test_a_damaged_file_of_sizes_is_as_none(site: Site, tmp_path: Path, content: str) -> None:
    (tmp_path / "sizes.json").write_text(content)
    site.page("/f.whl", "12345")
    with a_client(tmp_path) as client:
        assert fetch_size(client, f"{site.url}/f.whl") == 5
    assert json.loads((tmp_path / "sizes.json").read_text()) == {f"{site.url}/f.whl": 5}


def test_many_threads_share_a_client(site: Site, tmp_path: Path) -> None:
    for number in range(30):
        site.page(f"/{number}/", str(number))
    with a_client(tmp_path, limits=FetchLimits()) as client:
        pending = [client.begin_page(f"{site.url}/{number}/", ACCEPT) for number in range(30)]
        assert [page.result().text for page in pending] == [str(number) for number in range(30)]


def test_a_missing_certificate_bundle_is_told(tmp_path: Path) -> None:
    with HttpClient(
        {"GPUENV_CACHE_DIR": str(tmp_path)}, access=Access(ca_bundle=str(tmp_path / "none.pem")), limits=QUICK
    ) as client:
        assert problem(client, "https://127.0.0.1:9/").reason


def test_the_cache_lies_where_it_is_told() -> None:
    assert cache_root({"GPUENV_CACHE_DIR": "x"}) == Path("x")
    assert cache_root({}).name == "gpuenv"
    assert os.fspath(cache_root({"GPUENV_CACHE_DIR": ""})) == os.fspath(cache_root({}))
