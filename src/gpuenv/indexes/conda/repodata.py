"""Read the packages of some names from conda channels: from shards where they exist, else from repodata.

The URLs of a channel are tried in order; the failed ones are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

from msgspec.structs import replace

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.errors import MISSING
from gpuenv.http.freshness import Validators
from gpuenv.http.pool import in_turns
from gpuenv.http.streams import Stream, Streams
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.conda.parse_repodata import parse_repodata
from gpuenv.indexes.conda.parse_shards import INDEX_FILE, ShardIndex, parse_shard, parse_shard_index
from gpuenv.indexes.conda.record import Entries, Folder, join_path, package_of, select_records
from gpuenv.indexes.conda.store import ChannelStore, StoredRecords
from gpuenv.indexes.conda.zstd import decompressed
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.conda import ChannelListing, CondaChannel
from gpuenv.secrets.url_credentials import redact_credentials

FILES = (INDEX_FILE, "repodata.json.zst", "repodata.json")
_REFUSED = (*MISSING, 403)  # some servers answer so for what is not there
_LARGEST = 64 << 20  # of a file that is read whole, compressed
_LONGEST_AGE_S = 3600
_MOST_NAMES = 500  # more are not asked for again
_AT_A_TIME = 8
_SHARDS_AT_A_TIME = 16
_SHARD_LIMIT_S = 120.0
_FOLDER_LIMIT_S = 900.0
_PIECE = 1 << 20


def read_channels(
    channels: tuple[CondaChannel, ...], subdirs: tuple[str, ...], names: frozenset[str], client: HttpClient
) -> tuple[ChannelListing, ...]:
    """Return a listing for each channel and platform, read concurrently; failures are their `problem`."""
    requested = [(channel, subdir) for channel in channels for subdir in subdirs]
    store = ChannelStore(client.cache / "channels")
    with Streams(client) as streams:

        def read_folder(folder: Folder) -> tuple[StoredRecords, str | None]:
            return _FolderReader(folder, names, streams, client, store).read()

        jobs = [partial(_read, channel, subdir, read_folder) for channel, subdir in requested]
        answers = dict(in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=_FOLDER_LIMIT_S))
    return tuple(
        ChannelListing(channel.name, subdir, (), None, answer.reason)
        if isinstance(answer := answers[position], HttpProblem)
        else answer
        for position, (channel, subdir) in enumerate(requested)
    )


def _read(
    channel: CondaChannel, subdir: str, read_folder: Callable[[Folder], tuple[StoredRecords, str | None]]
) -> ChannelListing:
    """Try the channel's URLs in order."""
    failed: list[tuple[str, str]] = []
    absent = True
    for url in channel.urls:
        local = "" if is_remote(url) else str(local_path(url).absolute() / subdir)
        try:
            reading, lack = read_folder(Folder(channel.name, subdir, local or join_path(url, subdir)))
        except HttpProblem as problem:
            failed.append((redact_credentials(url), problem.reason))
            absent = absent and problem.missing
            continue
        listing = ChannelListing(channel.name, subdir, reading.records, url, lack, garbled=reading.garbled)
        return replace(listing, passed_over=tuple(failed))
    message = failed[0][1] if failed else tr("has no address")
    absent = absent and bool(failed)
    return ChannelListing(channel.name, subdir, (), None, message, absent=absent, passed_over=tuple(failed))


def _reading_or_problem(
    read: Callable[[str], StoredRecords], file: str
) -> StoredRecords | HttpProblem | None:
    """Read one format; None where it is missing, a problem where it is invalid; other problems are raised."""
    try:
        return read(file)
    except HttpProblem as problem:
        if problem.status not in _REFUSED:
            raise
        return None
    except ValueError as error:
        facts = {"file": file, "error": reason_of(error)}
        return HttpProblem(tr("returned invalid repodata for `{file}`: {error}", **facts))


