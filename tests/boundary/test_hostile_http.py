"""Servers that mean harm: each answer ends in a problem that is told, in bounded time and memory."""

from __future__ import annotations

import bz2
import gzip
import struct
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest
from backports.zstd import compress
from packaging.utils import canonicalize_name
from raw_server import Answer, ForEver, RawServer, chunk, head, serve_raw
from sampling import every

from gpuenv.downloads.download import download
from gpuenv.downloads.expected import Expected
from gpuenv.http import FetchLimits, HttpClient, HttpProblem, fetch_page, fetch_sizes
from gpuenv.http.ranges import BrokenFileError, ByteRanges
from gpuenv.http.speed_sample import read_sample
from gpuenv.http.timeouts import Patience
from gpuenv.indexes.conda.repodata import read_channels
from gpuenv.indexes.listings import read_listings
from gpuenv.model.conda import CondaChannel
from gpuenv.model.index import IndexSource
from gpuenv.wheels.archive import WheelProblem, open_wheel

LIMITS = FetchLimits(connect_s=1, read_s=0.4, whole_s=1, page_bytes=4 << 20, file_bytes=32 << 20)
_MEMORY = 24 << 20  # bytes that Python holds at once, the server's among them
_ENDS_S = 20.0  # after which a thread is taken for one that never ends
_BLOCK = b"x" * (1 << 16)
_HTML = {"Content_Type": "text/html"}
_CHUNKED = {"Transfer_Encoding": "chunked"}
_BROKEN, _ENDLESS, _LARGE = "broke the connection", "sent an answer without end", "is larger than 4 MB"
_GARBLED = "sent headers that cannot be read"
_SLOW = "timed out after 1 s"
_STALLED = "timed out after 0.4 s"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with HttpClient({"GPUENV_CACHE_DIR": str(tmp_path / "cache")}, limits=LIMITS) as made:
        yield made


@contextmanager
def _bounded(answer: Answer) -> Iterator[RawServer]:
    """Serve; afterwards no thread is left that listens to the server, and little memory was held."""
    before = set(threading.enumerate())
    tracemalloc.start()
    try:
        with serve_raw(answer) as server:
            yield server
            listening = [item for item in set(threading.enumerate()) - before if "_settle" in item.name]
            for thread in listening:
                thread.join(_ENDS_S)
            assert not [thread for thread in listening if thread.is_alive()]
        assert tracemalloc.get_traced_memory()[1] < _MEMORY
    finally:
        tracemalloc.stop()


def _said(*pieces: Iterable[bytes] | bytes) -> Answer:
    """Return the answer that writes these, one after the other."""
    return lambda _: chain.from_iterable(
        (iterable,) if isinstance(iterable, bytes) else iterable for iterable in pieces
    )


@dataclass(frozen=True)
class _Bomb:
    """What unpacks to 10 GB."""

    wbits: int

    def __iter__(self) -> Iterator[bytes]:
        packer = zlib.compressobj(9, wbits=self.wbits)
        for _ in range(10_000):
            yield packer.compress(bytes(1 << 20))
        yield packer.flush()


