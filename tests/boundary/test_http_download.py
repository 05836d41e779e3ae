"""Downloads: whole and right, or an error; what was received of a right file is not asked for again."""

from __future__ import annotations

import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from replica_server import Answer, Fault, Replica
from replica_server import serving as serving_replicas
from serving import Behaviour, Site, serve

from gpuenv.downloads.download import download
from gpuenv.downloads.expected import Expected
from gpuenv.http import FetchLimits, HttpClient, HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Patience, StoppedError, Watch

QUICK = Patience(slow_bytes=0, pause_s=0.001)
LIMITS = FetchLimits(connect_s=2, read_s=0.5)
FILE = "/torch-9.9.9-py3-none-any.whl"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A wheel of some hundred kilobytes that does not compress."""
    path = tmp_path_factory.mktemp("wheel") / "wheel"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("torch/lib/libtorch.so", random.Random(7).randbytes(400_000))  # noqa: S311
    return path.read_bytes()


@pytest.fixture
def right(content: bytes) -> Expected:
    return Expected(digest(content), len(content))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with HttpClient({"GPUENV_CACHE_DIR": str(tmp_path / "cache")}, limits=LIMITS) as http_client:
        yield http_client


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


@pytest.fixture
def mirror(content: bytes) -> Iterator[Replica]:
    replica = Replica("mirror", "127.0.0.1")
    replica.give = lambda _: Answer(content, "application/zip", is_file=True)
    with serving_replicas(replica):
        yield replica


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as item:
        yield item


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def get(
    client: HttpClient,
    url: str,
    part: Path,
    expected: Expected,
    watch: Watch | None = None,
    patience: Patience = QUICK,
) -> str:
    return download(client, url + FILE, part, expected, patience=patience, watch=watch)


def test_a_file_arrives_whole_and_every_byte_is_told(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    reported: list[int] = []
    assert get(client, mirror.url, part, right, Watch(reported.append)) == right.sha256
    assert part.read_bytes() == content
    assert sum(reported) == len(content)


@pytest.mark.parametrize("fault", ["cut", "cut-once", "reset-once", "503-once"])
@pytest.mark.parametrize("known", [True, False])
def test_what_was_received_is_not_asked_for_again(
    client: HttpClient,
    mirror: Replica,
    part: Path,
    right: Expected,
    content: bytes,
    fault: Fault,
    known: bool,
) -> None:
    reported: list[int] = []
    with mirror.failing(fault):
        value = get(client, mirror.url, part, right if known else Expected(), Watch(reported.append))
    assert value == right.sha256
    assert part.read_bytes() == content
    assert mirror.sent == len(content)
    assert sum(reported) == len(content)


def test_a_part_of_an_earlier_run_is_gone_on_with(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    part.write_bytes(content[:300_000])
    get(client, mirror.url, part, right)
    assert part.read_bytes() == content
    assert mirror.sent == len(content) - 300_000


@pytest.mark.parametrize("size_known", [True, False])
def test_a_part_that_is_whole_costs_no_byte(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes, size_known: bool
) -> None:
    part.write_bytes(content)
    get(client, mirror.url, part, right if size_known else Expected(right.sha256))
    assert mirror.sent == 0


@pytest.mark.parametrize("start", [b"other bytes", b"x" * 500_000])
def test_a_part_of_another_file_is_thrown_away(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes, start: bytes
) -> None:
    reported: list[int] = []
    part.write_bytes(start)
    get(client, mirror.url, part, right, Watch(reported.append))
    assert part.read_bytes() == content
    assert sum(reported) == len(content)


def test_a_part_whose_digest_nobody_knows_is_not_gone_on_with(
    client: HttpClient, mirror: Replica, part: Path, content: bytes
) -> None:
    part.write_bytes(b"PK of another build")
    get(client, mirror.url, part, Expected())
    assert part.read_bytes() == content


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("truncated", "bytes, but its index lists"),
        ("wrong", "its sha256 is"),
        ("soft-404", "a text page"),
        ("portal", "a text page"),
    ],
)
def test_what_is_another_file_goes_at_once(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, fault: Fault, words: str
) -> None:
    with mirror.failing(fault), pytest.raises(BrokenFileError, match=words):
        get(client, mirror.url, part, right)
    assert not part.exists()


@pytest.mark.parametrize("fault", ["truncated", "wrong", "soft-404"])
def test_what_is_no_whole_zip_is_refused_where_no_digest_is_known(
    client: HttpClient, mirror: Replica, part: Path, fault: Fault
) -> None:
    with mirror.failing(fault), pytest.raises(BrokenFileError, match=r"truncated|zip|text"):
        get(client, mirror.url, part, Expected())
    assert not part.exists()


def test_a_truncated_file_is_found_out_by_its_digest_alone(
    client: HttpClient, mirror: Replica, part: Path, right: Expected
) -> None:
    with mirror.failing("truncated"), pytest.raises(BrokenFileError, match="sha256"):
        get(client, mirror.url, part, Expected(right.sha256))
    assert not part.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words", "requests"),
    [
        ("403", "answered 403", 1),
        ("404", "answered 404", 1),
        ("504", "answered 504", 3),
        ("loop", "redirected too often", 6),
        ("hang", "timed out after 0.5 s", 3),
    ],
)
def test_a_server_that_refuses_or_is_silent_is_left_after_few_requests(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, fault: Fault, words: str, requests: int
) -> None:
    with mirror.failing(fault), pytest.raises(HttpProblem, match=words):
        get(client, mirror.url, part, right)
    assert len(mirror.asked) == requests


def test_a_server_that_breaks_every_connection_is_left(
    client: HttpClient, mirror: Replica, part: Path, right: Expected
) -> None:
    with mirror.failing("reset"), pytest.raises(HttpProblem, match="broke the connection"):
        get(client, mirror.url, part, right)
    assert len(mirror.asked) <= QUICK.tries * 3


def test_what_came_before_a_server_was_left_stays_to_be_gone_on_with(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    few = Patience(slow_bytes=0, breaks=2)
    with mirror.failing("cut"), pytest.raises(HttpProblem):
        get(client, mirror.url, part, right, patience=few)
    assert part.stat().st_size > len(content) // 2
    assert content.startswith(part.read_bytes())


def test_of_a_file_without_digest_nothing_stays(client: HttpClient, mirror: Replica, part: Path) -> None:
    with mirror.failing("cut"), pytest.raises(HttpProblem):
        get(client, mirror.url, part, Expected(), patience=Patience(slow_bytes=0, breaks=2))
    assert not part.exists()


def test_a_server_without_ranges_is_read_from_the_start(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    reported: list[int] = []
    part.write_bytes(content[:300_000])
    with mirror.failing("no-ranges"):
        get(client, mirror.url, part, right, Watch(reported.append))
    assert part.read_bytes() == content
    assert sum(reported) == len(content)


def test_a_server_that_trickles_is_too_slow(
    client: HttpClient, mirror: Replica, part: Path, right: Expected
) -> None:
    strict = Patience(slow_bytes=1 << 40, slow_s=0.01)
    with mirror.failing("trickle"), pytest.raises(HttpProblem, match="too slow"):
        get(client, mirror.url, part, right, patience=strict)
    assert len(mirror.asked) == 1


def test_any_pace_will_do_where_there_is_no_other_server(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    with mirror.failing("trickle"):
        get(client, mirror.url, part, right)
    assert part.read_bytes() == content


def test_a_download_ends_when_it_is_told_to(
    client: HttpClient, mirror: Replica, part: Path, right: Expected, content: bytes
) -> None:
    stop = threading.Event()
    watch = Watch(lambda count: stop.set() if count else None, stop)
    with pytest.raises(StoppedError):
        get(client, mirror.url, part, right, watch)
    assert content.startswith(part.read_bytes())


def answering(status: int, body: bytes, **headers: str) -> Behaviour:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)
        request.close_connection = True

    return answer


def test_a_length_that_is_too_large_is_a_broken_connection(
    client: HttpClient, site: Site, part: Path, right: Expected, content: bytes
) -> None:
    site.at(FILE, answering(200, content, Content_Length=str(len(content) + 10)))
    with pytest.raises(HttpProblem, match="broke the connection"):
        get(client, site.url, part, Expected(right.sha256))
    assert len(site.asked) <= QUICK.restarts + 2


def test_a_length_that_is_too_small_is_found_out(
    client: HttpClient, site: Site, part: Path, right: Expected, content: bytes
) -> None:
    site.at(FILE, answering(200, content, Content_Length=str(len(content) - 10)))
    with pytest.raises(BrokenFileError, match="sha256"):
        get(client, site.url, part, Expected(right.sha256))
    with pytest.raises(BrokenFileError, match="truncated"):
        get(client, site.url, part, Expected())


@pytest.mark.parametrize("length", [{}, {"Content_Length": "a lot"}])
def test_a_server_that_tells_no_length_is_read_to_its_end(
    client: HttpClient, site: Site, part: Path, content: bytes, length: dict[str, str]
) -> None:
    site.at(FILE, answering(200, content, **length))
    assert get(client, site.url, part, Expected()) == digest(content)


@pytest.mark.parametrize("told", ["", "bytes 5-9/10", "bytes */10", "bytes 300000-1/2", "nonsense"])
def test_a_wrong_part_is_not_put_into_the_file(
    client: HttpClient, site: Site, part: Path, right: Expected, content: bytes, told: str
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        ranged = "Range" in request.headers
        headers = {"Content_Range": told} if ranged else {"Content_Length": str(len(content))}
        answering(206 if ranged else 200, b"junk!" if ranged else content, **headers)(request)

    site.at(FILE, answer)
    part.write_bytes(content[:300_000])
    get(client, site.url, part, right)
    assert part.read_bytes() == content


def test_a_part_to_a_request_for_the_whole_is_refused(
    client: HttpClient, site: Site, part: Path, right: Expected
) -> None:
    site.at(FILE, answering(206, b"PK", Content_Range="bytes 0-1/2"))
    with pytest.raises(HttpProblem, match="206"):
        get(client, site.url, part, right)


def test_a_file_replaced_meanwhile_is_not_mixed_with_the_old_one(
    client: HttpClient, site: Site, part: Path, content: bytes
) -> None:
    """Without a digest, the server's ETag tells; it answers with the whole new file."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        if "Range" not in request.headers:
            size = str(len(content))
            answering(200, b"PK" + content[2:200_000], ETag='"old"', Content_Length=size)(request)
        else:
            assert request.headers["If-Range"] == '"old"'
            answering(200, content, ETag='"new"', Content_Length=str(len(content)))(request)

    site.at(FILE, answer)
    assert get(client, site.url, part, Expected()) == digest(content)


def test_a_wheel_served_as_text_is_a_wheel_all_the_same(
    client: HttpClient, site: Site, part: Path, right: Expected, content: bytes
) -> None:
    site.at(FILE, answering(200, content, Content_Type="text/plain", Content_Length=str(len(content))))
    assert get(client, site.url, part, right) == right.sha256


def test_an_empty_answer_is_no_wheel(client: HttpClient, site: Site, part: Path, right: Expected) -> None:
    site.at(FILE, answering(200, b"", Content_Length="0"))
    for expected in (right, Expected(right.sha256), Expected()):
        with pytest.raises((BrokenFileError, HttpProblem)):
            get(client, site.url, part, expected)
        assert not part.exists()


def test_a_full_disk_is_no_fault_of_the_server(
    client: HttpClient, mirror: Replica, part: Path, right: Expected
) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            get(client, mirror.url, part, right)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
