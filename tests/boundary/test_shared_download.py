"""A slow file is read by several connections: each byte counts once, a fault of one harms none."""

from __future__ import annotations

import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from file_server import Answering, FileReply, FileRequest, FileServer, serve_file
from msgspec import structs
from sampling import every

from gpuenv.downloads.download import download
from gpuenv.downloads.expected import Expected
from gpuenv.downloads.pace import Sharing
from gpuenv.http import FetchLimits, HttpClient, HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Patience, StoppedError, Watch

QUICK = Patience(slow_bytes=0, pause_s=0.001)
EAGER = Sharing(start_s=0.0, period_s=0.03, worth_s=0.0, silent_s=0.15, look_s=0.01, least_part=1 << 15)
LIMITS = FetchLimits(connect_s=2, read_s=5)
PATH = "/torch-9.9.9-py3-none-any.whl"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A wheel of some hundred kilobytes that does not compress."""
    path = tmp_path_factory.mktemp("wheel") / "wheel"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("torch/lib/libtorch.so", random.Random(11).randbytes(600_000))  # noqa: S311
    return path.read_bytes()


@pytest.fixture
def right(content: bytes) -> Expected:
    return Expected(hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with HttpClient({"GPUENV_CACHE_DIR": str(tmp_path / "cache")}, limits=LIMITS) as http_client:
        yield http_client


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "file.part"


@pytest.fixture
def server(content: bytes) -> Iterator[FileServer]:
    with serve_file(PATH, content) as running:
        yield running


def get(
    client: HttpClient,
    server: FileServer,
    part: Path,
    expected: Expected,
    watch: Watch | None = None,
    patience: Patience = QUICK,
) -> str:
    return download(client, server.url, part, expected, patience=patience, watch=watch, sharing=EAGER)


@pytest.mark.parametrize("known", [True, False])
def test_a_slow_file_is_read_by_several_connections_and_every_byte_is_told_once(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes, known: bool
) -> None:
    reported: list[int] = []
    value = get(client, server, part, right if known else Expected(), Watch(reported.append))
    assert value == right.sha256
    assert part.read_bytes() == content
    assert sum(reported) == len(content)
    assert 1 < server.most_at_a_time <= 4  # the first one's end may not have been noticed
    assert all("if-range" in request.headers for request in server.asked[1:]) != known


def test_a_line_that_is_slow_itself_is_read_by_one_connection_in_the_end(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    server.shares_line = True
    server.pause_s = 0.006
    reported: list[int] = []
    once = structs.replace(EAGER, period_s=0.15)
    download(client, server.url, part, right, patience=QUICK, watch=Watch(reported.append), sharing=once)
    assert part.read_bytes() == content
    assert sum(reported) == len(content)
    assert len(server.asked) <= 5
    assert len(content) - server.firsts[-1] > 1 << 17  # all the rest


def test_a_file_that_comes_fast_is_asked_for_once(
    client: HttpClient, server: FileServer, part: Path, right: Expected
) -> None:
    server.pause_s = 0
    download(client, server.url, part, right, patience=QUICK, sharing=structs.replace(EAGER, worth_s=3.0))
    assert len(server.asked) == 1


def test_all_files_of_a_client_have_three_connections(
    client: HttpClient, server: FileServer, tmp_path: Path, right: Expected
) -> None:
    def fetch(number: int) -> str:
        return get(client, server, tmp_path / str(number), right)

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(fetch, range(3))) == {right.sha256}
    assert server.most_at_a_time <= 5  # three, and those whose end has not been noticed


def test_a_part_is_gone_on_with_by_several_connections(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    reported: list[int] = []
    part.write_bytes(content[:200_000])
    assert get(client, server, part, right, Watch(reported.append)) == right.sha256
    assert min(server.firsts) == 200_000
    assert server.most_at_a_time > 1
    assert sum(reported) == len(content)


def no_ranges(_: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, part=None, accepts=False)


def claimed_ranges(_: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, part=None)


def banned(request: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, content=b"too many", part=None, status=403) if request.number else reply


def busy(request: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, content=b"too many", part=None, status=429) if request.number else reply


def closing_at_once(request: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, breaks_after=0) if request.number else reply


def nonsense(request: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, claims="bytes 1-2/3 or so") if request.number else reply


def other_part(request: FileRequest, reply: FileReply) -> FileReply:
    return replace(reply, part=(0, 99_999)) if request.number else reply


@pytest.mark.slow
@pytest.mark.parametrize(
    "answering",
    every(3, [no_ranges, busy, nonsense, claimed_ranges, banned, closing_at_once, other_part]),
)
@pytest.mark.parametrize("known", every(2, [True, False]))
def test_what_refuses_further_connections_is_read_by_the_first(
    client: HttpClient,
    server: FileServer,
    part: Path,
    right: Expected,
    content: bytes,
    answering: Answering,
    known: bool,
) -> None:
    server.answering = answering
    reported: list[int] = []
    value = get(client, server, part, right if known else Expected(), Watch(reported.append))
    assert value == right.sha256
    assert sum(reported) == len(content)
    assert server.firsts.count(0) == 1  # never from the start again
    assert len(server.asked) <= 3


def test_a_length_that_differs_between_parts_is_another_file(
    client: HttpClient, server: FileServer, part: Path, right: Expected
) -> None:
    """One lie is answered by a new beginning, by one connection; lies without end are told."""

    def lies_once(request: FileRequest, reply: FileReply) -> FileReply:
        return replace(reply, content=reply.content + b"more") if request.number == 1 else reply

    server.answering = lies_once
    assert get(client, server, part, right) == right.sha256

    def lies(request: FileRequest, reply: FileReply) -> FileReply:
        more = b"m" * (request.number + 1)
        return replace(reply, content=reply.content + more, etag=f'"{request.number}"', breaks_after=80_000)

    server.answering = lies
    part.unlink()
    with pytest.raises((BrokenFileError, HttpProblem)):
        get(client, server, part, Expected(right.sha256))
    assert len(server.asked) < 20


@pytest.mark.slow
@pytest.mark.parametrize("obeys", [True, False])
def test_a_file_replaced_meanwhile_is_not_mixed_with_the_old_one(
    client: HttpClient, server: FileServer, part: Path, content: bytes, obeys: bool
) -> None:
    """Without a digest: whether the server obeys If-Range, or sends a part of the new file all the same."""
    old = b"PK" + bytes(reversed(content))[2:]

    def replaced(request: FileRequest, reply: FileReply) -> FileReply:
        if request.number == 0:
            return replace(reply, content=old, etag='"old"')
        if obeys or request.wanted is None:
            return replace(
                reply, etag='"new"', part=reply.part if "if-range" not in request.headers else None
            )
        first, last = request.wanted
        return replace(reply, etag='"new"', part=(first, len(content) - 1 if last is None else last))

    server.answering = replaced
    assert get(client, server, part, Expected()) == hashlib.sha256(content).hexdigest()
    assert part.read_bytes() == content


def test_wrong_bytes_in_one_part_cost_a_second_reading_by_one_connection(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    garbled = bytes(byte ^ 0x55 for byte in content)

    def wrong_once(request: FileRequest, reply: FileReply) -> FileReply:
        return replace(reply, content=garbled) if request.number == 1 else reply

    reported: list[int] = []
    server.answering = wrong_once
    assert get(client, server, part, right, Watch(reported.append)) == right.sha256
    assert server.firsts.count(0) == 2
    assert sum(reported) == len(content)


def test_a_file_that_stays_wrong_is_given_up_and_removed(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    server.content = b"PK" + bytes(byte ^ 0x55 for byte in content)[2:]
    with pytest.raises(BrokenFileError, match="sha256"):
        get(client, server, part, right)
    assert server.firsts.count(0) == 2
    assert not part.exists()


@pytest.mark.parametrize("after", [0, 60_000])
def test_what_a_silent_connection_owes_is_asked_for_by_another(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes, after: int
) -> None:
    """One that is silent for ever would end in a timeout; nobody waits for it."""

    def stalls(request: FileRequest, reply: FileReply) -> FileReply:
        return replace(reply, stalls_after=after) if request.number == (0 if after else 1) else reply

    reported: list[int] = []
    server.answering = stalls
    assert get(client, server, part, right, Watch(reported.append)) == right.sha256
    assert sum(reported) == len(content)
    assert server.at_a_time >= 1  # it is still silent


@pytest.mark.slow
def test_a_server_that_falls_silent_for_ever_is_left(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    client.limits = structs.replace(client.limits, read_s=0.4)

    def stalls(request: FileRequest, reply: FileReply) -> FileReply:
        return replace(reply, stalls_after=0 if request.number else 100_000)

    server.answering = stalls
    with pytest.raises(HttpProblem, match="timed out"):
        get(client, server, part, right)
    assert len(server.asked) < 20
    assert content.startswith(part.read_bytes())


def test_every_connection_may_break_again_and_again(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    server.answering = lambda _, reply: replace(reply, breaks_after=40_960)
    reported: list[int] = []
    assert get(client, server, part, right, Watch(reported.append)) == right.sha256
    assert sum(reported) == len(content)


def test_what_came_until_a_stop_is_not_asked_for_again(
    client: HttpClient, server: FileServer, part: Path, right: Expected, content: bytes
) -> None:
    stop = threading.Event()
    came: list[int] = []

    def received(count: int) -> None:
        came.append(count)
        if sum(came) > 300_000:
            stop.set()

    with pytest.raises(StoppedError):
        get(client, server, part, right, Watch(received, stop))
    kept = part.stat().st_size
    assert content.startswith(part.read_bytes())
    assert kept > 100_000
    server.asked.clear()
    assert get(client, server, part, right) == right.sha256
    assert min(server.firsts) == kept


def test_a_full_disk_is_no_fault_of_the_server(
    client: HttpClient, server: FileServer, part: Path, right: Expected
) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            get(client, server, part, right)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