_GZIP, _DEFLATE = 31, -15
_DIGEST = "0" * 64
_TWICE = gzip.compress(gzip.compress(bytes(64 << 20), 1))  # beforehand: packing takes time and memory
PAGES: dict[str, tuple[Answer, str]] = {
    "gzip bomb": (_said(head(Content_Encoding="gzip", **_HTML), _Bomb(_GZIP)), _LARGE),
    "deflate bomb": (_said(head(Content_Encoding="deflate", **_HTML), _Bomb(_DEFLATE)), _LARGE),
    "gzip twice": (_said(head(Content_Encoding="gzip, gzip", **_HTML), _TWICE), _LARGE),
    "gzip of nothing": (
        _said(head(Content_Encoding="gzip", **_HTML), ForEver(gzip.compress(b"") * 3000)), _ENDLESS,
    ),
    "an endless name in gzip": (
        _said(head(Content_Encoding="gzip", **_HTML), b"\x1f\x8b\x08\x08" + bytes(6), ForEver(_BLOCK)),
        _ENDLESS,
    ),
    "endless header lines": (_said(b"HTTP/1.1 200 OK\r\n", ForEver(b"X-A: b\r\n" * 50)), _BROKEN),
    "an endless header": (_said(b"HTTP/1.1 200 OK\r\nX-A: ", ForEver(_BLOCK)), _ENDLESS),
    "an endless status": (_said(b"HTTP/1.1 200 ", ForEver(_BLOCK)), _ENDLESS),
    "a trickled header": (_said(b"HTTP/1.1 200 OK\r\nX-A: ", ForEver(b"x", 0.05)), _SLOW),
    "100 for ever": (_said(ForEver(head("100 Continue") * 100)), _ENDLESS),
    "100 now and then": (_said(ForEver(head("100 Continue"), 0.05)), _SLOW),
    "an endless body": (_said(head(**_HTML), ForEver(_BLOCK)), _LARGE),
    "a trickled body": (_said(head(**_HTML), ForEver(b"x", 0.05)), _SLOW),
    "endless chunks": (_said(head(**_HTML, **_CHUNKED), ForEver(chunk(_BLOCK))), _LARGE),
    "chunks of one letter": (_said(head(**_HTML, **_CHUNKED), ForEver(chunk(b"x") * 500)), _SLOW),
    "a chunk's endless size": (_said(head(**_HTML, **_CHUNKED), b"5;", ForEver(_BLOCK)), _BROKEN),
    "a chunk's size of many digits": (_said(head(**_HTML, **_CHUNKED), b"f" * 60000 + b"\r\n"), _BROKEN),
    "endless trailers": (
        _said(head(**_HTML, **_CHUNKED), chunk(b"x"), b"0\r\n", ForEver(b"X: y\r\n" * 500)), _ENDLESS,
    ),
    "too short": (_said(head(Content_Length="1000", **_HTML), b"x" * 10), _BROKEN),
    "a length of many digits": (_said(head(Content_Length="9" * 5000, **_HTML), b"x" * 10), _GARBLED),
    "a length below nothing": (_said(head(Content_Length="-5", **_HTML), ForEver(_BLOCK)), _LARGE),
    "two lengths": (_said(head(Content_Length="5, 7", **_HTML), b"x" * 10), _GARBLED),
    "an error without end": (_said(head("500 Oh"), ForEver(_BLOCK)), "answered 500"),
    "HTTP/0.9": (_said(b"<html>a page</html>\n"), "does not answer in HTTP"),
    "noise": (_said(bytes(range(256)) * 100), "does not answer in HTTP"),
    "nothing": (_said(), _BROKEN),
    "103": (_said(head("103 Early Hints")), "answered 103"),
    "204": (_said(head("204 No Content")), "answered 204"),
    "206": (_said(head("206 Partial Content", Content_Length="1"), b"x"), "answered 206"),
    "418 without reason": (_said(head("418", Content_Length="0")), "answered 418"),
    "999": (_said(head("999 \x1b[31mred", Content_Length="0")), "answered 999"),
}  # fmt: skip


@pytest.mark.parametrize("name", every(2, PAGES))
def test_a_page_ends(name: str, client: HttpClient) -> None:
    answer, reason = PAGES[name]
    with _bounded(answer) as server, pytest.raises(HttpProblem) as caught:
        fetch_page(client, f"{server.url}/simple/torch/", "text/html")
    assert caught.value.reason in (reason, _SLOW, _STALLED)  # what is fast on an idle machine


REDIRECTS = {
    "to itself": "{here}/simple/torch/",
    "to a longer address each time": "x/",
    "to a file": "file:///etc/passwd",
    "to FTP": "ftp://127.0.0.1/",
    "to script": "javascript:alert(1)",
    "to the addresses of a cloud's machine": "http://169.254.169.254/latest/",
    "the same, written otherwise": "http://0xa9fea9fe/latest/",
    "the same, in IPv6": "http://[fe80::1%25lo]/",
    "to no port": "http://127.0.0.1:99999/",
    "to no host": "http://[/",
    "to letters that are none": "http://a\x01b\x7f/",
    "to a long one": "http://" + "a" * 60_000 + "/",
}


@pytest.mark.parametrize("name", REDIRECTS)
def test_a_redirect_ends_and_its_body_is_not_read(name: str, client: HttpClient) -> None:
    def answer(asked: str) -> Iterable[bytes]:
        here = f"http://{asked.partition('Host: ')[2].split()[0]}"
        yield head("302 Found", Location=REDIRECTS[name].format(here=here))
        yield from ForEver(_BLOCK)

    with _bounded(answer) as server, pytest.raises(HttpProblem) as caught:
        fetch_page(client, f"{server.url}/simple/torch/", "text/html")
    assert len(caught.value.reason) < 300
    assert len(server.paths) <= LIMITS.redirects + 1


