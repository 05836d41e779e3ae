"""Channels over HTTP: shards where served, else all repodata; what is broken is passed over and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from conda_channel import FORMATS, SHARDS, ChannelServer, put, repodata, write_channel, zstd
from conda_packages import CondaPackage
from conda_world import make_world
from index_server import dead_url
from serving import Site, serve

from gpuenv.http import FetchLimits, HttpClient
from gpuenv.indexes.conda.repodata import read_channels
from gpuenv.model.conda import ChannelListing, CondaChannel

QUICK = FetchLimits(connect_s=0.5, read_s=0.4, whole_s=2)
NAMES = frozenset({"pytorch", "torchvision", "cuda-version"})
PLAIN, COMPRESSED, _ = FORMATS
PACKAGES = make_world(keep=lambda row: row["torch"] in ("2.8.0", "1.12.1"))["conda-forge"]
EXPECTED = {
    package.filename for package in PACKAGES if package.name in NAMES and package.subdir == "linux-64"
}


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as running:
        yield running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[HttpClient]:
    with a_client(tmp_path) as made:
        yield made


def a_client(tmp_path: Path, *, offline: bool = False) -> HttpClient:
    return HttpClient({"GPUENV_CACHE_DIR": str(tmp_path / "cache")}, limits=QUICK, offline=offline)


def files(listing: ChannelListing) -> set[str]:
    return {record.filename for record in listing.records}


def asked(site: Site) -> list[str]:
    """Return the files that were asked for; a shard is `shard`."""
    names = [path.rpartition("/")[2] for _, path in site.asked]
    site.asked.clear()
    return ["shard" if len(name) > 64 else name for name in names]


def read_channel(
    channel: CondaChannel, subdir: str, names: frozenset[str], client: HttpClient
) -> ChannelListing:
    return read_channels((channel,), (subdir,), names, client)[0]


def replace_file(site: Site, name: str, data: bytes, **headers: str) -> None:
    for path in site.routes:
        if path.endswith(f"/{name}"):
            put(site, path, data, **headers)


@pytest.mark.parametrize(
    ("formats", "requests"),
    [
        (FORMATS, [SHARDS, "shard", "shard"]),
        ((PLAIN, COMPRESSED), [SHARDS, COMPRESSED]),
        ((PLAIN,), [SHARDS, COMPRESSED, PLAIN]),
    ],
)
def test_every_format_gives_the_same_records(
    site: Site, client: HttpClient, formats: tuple[str, ...], requests: list[str]
) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES, formats)
    listing = read_channel(channel, "linux-64", NAMES, client)
    assert (files(listing), listing.problem, listing.passed_over) == (EXPECTED, None, ())
    assert asked(site) == requests
    by_file = {package.filename: package for package in PACKAGES}
    for record in listing.records:
        entry = by_file[record.filename].entry
        assert record.url == f"{channel.urls[0]}/linux-64/{record.filename}"
        assert (record.sha256, record.md5, record.size) == (entry["sha256"], entry["md5"], entry["size"])
        assert (record.channel, record.subdir) == ("conda-forge", "linux-64")
        assert record.depends == tuple(entry["depends"])


def test_channels_and_platforms_are_read_in_their_order(site: Site, client: HttpClient) -> None:
    world = make_world(keep=lambda row: row["torch"] == "2.5.1")
    channels = tuple(ChannelServer(site).publish(name, packages) for name, packages in world.items())
    listings = read_channels(channels, ("linux-64", "noarch"), NAMES, client)
    reported = [(listing.channel, listing.subdir) for listing in listings]
    assert reported == [(channel.name, subdir) for channel in channels for subdir in ("linux-64", "noarch")]
    assert {record.name for record in listings[1].records} == {"cuda-version"}
    assert all(listing.problem is None for listing in listings)


@pytest.mark.parametrize("formats", [FORMATS, (PLAIN, COMPRESSED), (PLAIN,)])
def test_what_has_not_changed_is_not_sent_again(site: Site, tmp_path: Path, formats: tuple[str, ...]) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES, formats)
    with a_client(tmp_path) as client:
        first = read_channel(channel, "linux-64", NAMES, client)
    asked(site)
    with a_client(tmp_path) as client:
        assert read_channel(channel, "linux-64", NAMES, client) == first
        fewer = read_channel(channel, "linux-64", frozenset({"pytorch"}), client)
    assert {record.name for record in fewer.records} == {"pytorch"}
    assert len(asked(site)) == 2  # each is answered 304
    assert "if-none-match" in site.seen[-1]


def test_what_the_server_says_stays_is_not_asked_for(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES, (COMPRESSED,))
    data = zstd.compress(json.dumps(repodata("linux-64", PACKAGES)).encode())
    replace_file(site, COMPRESSED, data, Cache_Control="public, max-age=1200")
    first = read_channel(channel, "linux-64", NAMES, client)
    asked(site)
    assert read_channel(channel, "linux-64", NAMES, client) == first
    assert asked(site) == []


def test_only_the_shards_that_changed_are_read_again(site: Site, client: HttpClient) -> None:
    server = ChannelServer(site)
    channel = server.publish("conda-forge", PACKAGES)
    read_channel(channel, "linux-64", NAMES, client)
    newer = CondaPackage("pytorch", "2.99.0", "cpu_0")
    server.publish("conda-forge", (*PACKAGES, newer))
    asked(site)
    assert files(read_channel(channel, "linux-64", NAMES, client)) == EXPECTED | {newer.filename}
    assert asked(site) == [SHARDS, "shard"]


def test_names_that_are_new_are_read_beside_the_known(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    read_channel(channel, "linux-64", frozenset({"pytorch"}), client)
    asked(site)
    read_channel(channel, "linux-64", frozenset({"torchvision"}), client)
    assert asked(site) == [SHARDS, "shard"]
    assert files(read_channel(channel, "linux-64", NAMES - {"cuda-version"}, client)) == EXPECTED
    assert asked(site) == [SHARDS]


def test_offline_the_cache_answers_and_tells_what_it_lacks(site: Site, tmp_path: Path) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    with a_client(tmp_path) as client:
        read_channel(channel, "linux-64", NAMES, client)
    asked(site)
    with a_client(tmp_path, offline=True) as client:
        known = read_channel(channel, "linux-64", NAMES, client)
        more = read_channel(channel, "linux-64", NAMES | {"mkl"}, client)
        nothing = read_channel(channel, "win-64", NAMES, client)
    assert (files(known), known.problem) == (EXPECTED, None)
    assert (files(more), more.problem) == (EXPECTED, "is in the cache without `mkl`")
    assert (nothing.url, nothing.problem) == (None, "is not in the cache")
    assert asked(site) == []


def test_a_cache_that_was_garbled_is_read_anew(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    read_channel(channel, "linux-64", NAMES, client)
    for file in (client.cache / "channels").iterdir():
        file.write_bytes(file.read_bytes()[:-9])
    assert files(read_channel(channel, "linux-64", NAMES, client)) == EXPECTED


SOFT_404 = b"<!DOCTYPE html><html><body>Not found</body></html>"


@pytest.mark.parametrize(
    "broken",
    [SOFT_404, b"", b"\x28\xb5\x2f\xfd", b"\xff" * 100, zstd.compress(SOFT_404), zstd.compress(b"\x81")],
)
def test_a_broken_format_leads_to_the_next(site: Site, client: HttpClient, broken: bytes) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    replace_file(site, SHARDS, broken)
    assert files(read_channel(channel, "linux-64", NAMES, client)) == EXPECTED
    replace_file(site, COMPRESSED, broken)
    cold = CondaChannel("conda-forge", (f"{channel.urls[0]}/",))
    assert files(read_channel(cold, "linux-64", NAMES, client)) == EXPECTED


def test_a_shard_that_is_missing_or_another_leads_to_the_next_format(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    (first, *others) = [path for path in site.routes if "linux-64/shards/" in path]
    for path in (first, *others):
        put(site, path, b"another")
    assert files(read_channel(channel, "linux-64", NAMES, client)) == EXPECTED
    for path in (first, *others):
        del site.routes[path]
    cold = CondaChannel("conda-forge", (f"{channel.urls[0]}/",))
    assert files(read_channel(cold, "linux-64", NAMES, client)) == EXPECTED


def test_a_folder_with_nothing_but_errors_tells_the_first(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES)
    for name in FORMATS:
        replace_file(site, name, SOFT_404)
    listing = read_channel(channel, "linux-64", NAMES, client)
    assert (listing.records, listing.url, listing.absent) == ((), None, False)
    assert SHARDS in str(listing.problem)
    assert "invalid repodata" in str(listing.problem)


def cut_off(data: bytes) -> object:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data[: len(data) // 2])
        request.close_connection = True

    return answer


def test_a_connection_that_breaks_off_is_told(site: Site, client: HttpClient) -> None:
    channel = ChannelServer(site).publish("conda-forge", PACKAGES, (COMPRESSED,))
    data = zstd.compress(json.dumps(repodata("linux-64", PACKAGES)).encode())
    site.at(f"/conda-forge/linux-64/{COMPRESSED}", cut_off(data))  # type: ignore[arg-type]
    listing = read_channel(channel, "linux-64", NAMES, client)
    assert (listing.records, listing.problem) == ((), "broke the connection")


def refusing(status: int) -> object:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


@pytest.mark.parametrize("fault", ["dead", "503", "hang", "missing", "garbage"])
def test_the_next_address_is_tried(site: Site, client: HttpClient, fault: str) -> None:
    good = ChannelServer(site).publish("conda-forge", PACKAGES)
    bad = {
        "dead": f"{dead_url()}/conda-forge", "missing": f"{site.url}/nowhere",
    }.get(fault, f"{site.url}/bad")  # fmt: skip
    for name in FORMATS:
        path = f"/bad/linux-64/{name}"
        if fault == "503":
            site.at(path, refusing(503))  # type: ignore[arg-type]
        elif fault == "hang":
            site.at(path, lambda _: site.closing.wait())  # type: ignore[arg-type, return-value]
        elif fault == "garbage":
            site.page(path, SOFT_404)
    listing = read_channel(CondaChannel("conda-forge", (bad, *good.urls)), "linux-64", NAMES, client)
    assert (files(listing), listing.url, listing.problem) == (EXPECTED, good.urls[0], None)
    ((url, reason),) = listing.passed_over
    assert url == bad
    assert reason


@pytest.mark.parametrize("status", [404, 403, 410])
def test_a_folder_that_is_nowhere_is_absent(site: Site, client: HttpClient, status: int) -> None:
    for name in FORMATS:
        site.at(f"/nvidia/linux-64/{name}", refusing(status))  # type: ignore[arg-type]
    channel = CondaChannel("nvidia", (f"{site.url}/nvidia", f"{site.url}/elsewhere/nvidia"))
    listing = read_channel(channel, "linux-64", NAMES, client)
    assert (listing.absent, listing.url, listing.problem) == (True, None, "has no such directory")
    assert not read_channel(CondaChannel("x", (dead_url(),)), "linux-64", NAMES, client).absent


def test_passwords_are_not_told(site: Site, client: HttpClient) -> None:
    host = dead_url().removeprefix("http://")
    channel = CondaChannel("mine", (f"http://me:secret@{host}/mine",))
    assert "secret" not in str(read_channel(channel, "linux-64", NAMES, client).passed_over)


def test_files_that_lie_elsewhere_are_told_where(site: Site, client: HttpClient) -> None:
    moved = repodata("linux-64", PACKAGES, base_url="https://files.example.com/cf/linux-64/")
    site.page(f"/cf/linux-64/{PLAIN}", json.dumps(moved))
    listing = read_channel(CondaChannel("cf", (f"{site.url}/cf",)), "linux-64", NAMES, client)
    assert listing.records[0].url.startswith("https://files.example.com/cf/linux-64/")


@pytest.mark.parametrize("formats", [(PLAIN,), FORMATS])
def test_a_channel_in_a_directory_is_read(
    tmp_path: Path, client: HttpClient, formats: tuple[str, ...]
) -> None:
    url = write_channel(tmp_path / "a channel", PACKAGES, formats)
    for address in (url, str(tmp_path / "a channel")):
        listing = read_channel(CondaChannel("mine", (address,)), "linux-64", NAMES, client)
        assert (files(listing), listing.problem) == (EXPECTED, None)
        assert all(record.url == f"{url}/linux-64/{record.filename}" for record in listing.records)
    gone = read_channel(CondaChannel("mine", (f"{url}/gone",)), "linux-64", NAMES, client)
    assert (gone.absent, gone.problem) == (True, "has no such directory")


def test_py_rattlers_own_shards_are_read(tmp_path: Path, site: Site, client: HttpClient) -> None:
    rattler_index = pytest.importorskip("rattler.index")
    import asyncio  # noqa: PLC0415

    directory = tmp_path / "channel"
    write_channel(directory, PACKAGES, ())
    asyncio.run(rattler_index.index_fs(directory, write_zst=True, write_shards=True))
    for file in directory.rglob("*"):
        if file.is_file():
            put(site, f"/cf/{file.relative_to(directory).as_posix()}", file.read_bytes())
    listing = read_channel(CondaChannel("cf", (f"{site.url}/cf",)), "linux-64", NAMES, client)
    assert asked(site) == [SHARDS, "shard", "shard"]
    assert files(listing) == EXPECTED