class _FolderReader:
    """One folder at one URL, read in the first format that it has."""

    def __init__(
        self, folder: Folder, names: frozenset[str], streams: Streams, client: HttpClient, store: ChannelStore
    ) -> None:
        self._folder, self._names, self._streams, self._store = folder, names, streams, store
        self._offline = client.offline
        self._kept = store.load(folder) if is_remote(folder.url) else None
        self._covers = self._kept is not None and names <= self._kept.names

    def read(self) -> tuple[StoredRecords, str | None]:
        """Return the packages of the names, and which names are unknown offline; raise HttpProblem."""
        if not is_remote(self._folder.url):
            return self._selected(self._read_in_turn(self._read_local)), None
        if self._offline:
            return self._from_cache()
        if self._kept is None or not self._covers or not _is_fresh(self._kept):
            self._kept = self._read_in_turn(self._read_remote)
            self._store.save(self._folder, self._kept)
        return self._selected(self._kept), None

    def _from_cache(self) -> tuple[StoredRecords, str | None]:
        if self._kept is None:
            raise HttpProblem(tr("is not in the cache"))
        lacking = series(f"`{name}`" for name in sorted(self._names - self._kept.names))
        lack = tr("is in the cache without {names}", names=lacking) if lacking else None
        return self._selected(self._kept), lack

    def _selected(self, reading: StoredRecords) -> StoredRecords:
        """Leave out names of earlier requests."""
        return replace(
            reading,
            records=tuple(record for record in reading.records if package_of(record.filename) in self._names),
            garbled=tuple(name for name in reading.garbled if package_of(name) in self._names),
        )

    def _read_in_turn(self, read: Callable[[str], StoredRecords]) -> StoredRecords:
        """Try the formats, the last one used first; raise the first problem of an invalid one."""
        problem = HttpProblem(tr("has no such directory"), MISSING[0])
        for file in sorted(FILES, key=lambda file: self._kept is None or file != self._kept.file):
            answer = _reading_or_problem(read, file)
            if isinstance(answer, StoredRecords):
                return answer
            problem = problem if answer is None or problem.status is None else answer
        raise problem

    def _read_local(self, file: str) -> StoredRecords:
        path = Path(self._folder.url) / file
        if file == INDEX_FILE or not path.is_file():
            raise HttpProblem(tr("is missing"), MISSING[0])
        try:
            with path.open("rb") as opened:
                pieces = decompressed(iter(lambda: opened.read(_PIECE), b""))
                entries = parse_repodata(pieces, self._names)
        except OSError as error:
            raise HttpProblem(reason_of(error)) from None
        return self._reading(file, entries, self._names)

    def _read_remote(self, file: str) -> StoredRecords:
        kept = self._kept if self._kept and self._kept.file == file else None
        known = kept.validators if kept and self._covers else None
        with self._streams.open(join_path(self._folder.url, file), known) as stream:
            if kept and stream.unchanged:
                return replace(kept, fetched=time.time(), max_age_s=stream.max_age_s)
            if file == INDEX_FILE:
                body = stream.read(_LARGEST)
            else:
                entries = parse_repodata(decompressed(stream.pieces()), self._all_names())
                return self._reading(file, entries, self._all_names(), stream)
        return self._read_shards(parse_shard_index(body, self._all_names()), stream, kept)

    def _all_names(self) -> frozenset[str]:
        """Return the names with those of earlier requests, so that these stay in the cache."""
        before = self._kept.names if self._kept else frozenset()
        return self._names | before if len(before) < _MOST_NAMES else self._names

    def _read_shards(self, index: ShardIndex, stream: Stream, kept: StoredRecords | None) -> StoredRecords:
        """Read the shards that changed; the others come from the cache."""
        same = set(kept.digests) & set(index.shards) if kept else set()
        names = {name for name, _ in same}
        changed = [shard for shard in index.shards if shard not in same]
        entries = Entries(tuple(self._shard_entries(index, changed)), index.base_url)
        reading = replace(self._reading(INDEX_FILE, entries, self._all_names(), stream), digests=index.shards)
        if kept is None or not same:
            return reading
        if kept.files_url != reading.files_url:
            return self._read_shards(index, stream, None)
        records = (record for record in kept.records if package_of(record.filename) in names)
        garbled = (item for item in kept.garbled if package_of(item) in names)
        return replace(reading, records=(*records, *reading.records), garbled=(*garbled, *reading.garbled))

    def _shard_entries(
        self, index: ShardIndex, shards: list[tuple[str, str]]
    ) -> Iterator[tuple[str, object]]:
        base = urljoin(f"{self._folder.url}/", index.shards_base_url)
        jobs = [partial(self._read_shard, join_path(base, f"{digest}.msgpack.zst")) for _, digest in shards]
        for position, answer in in_turns(jobs, at_a_time=_SHARDS_AT_A_TIME, limit_s=_SHARD_LIMIT_S):
            if isinstance(answer, HttpProblem):
                raise answer
            name, digest = shards[position]
            yield from parse_shard(answer, digest, name).entries

    def _read_shard(self, url: str) -> bytes:
        with self._streams.open(url) as stream:
            return stream.read(_LARGEST)

    def _reading(
        self, file: str, entries: Entries, names: frozenset[str], stream: Stream | None = None
    ) -> StoredRecords:
        files_url = self._folder.url if is_remote(self._folder.url) else Path(self._folder.url).as_uri()
        if entries.base_url:
            files_url = urljoin(f"{files_url}/", entries.base_url)
        records, garbled = select_records(entries, replace(self._folder, url=files_url))
        validators = stream.validators if stream else Validators()
        age_s = stream.max_age_s if stream else 0
        return StoredRecords(file, validators, time.time(), age_s, names, files_url, records, garbled)


def _is_fresh(reading: StoredRecords) -> bool:
    """Whether a reading is younger than its max-age; the clock may have been set back since."""
    return 0 <= time.time() - reading.fetched < min(reading.max_age_s, _LONGEST_AGE_S)