def test_a_login_goes_to_nobody_else(client: HttpClient) -> None:
    """Nor is one told that the redirect has brought along."""
    with serve_raw(_said(head("404 No", Content_Length="0"))) as other:
        there = other.url.replace("127.0.0.1", "mallory:s3cret@localhost")
        away = _said(head("302 Found", Location=f"{there}/x/", Content_Length="0"))
        with serve_raw(away) as server, pytest.raises(HttpProblem) as caught:
            fetch_page(client, server.url.replace("//", "//me:mine@") + "/x/", "text/html")
    assert "Authorization: Basic bWU6bWluZQ==" in server.heads[0]
    assert "bWU6bWluZQ==" not in other.heads[0]
    assert "s3cret" not in caught.value.reason
    assert "localhost" in caught.value.reason


def test_a_short_redirect_keeps_the_connection_and_a_page_is_read(client: HttpClient) -> None:
    def answer(asked: str) -> Iterable[bytes]:
        if asked.startswith("GET /a/"):
            yield head("301 Moved", Location="/b/", Content_Length="5") + b"moved"
        else:
            yield head(Content_Length="5", **_HTML) + b"hello"

    with serve_raw(answer) as server:
        assert fetch_page(client, f"{server.url}/a/", "text/html").text == "hello"


def test_the_sizes_of_files_end(client: HttpClient) -> None:
    with _bounded(_said(b"HTTP/1.1 200 OK\r\nX-A: ", ForEver(b"x", 0.05))) as server:
        assert fetch_sizes(client, tuple(f"{server.url}/{n}" for n in range(20))) == (None,) * 20


LISTINGS = {
    "a million links": ("text/html", b"<h1>Links for torch</h1>" + b'<a href="t.whl">t</a>\n' * 180_000),
    "nested": ("application/vnd.pypi.simple.v1+json", b"[" * 100_000),
    "nested in a file": (
        "application/vnd.pypi.simple.v1+json",
        b'{"meta": {"api-version": "1.1"}, "files": ' + b'[{"a":' * 100_000,
    ),
    "metadata": ("text/plain", b"Requires-Dist: x\n" * 200_000),
}


@pytest.mark.parametrize("name", every(4, LISTINGS, first=1))
def test_a_listing_tells_what_is_wrong(name: str, client: HttpClient) -> None:
    content_type, body = LISTINGS[name]
    answer = _said(head(Content_Type=content_type, Content_Length=str(len(body))), body)
    with serve_raw(answer) as server:
        source = IndexSource("pypi", f"{server.url}/simple", "a test")
        (listing,) = read_listings((source,), (canonicalize_name("torch"),), client)
    assert listing.problem
    assert not listing.files


def _part(first: int, last: int, length: int, body: Iterable[bytes]) -> Answer:
    return _said(head("206 Partial", Content_Range=f"bytes {first}-{last}/{length}"), body)


