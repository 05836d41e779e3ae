"""A part of a file tells how fast a server is, whatever the server; what was found out is remembered."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from serving import Site, serve

from gpuenv.http import FetchLimits, HttpClient, HttpProblem, fetch_page
from gpuenv.http.speed_sample import read_sample
from gpuenv.indexes.mirrors.measurements import (
    KEPT_S,
    MeasuredMirror,
    Memory,
    Speed,
    address_of,
    parse_memory,
    read_memory,
    remember,
)
from gpuenv.indexes.mirrors.probe import Probe, ProbeLimits, measure_files, probe_mirrors
from gpuenv.indexes.mirrors.verdict import MirrorStatus
from gpuenv.indexes.mirrors.wanted_files import newest_file
from gpuenv.model.index import IndexSource
from gpuenv.model.mirror import Mirror, PypiPart, TorchPart

LENGTH = 10 << 20
WHEEL = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
TORCH = canonicalize_name("torch")
QUICK = ProbeLimits(whole_s=5, pages_s=5, sample_bytes=1 << 16, sample_s=0.5)
NOW = 1_800_000_000.0


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"GPUENV_CACHE_DIR": str(tmp_path / "cache")}


@pytest.fixture
def client(environ: dict[str, str]) -> Iterator[HttpClient]:
    with HttpClient(environ, limits=FetchLimits(connect_s=2, read_s=2, whole_s=5), fresh=True) as made:
        yield made


def answer(request: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    request.send_response(status)
    facts = {"Content-Type": "application/zip", "Content-Length": str(len(body))}
    for name, value in {
        **facts,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


def ranged(request: BaseHTTPRequestHandler) -> None:
    first, last = map(int, request.headers["Range"].removeprefix("bytes=").split("-"))
    last = min(last, LENGTH - 1)
    answer(request, 206, bytes(last + 1 - first), Content_Range=f"bytes {first}-{last}/{LENGTH}")


# a part of a file


def test_the_middle_of_the_file_is_read_and_its_length_learnt(site: Site, client: HttpClient) -> None:
    site.at("/file.whl", ranged)
    sample = read_sample(client, f"{site.url}/file.whl", count=1000)
    assert (sample.received, sample.length) == (1000, LENGTH)
    assert sample.bytes_per_s > 0
    start = (LENGTH - 1000) // 2
    assert [seen["range"] for seen in site.seen] == ["bytes=0-0", f"bytes={start}-{start + 999}"]
    assert {seen["accept-encoding"] for seen in site.seen} == {"identity"}


def test_a_server_without_ranges_is_read_no_further_than_was_asked(site: Site, client: HttpClient) -> None:
    written: list[int] = []

    def whole(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(LENGTH * 100))
        request.end_headers()
        for _ in range(100):
            request.wfile.write(bytes(LENGTH))
            written.append(LENGTH)

    site.at("/file.whl", whole)
    sample = read_sample(client, f"{site.url}/file.whl", count=100_000)
    assert (sample.received, sample.length) == (100_000, LENGTH * 100)
    assert len(written) < 100


def test_a_server_that_drips_is_listened_to_for_no_longer_than_the_limit(
    site: Site, client: HttpClient
) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        if request.headers["Range"] == "bytes=0-0":
            ranged(request)
            return
        request.send_response(206)
        request.send_header("Content-Length", str(LENGTH))
        request.end_headers()
        while not site.closing.wait(0.01):
            request.wfile.write(b"0")
            request.wfile.flush()

    site.at("/file.whl", drip)
    sample = read_sample(client, f"{site.url}/file.whl", limit_s=0.1)
    assert 0 < sample.received < 100


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (403, {}, "answered 403"),
        (416, {}, "answered 416"),
        (200, {"Content_Type": "text/html; charset=utf-8"}, "text page"),
        (206, {"Content_Type": "TEXT/HTML"}, "text page"),
        (200, {}, "no data"),
    ],
)
def test_what_is_no_file_is_a_problem(
    site: Site, client: HttpClient, status: int, headers: dict[str, str], reason: str
) -> None:
    site.at("/file.whl", lambda request: answer(request, status, b"" if not headers else b"text", **headers))
    with pytest.raises(HttpProblem, match=reason):
        read_sample(client, f"{site.url}/file.whl")


def test_a_redirect_tells_where_the_file_lies(site: Site, client: HttpClient) -> None:
    site.at("/file.whl", lambda request: answer(request, 302, Location="/elsewhere/file.whl"))
    site.at("/elsewhere/file.whl", ranged)
    assert read_sample(client, f"{site.url}/file.whl", count=10).url == f"{site.url}/elsewhere/file.whl"


def test_files_are_measured_side_by_side_and_one_that_hangs_stops_no_other(
    site: Site, client: HttpClient
) -> None:
    site.at("/good.whl", ranged)
    site.at("/hangs.whl", lambda _: site.closing.wait() and None)
    urls = [f"{site.url}/{name}.whl" for name in ("hangs", "good", "missing")]
    samples = measure_files(urls, client, ProbeLimits(whole_s=0.5, sample_bytes=10, sample_s=0.1))
    assert [sample is not None for sample in samples] == [False, True, False]


# mirrors


def probe(url: str) -> Probe:
    return Probe(((IndexSource("pytorch", url, "a test", "lab"), (TORCH,)),), newest_file)


def test_what_mirrors_list_is_read_and_their_file_measured(site: Site, client: HttpClient) -> None:
    site.page("/whl/torch/", f'<a href="/files/{WHEEL}">{WHEEL}</a>')
    site.at(f"/files/{WHEEL.replace('+', '%2B')}", ranged)
    site.page("/empty/torch/", "<html><body>no links</body></html>")
    probes = [probe(f"{site.url}/{name}") for name in ("whl", "missing", "empty")]
    readings = dict(probe_mirrors(probes, client, QUICK))
    assert readings[0].file is not None
    assert (readings[0].length, readings[0].problem) == (LENGTH, None)
    assert readings[0].bytes_per_s
    assert (readings[1].file, readings[1].listings[0].problem) == (None, None)
    assert "not an index" in str(readings[2].listings[0].problem)


def test_a_mirror_that_hangs_is_given_up_with_a_reason(site: Site, client: HttpClient) -> None:
    site.at("/hangs/torch/", lambda _: site.closing.wait() and None)
    pace = ProbeLimits(whole_s=1, pages_s=0.2)
    ((_, reading),) = probe_mirrors([probe(f"{site.url}/hangs")], client, pace)
    (listing,) = reading.listings
    assert "timed out" in str(listing.problem)
    assert listing.page == f"{site.url}/hangs/torch/"


def test_the_pages_of_one_mirror_have_one_limit_together(site: Site, client: HttpClient) -> None:
    """A host that hangs is waited for once, not a page at a time."""
    sources = [IndexSource("pytorch", f"{site.url}/{number}", "a test", "lab") for number in range(8)]
    for number in range(8):
        site.at(f"/{number}/torch/", lambda _: site.closing.wait() and None)
    many = Probe(tuple((source, (TORCH,)) for source in sources), newest_file)
    ((_, reading),) = probe_mirrors([many], client, ProbeLimits(whole_s=0.6, pages_s=0.3))
    assert len(reading.listings) == 8
    assert {listing.problem for listing in reading.listings} == {"timed out after 0.3 s"}


def test_no_host_is_asked_more_than_two_things_at_once(site: Site, client: HttpClient) -> None:
    running, most = [0], [0]

    def busy(request: BaseHTTPRequestHandler) -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        site.closing.wait(0.02)
        running[0] -= 1
        answer(request, 404)

    for number in range(6):
        site.at(f"/{number}/torch/", busy)
    list(probe_mirrors([probe(f"{site.url}/{number}") for number in range(6)], client, QUICK))
    assert len(site.asked) == 6
    assert most[0] <= 2


def test_a_fresh_client_neither_takes_pages_from_the_cache_nor_keeps_them(
    site: Site, client: HttpClient, environ: dict[str, str]
) -> None:
    site.page("/page", "text", Cache_Control="max-age=1000")
    with HttpClient(environ) as keeping:
        fetch_page(keeping, f"{site.url}/page", "*/*")
        for _ in range(2):
            fetch_page(client, f"{site.url}/page", "*/*")
        assert len(site.asked) == 3
        site.routes.clear()
        fetch_page(keeping, f"{site.url}/page", "*/*")
    assert len(site.asked) == 3


# memory

LAB = Mirror("lab", "the lab's", "own", "alive", "a test", pypi=PypiPart("https://mirror.example.com/simple"))


def speed(at: float = NOW, bytes_per_s: int = 5) -> Speed:
    return Speed("lab", address_of(LAB), at, bytes_per_s)


def test_what_was_found_out_is_remembered_for_a_day(environ: dict[str, str]) -> None:
    verdict = MirrorStatus(
        "lab", "own", answers=True, has=True, leaks=("a.example.com",), bytes_per_s=5, measured_at=NOW
    )
    remember(environ, [speed()], [MeasuredMirror(address_of(LAB), WHEEL, verdict)], NOW)
    memory = read_memory(environ, NOW + KEPT_S - 1)
    assert memory.speed_of(LAB) == 5
    assert memory.verdict_of(LAB, WHEEL) == verdict
    assert memory.verdict_of(LAB, "another file") is None
    assert read_memory(environ, NOW + KEPT_S) == Memory()
    assert read_memory(environ, NOW - 1) == Memory()


def test_a_mirror_that_moved_is_another(environ: dict[str, str]) -> None:
    remember(environ, [speed()], now=NOW)
    moved = replace(LAB, pypi=PypiPart("https://other.example.com/simple"))
    more = Mirror(
        "lab", "", "own", "alive", "a test", pypi=LAB.pypi, torch=TorchPart("https://a", "flat", hashes=False)
    )
    memory = read_memory(environ, NOW)
    assert [memory.speed_of(mirror) for mirror in (LAB, moved, more)] == [5, None, None]


def test_what_failed_is_tried_again_within_the_hour(environ: dict[str, str]) -> None:
    remember(environ, [speed(bytes_per_s=0)], now=NOW)
    assert read_memory(environ, NOW + 60).speed_of(LAB) == 0
    assert read_memory(environ, NOW + 3600).speed_of(LAB) is None


def test_the_newer_word_counts_and_that_of_others_stays(environ: dict[str, str]) -> None:
    other = Speed("other", "https://other.example.com", NOW, 7)
    remember(environ, [speed(), other], now=NOW)
    remember(environ, [speed(NOW + 1, 9)], now=NOW + 1)
    assert set(read_memory(environ, NOW + 2).speeds) == {speed(NOW + 1, 9), other}


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b"{", b'{"speeds": 3}', b"[" * 100_000, b'{"speeds":[{}]}']
)
def test_a_garbled_memory_is_none_and_is_written_anew(environ: dict[str, str], content: bytes) -> None:
    file = Path(environ["GPUENV_CACHE_DIR"]) / "mirrors.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    assert read_memory(environ, NOW) == Memory()
    remember(environ, [speed()], now=NOW)
    assert read_memory(environ, NOW).speed_of(LAB) == 5
    assert list(file.parent.iterdir()) == [file]


def test_nothing_is_remembered_where_the_disk_does_not_let_us() -> None:
    nowhere = {"GPUENV_CACHE_DIR": os.path.join(os.devnull, "gpuenv")}  # noqa: PTH118 - a place that can't be
    remember(nowhere, [speed()], now=NOW)
    assert read_memory(nowhere, NOW) == Memory()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["speeds", "checks", "verdict", "name", "address", "at", "kind", "leaks", "bytes_per_s"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        memory = parse_memory(json.loads(json.dumps(value)))
    except ValueError:
        assert not isinstance(value, dict)
    else:
        assert all(item.bytes_per_s >= 0 for item in memory.speeds)
