"""Wheels are read in parts; what is wrong with a file or its server is told apart; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import Site, serve
from torch_wheels import garble, library, wheel_bytes
from wheel_shop import Manner, WheelShop

from gpuenv.http import FetchLimits, HttpClient, HttpProblem
from gpuenv.http.ranges import ByteRanges
from gpuenv.wheels.archive import WheelArchive, WheelProblem, _is_unsafe, open_local_wheel, open_wheel

NAME = "torch-3.0.0-cp312-cp312-manylinux_2_28_x86_64.whl"
FLAGS = "torch/lib/libtorch_python.so"
LARGE = wheel_bytes(padding=4000)  # with a directory that is not read as a whole
SMALL = wheel_bytes()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def shop(site: Site) -> WheelShop:
    return WheelShop(site)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    limits = FetchLimits(connect_s=2, read_s=2, whole_s=5)
    with HttpClient({"GPUENV_CACHE_DIR": str(tmp_path / "cache")}, limits=limits) as made:
        yield made


def opened(
    shop: WheelShop, client: HttpClient, content: bytes, manner: Manner = "ranges", *, whole: bool = False
) -> WheelArchive:
    return open_wheel(ByteRanges(client, shop.offer(NAME, content, manner=manner)), whole=whole)


def fault_of(shop: WheelShop, client: HttpClient, content: bytes, manner: Manner = "ranges") -> str:
    """Open a wheel and read what a refresh reads; return what is wrong with it."""
    with pytest.raises(WheelProblem) as caught:
        _read_all(opened(shop, client, content, manner))
    return caught.value.fault


def _read_all(wheel: WheelArchive) -> None:
    with wheel:
        for member in ("torch/version.py", FLAGS, "torch-3.0.0.dist-info/METADATA"):
            wheel.read(member, limit=1 << 20)


@pytest.mark.parametrize("content", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("manner", ["ranges", "no-suffix", "stalls-once"])
def test_members_are_read_by_parts(
    shop: WheelShop, client: HttpClient, content: bytes, manner: Manner
) -> None:
    with opened(shop, client, content, manner) as wheel:
        assert wheel.read("torch/version.py", limit=1000).startswith(b"__version__ = '3.0.0+cu140'")
        assert wheel.read("torch-3.0.0.dist-info/METADATA", limit=1000).startswith(b"Metadata")
        assert b"".join(wheel.stream(FLAGS, limit=1 << 20)) == library("sm_80 sm_90 compute_90")
        assert wheel.read("torch/version.py", limit=1000)


def test_of_a_large_directory_only_the_ends_are_received(shop: WheelShop, client: HttpClient) -> None:
    with opened(shop, client, LARGE) as wheel:
        assert wheel.read("torch/__init__.py", limit=1000) == b""
        assert wheel.find(lambda name: name.endswith("/METADATA"))
        assert wheel.received < 150_000
        assert wheel.find(lambda name: name.startswith("torch/a_02000"))
        assert wheel.received == shop.sent > 350_000
        assert len(wheel.names) == 4005
        assert wheel.read("torch/version.py", limit=1000)


def test_a_stream_that_is_left_costs_no_more(shop: WheelShop, client: HttpClient) -> None:
    with opened(shop, client, LARGE) as wheel:
        before = wheel.received
        for _ in wheel.stream(FLAGS, limit=1 << 20, first=0.1):
            break
        assert wheel.received - before < 200_000 < len(library(""))


def test_the_largest_member_is_found(shop: WheelShop, client: HttpClient) -> None:
    with opened(shop, client, LARGE) as wheel:
        assert wheel.largest(lambda name: name.startswith("torch/")) == FLAGS
        assert wheel.largest(lambda name: name.startswith("caffe2/")) is None


@pytest.mark.parametrize(
    ("content", "manner", "fault"),
    [
        (SMALL, "whole", "no-ranges"),
        (SMALL, "liar", "broken"),
        (LARGE, "grows", "broken"),
        (SMALL[:-30], "ranges", "broken"),
        (SMALL[: len(SMALL) // 2], "ranges", "broken"),
        (garble(SMALL, FLAGS), "ranges", "broken"),
        (b"<html>not found</html>" * 100, "ranges", "not-a-zip"),
        (b"x", "ranges", "not-a-zip"),
        (b"", "ranges", "no-ranges"),
        (wheel_bytes(members={"torch/version.py": None}), "ranges", "missing"),
        (wheel_bytes(members={FLAGS: bytes(2 << 20)}), "ranges", "too-large"),
        (wheel_bytes(members={"../../evil.py": "x"}), "ranges", "unsafe-names"),
        (wheel_bytes(members={"/etc/evil": "x"}), "ranges", "unsafe-names"),
        (wheel_bytes(members={"C:\\evil": "x"}), "ranges", "unsafe-names"),
        (wheel_bytes(members={"torch\\..\\..\\evil": "x"}), "ranges", "unsafe-names"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_apart(
    shop: WheelShop, client: HttpClient, content: bytes, manner: Manner, fault: str
) -> None:
    assert fault_of(shop, client, content, manner) == fault


def test_a_directory_that_points_outside_the_file_is_broken(shop: WheelShop, client: HttpClient) -> None:
    start = LARGE.rindex(b"PK\x05\x06")
    directory = int.from_bytes(LARGE[start + 16 : start + 20], "little")
    offset = directory + 42  # of the first entry's member
    content = LARGE[:offset] + b"\xf0\xff\xff\x7f" + LARGE[offset + 4 :]
    with pytest.raises(WheelProblem) as caught, opened(shop, client, content) as wheel:
        wheel.read("torch/__init__.py", limit=1000)
    assert caught.value.fault == "broken"


def test_a_member_that_says_it_is_smaller_than_it_is_is_broken(shop: WheelShop, client: HttpClient) -> None:
    bomb = wheel_bytes(members={"torch/version.py": bytes(1 << 20)})
    location = bomb.index(b"torch/version.py", bomb.index(b"PK\x01\x02")) - 46
    content = bomb[: location + 24] + (100).to_bytes(4, "little") + bomb[location + 28 :]
    with pytest.raises(WheelProblem) as caught, opened(shop, client, content) as wheel:
        wheel.read("torch/version.py", limit=1000)
    assert caught.value.fault == "broken"


def test_an_encrypted_member_is_unreadable(shop: WheelShop, client: HttpClient) -> None:
    location = SMALL.index(b"torch/version.py", SMALL.index(b"PK\x01\x02")) - 46
    content = SMALL[: location + 8] + b"\x01" + SMALL[location + 9 :]
    assert fault_of(shop, client, content) == "unreadable"


def test_a_size_that_the_index_did_not_tell_is_broken(shop: WheelShop, client: HttpClient) -> None:
    ranges = ByteRanges(client, shop.offer(NAME, SMALL), length=len(SMALL) + 1)
    with pytest.raises(WheelProblem, match="but its index lists"):
        open_wheel(ranges)


@pytest.mark.parametrize("whole", [False, True])
def test_all_names_are_looked_at_where_the_whole_directory_is_read(
    shop: WheelShop, client: HttpClient, whole: bool
) -> None:
    members = {f"torch/b_{number:05}_{'y' * 60}": "" for number in range(3000)}
    content = wheel_bytes(padding=3000, members={"../evil": "", **members})
    if not whole:
        with opened(shop, client, content) as wheel, pytest.raises(WheelProblem):
            _ = wheel.names
        return
    with pytest.raises(WheelProblem, match="outside itself"):
        opened(shop, client, content, whole=True)


def test_a_file_that_is_not_there_is_the_servers_problem(shop: WheelShop, client: HttpClient) -> None:
    with pytest.raises(HttpProblem, match="answered 404"):
        opened(shop, client, SMALL, "missing")
    with pytest.raises(HttpProblem, match="broke the connection"):
        opened(shop, client, SMALL, "short")
    with pytest.raises(HttpProblem, match="refused"):
        open_wheel(ByteRanges(client, "http://127.0.0.1:1/torch.whl"))


def test_a_wheel_on_disk_is_read_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(SMALL)
    with open_local_wheel(path) as wheel:
        assert wheel.read("torch/version.py", limit=1000).startswith(b"__version__")
        assert (wheel.received, len(wheel.names)) == (0, 5)
        assert next(iter(wheel.stream(FLAGS, limit=10))) == library("sm_80 sm_90 compute_90")[:10]


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"nothing", "not-a-zip"), (SMALL[:-30], "broken"), (wheel_bytes(members={"../x": ""}), "unsafe-names")],
)
def test_a_wheel_on_disk_is_judged_the_same_way(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(WheelProblem) as caught:
        open_local_wheel(tmp_path / NAME)
    assert caught.value.fault == fault
    assert [path.name for path in tmp_path.rglob("*")] == [NAME]
    with pytest.raises(FileNotFoundError):
        open_local_wheel(tmp_path / "other.whl")


@given(st.text(alphabet="a.:/\\\0 ", max_size=8))
def test_names_lead_out_of_no_folder_of_any_system(name: str) -> None:
    """As pathlib reads names for both kinds of systems; a drive without a letter is refused, too."""
    windows = PureWindowsPath(name)
    outside = (
        PurePosixPath(name).is_absolute() or bool(windows.drive or windows.root) or ".." in windows.parts
    )
    if outside or "\0" in name or not name:
        assert _is_unsafe(name)
    elif name[1:2] != ":":
        assert not _is_unsafe(name)