_DIRECTORY = bytes(2**17 - 22) + struct.pack(
    "<4s4H2LH", b"PK\5\6", 0, 0, 65534, 65534, 2**32 - 2, 2**32 - 2, 0
)
_DIGITS = "9" * 5000
RANGES: dict[str, tuple[Answer, str]] = {
    "more than was asked for": (_part(0, 10**10 - 1, 10**10, ForEver(_BLOCK)), "broken"),
    "of a length that no file has": (_part(0, 10**18 - 1, 10**18, ForEver(_BLOCK)), "broken"),
    "numbers of many digits": (
        _said(head("206 Partial", Content_Range=f"bytes 0-{_DIGITS}/{_DIGITS}9"), ForEver(_BLOCK)),
        "unreachable",
    ),
    "shorter than it says": (_part(10**6 - 2**17, 10**6 - 1, 10**6, (_BLOCK,)), "broken"),
    "a directory of 4 GB": (_part(10**10 - 2**17, 10**10 - 1, 10**10, (_DIRECTORY,)), "broken"),
    "zeros": (_part(10**10 - 2**17, 10**10 - 1, 10**10, (bytes(2**17),)), "broken"),
    "trickled": (_part(10**6 - 2**17, 10**6 - 1, 10**6, ForEver(b"x", 0.5)), "unreachable"),
    "whole": (_said(head(), ForEver(_BLOCK)), "no-ranges"),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_a_wheel_in_parts_ends(name: str, client: HttpClient) -> None:
    answer, fault = RANGES[name]
    with _bounded(answer) as server, pytest.raises((WheelProblem, HttpProblem)) as caught:
        open_wheel(ByteRanges(client, f"{server.url}/t.whl"))
    assert getattr(caught.value, "fault", "unreachable") == fault
    assert len(str(caught.value)) < 300


DOWNLOADS: dict[str, tuple[Answer, Expected]] = {
    "without end": (_said(head(**_CHUNKED), ForEver(chunk(_BLOCK))), Expected(_DIGEST)),
    "longer than its index says": (_said(head(**_CHUNKED), ForEver(chunk(_BLOCK))), Expected(_DIGEST, 10**6)),
    "of nothing": (
        _said(head(Content_Encoding="gzip"), ForEver(gzip.compress(b"") * 3000)), Expected(_DIGEST),
    ),
    "headers for ever": (_said(b"HTTP/1.1 200 OK\r\nX: ", ForEver(b"x", 0.05)), Expected(_DIGEST)),
    "100 for ever": (_said(ForEver(head("100 Continue") * 100)), Expected(_DIGEST)),
    "an error without end": (_said(head("503 Later"), ForEver(_BLOCK)), Expected(_DIGEST)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", DOWNLOADS)
def test_a_download_ends(name: str, client: HttpClient, tmp_path: Path) -> None:
    answer, expected = DOWNLOADS[name]
    patience = Patience(tries=2, breaks=2, restarts=1, pause_s=0)
    with _bounded(answer) as server, pytest.raises((BrokenFileError, HttpProblem)):
        download(client, f"{server.url}/t.whl", tmp_path / "part", expected, patience=patience)


def test_a_sample_of_a_server_ends(client: HttpClient) -> None:
    answer = _said(head("302 Found", Location="/x"), ForEver(_BLOCK))
    with _bounded(answer) as server, pytest.raises(HttpProblem):
        read_sample(client, f"{server.url}/t.whl", limit_s=0.5)


_ENTRY = b'"pytorch-2.%d-py_0.conda": {"name": "pytorch", "pad": "%s"},\n'
_ZST, _SHARDS = "repodata.json.zst", "repodata_shards.msgpack.zst"


def _breaking_off() -> bytes:
    return b'{"packages.conda": {' + b"".join(_ENTRY % (n, b"x" * 1000) for n in range(2000))


CHANNELS: dict[str, tuple[str, Callable[[], bytes], str, str]] = {  # bodies are made when they are needed
    "blanks": (_ZST, lambda: compress(b"{" + b" " * (300 << 20)), "", "it swells to more than"),
    "zeros": (_ZST, lambda: compress(bytes(100 << 20)), "", "not a JSON object"),
    "frames": (_ZST, lambda: compress(b"") * 20_000, "", "frames"),
    "bz2 under that name": (_ZST, lambda: bz2.compress(bytes(1 << 20)), "", "codec can't decode"),
    "gzip on its way": (
        "repodata.json", lambda: gzip.compress(b"{" + b" " * (100 << 20)), "gzip", "it swells to more than",
    ),
    "half a gzip": ("repodata.json", lambda: gzip.compress(b"{" + b" " * 5000)[:-10], "gzip", _BROKEN),
    "nested": ("repodata.json", lambda: b'{"info": ' + b"[" * 100_000, "", "nested too deeply"),
    "one long word": ("repodata.json", lambda: b'{"a": "' + b"x" * (20 << 20), "", "too long"),
    "shards": (_SHARDS, lambda: compress(bytes(100 << 20)), "", "it swells to more than"),
    "nested shards": (_SHARDS, lambda: compress(b"\x91" * 100_000), "", "MessagePack"),
    "breaks off": ("repodata.json", _breaking_off, "", "an object has no key"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", every(2, CHANNELS))
def test_a_conda_channel_ends(name: str, client: HttpClient) -> None:
    file, make, encoding, reason = CHANNELS[name]
    body = make()

    def answer(asked: str) -> Iterable[bytes]:
        if f"/{file} " in asked:
            facts = {"Content_Encoding": encoding} if encoding else {}
            yield head(Content_Length=str(len(body)), **facts)
            yield body
        else:
            yield head("404 No", Content_Length="0")

    with serve_raw(answer) as server:
        channel = CondaChannel("evil", (server.url,))
        (listing,) = read_channels((channel,), ("linux-64",), frozenset({"pytorch"}), client)
    assert reason in str(listing.problem)
    assert not listing.records
