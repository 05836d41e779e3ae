"""What conda channels hold of some names: the shards of these names where served, else all of the repodata.

Addresses of one channel are tried in their order; one that is down, or answers with something else, is passed
over and told of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.errors import MISSING
from gpuenv.http.pool import in_turns
from gpuenv.http.streams import Stream, Streams, Validators
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
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
    """Return a listing for each channel and platform, in their order; they are read side by side.

    Nothing is raised: what could not be read is the listing's `problem`. `noarch` is a platform like any
    other, and is read where it is asked for. With a client that is offline, listings come from the cache; one
    that lacks some of the names says so in its `problem`.
    """
    requested = [(channel, subdir) for channel in channels for subdir in subdirs]
    with Streams(client) as streams:
        jobs = [_job(channel, subdir, names, streams, client) for channel, subdir in requested]
        answers = dict(in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=_FOLDER_LIMIT_S))
    return tuple(
        ChannelListing(*_named(requested[position]), (), None, answer.reason)
        if isinstance(answer, HttpProblem)
        else answer
        for position, answer in sorted(answers.items())
    )


def _named(requested: tuple[CondaChannel, str]) -> tuple[str, str]:
    return requested[0].name, requested[1]


def _job(
    channel: CondaChannel, subdir: str, names: frozenset[str], streams: Streams, client: HttpClient
) -> Callable[[], ChannelListing]:
    store = ChannelStore(client.cache / "channels")
    return lambda: _read(
        channel, subdir, lambda folder: _FolderReader(folder, names, streams, client, store).read()
    )


def _read(
    channel: CondaChannel, subdir: str, read_folder: Callable[[Folder], tuple[StoredRecords, str | None]]
) -> ChannelListing:
    """Try the channel's addresses in their order."""
    passed: list[tuple[str, str]] = []
    absent = True
    for url in channel.urls:
        try:
            reading, lack = read_folder(_folder(channel, subdir, url))
        except HttpProblem as problem:
            passed.append((redact_credentials(url), problem.reason))
            absent = absent and problem.missing
            continue
        return ChannelListing(
            channel.name,
            subdir,
            reading.records,
            url,
            lack,
            passed_over=tuple(passed),
            garbled=reading.garbled,
        )
    message = tr("has no address") if not passed else passed[0][1]
    return ChannelListing(
        channel.name, subdir, (), None, message, absent=absent and bool(passed), passed_over=tuple(passed)
    )


def _folder(channel: CondaChannel, subdir: str, url: str) -> Folder:
    """Return a channel's folder for a platform; that of a local channel is a path."""
    if is_remote(url):
        return Folder(channel.name, subdir, join_path(url, subdir))
    return Folder(channel.name, subdir, str(local_path(url).absolute() / subdir))


def _reading_or_problem(
    read: Callable[[str], StoredRecords], file: str
) -> StoredRecords | HttpProblem | None:
    """Read one format; None where it is not served, a problem where it is broken. Others are raised."""
    try:
        return read(file)
    except HttpProblem as problem:
        if problem.status not in _REFUSED:
            raise
        return None
    except ValueError as error:
        return HttpProblem(
            tr("returned invalid repodata for `{file}`: {error}", file=file, error=reason_of(error))
        )


class _FolderReader:
    """One folder at one address, in the first of the formats that it is served in."""

    def __init__(
        self, folder: Folder, names: frozenset[str], streams: Streams, client: HttpClient, store: ChannelStore
    ) -> None:
        self._folder, self._names, self._streams, self._store = folder, names, streams, store
        self._offline = client.offline
        self._kept = store.load(folder) if is_remote(folder.url) else None
        self._covers = self._kept is not None and names <= self._kept.names

    def read(self) -> tuple[StoredRecords, str | None]:
        """Return what the folder holds of the names, and what is lacking; else raise HttpProblem."""
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
        lacking = ", ".join(f"`{name}`" for name in sorted(self._names - self._kept.names))
        lack = tr("is in the cache without {names}", names=lacking) if lacking else None
        return self._selected(self._kept), lack

    def _selected(self, reading: StoredRecords) -> StoredRecords:
        """Leave out the names that others asked for."""
        return replace(
            reading,
            records=tuple(record for record in reading.records if package_of(record.filename) in self._names),
            garbled=tuple(name for name in reading.garbled if package_of(name) in self._names),
        )

    def _read_in_turn(self, read: Callable[[str], StoredRecords]) -> StoredRecords:
        """Try the formats; what is there but broken is worth telling, what is not there is not."""
        problem = HttpProblem(tr("has no such directory"), MISSING[0])
        for file in self._files():
            answer = _reading_or_problem(read, file)
            if isinstance(answer, StoredRecords):
                return answer
            problem = problem if answer is None or problem.status is None else answer
        raise problem

    def _files(self) -> tuple[str, ...]:
        first = self._kept.file if self._kept and self._kept.file in FILES else FILES[0]
        return (first, *(file for file in FILES if file != first))

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
                entries = parse_repodata(decompressed(stream.pieces()), self._asked())
                return self._reading(file, entries, self._asked(), stream)
        return self._read_shards(parse_shard_index(body, self._asked()), stream, kept)

    def _asked(self) -> frozenset[str]:
        """The names, and those that were asked for before: the next to ask for them need not ask again."""
        before = self._kept.names if self._kept else frozenset()
        return self._names | before if len(before) < _MOST_NAMES else self._names

    def _read_shards(self, index: ShardIndex, stream: Stream, kept: StoredRecords | None) -> StoredRecords:
        """Read the shards that changed, and take the others' records as they were kept."""
        same = set(kept.digests) & set(index.shards) if kept else set()
        names = {name for name, _ in same}
        changed = [shard for shard in index.shards if shard not in same]
        entries = Entries(tuple(self._shard_entries(index, changed)), index.base_url)
        reading = self._reading(INDEX_FILE, entries, self._asked(), stream)
        if kept is None or kept.files_url != reading.files_url:
            return (
                replace(reading, digests=index.shards) if not same else self._read_shards(index, stream, None)
            )
        return replace(
            reading,
            records=(
                *(record for record in kept.records if package_of(record.filename) in names),
                *reading.records,
            ),
            garbled=(*(item for item in kept.garbled if package_of(item) in names), *reading.garbled),
            digests=index.shards,
        )

    def _shard_entries(
        self, index: ShardIndex, shards: list[tuple[str, str]]
    ) -> Iterator[tuple[str, object]]:
        base = urljoin(f"{self._folder.url}/", index.shards_base_url)
        jobs = [self._shard_job(join_path(base, f"{digest}.msgpack.zst")) for _, digest in shards]
        for position, answer in in_turns(jobs, at_a_time=_SHARDS_AT_A_TIME, limit_s=_SHARD_LIMIT_S):
            if isinstance(answer, HttpProblem):
                raise answer
            name, digest = shards[position]
            yield from parse_shard(answer, digest, name).entries

    def _shard_job(self, url: str) -> Callable[[], bytes]:
        def read() -> bytes:
            with self._streams.open(url) as stream:
                return stream.read(_LARGEST)

        return read

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
    """Whether its server said that it stays as it is until now; our clock may have been set back since."""
    return 0 <= time.time() - reading.fetched < min(reading.max_age_s, _LONGEST_AGE_S)
