"""Fetch a wheel from the first of its locations that has it whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.wheel_cache import WheelStore, digest_of, key_of, plain_digest
from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.ranges import BrokenFileError
from gpuenv.http.timeouts import Patience, Watch
from gpuenv.i18n.messages import tr
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.model.plan import FilePlace, StackFile

_ANY_PACE = Patience(slow_bytes=0)


class Missed(Struct, frozen=True):
    """A location that failed to provide a file; `wrong`: it sent something else."""

    place: FilePlace
    reason: str  # reads after the file's name
    wrong: bool


class Fetched(Struct, frozen=True):
    """A fetched file: its path, the location it came from, and those that failed before."""

    file: StackFile
    place: FilePlace
    path: Path
    sha256: str
    missed: tuple[Missed, ...] = ()


class NotFetchedError(Exception):
    """A file could be fetched from none of its locations."""

    def __init__(self, file: StackFile, missed: tuple[Missed, ...]) -> None:
        super().__init__(file.filename)
        self.file = file
        self.missed = missed


class FetchProgress(Struct, frozen=True):
    """How fetching a file is followed: the location being tried, one that failed, another gpuenv."""

    begins: Callable[[StackFile, FilePlace], None] = lambda _, __: None
    missed: Callable[[StackFile, Missed], None] = lambda _, __: None
    waits: Callable[[StackFile], None] = lambda _: None


def fetch_file(
    store: WheelStore, client: HttpClient, file: StackFile, watch: Watch, follow: FetchProgress
) -> Fetched:
    """Return the file once it is in the store, whole and of the digest that was listed.

    The locations are tried in order; the last one may be slow, as long as it sends at all.
    Raises NotFetchedError, StoppedError, and OSError for the disk.
    """
    missed: list[Missed] = []
    for number, location in enumerate(file.places, 1):
        patience = _ANY_PACE if number == len(file.places) else Patience()
        try:
            path, digest = _fetch(store, client, file, location, patience, watch, follow)
        except (HttpProblem, BrokenFileError) as error:
            wrong = isinstance(error, BrokenFileError)
            missed.append(
                Missed(location, error.reason if isinstance(error, HttpProblem) else str(error), wrong)
            )
            follow.missed(file, missed[-1])
        else:
            return Fetched(file, location, path, digest, tuple(missed))
    raise NotFetchedError(file, tuple(missed))


def _fetch(
    store: WheelStore,
    client: HttpClient,
    file: StackFile,
    location: FilePlace,
    patience: Patience,
    watch: Watch,
    follow: FetchProgress,
) -> tuple[Path, str]:
    listed = plain_digest(location.sha256)
    if not is_remote(location.url):
        return _check_here(local_path(location.url), listed, watch)
    key = key_of(listed, location.url)
    with store.locked(key, watch, lambda: follow.waits(file)):
        stored = store.find(listed, file.filename, watch) if listed else None
        if stored is not None:
            return stored, str(listed)
        from gpuenv.downloads.download import download  # noqa: PLC0415 - not for what is there
        from gpuenv.downloads.expected import Expected  # noqa: PLC0415

        follow.begins(file, location)
        part, counted = store.part(key), _Counted(watch)
        try:
            expected = Expected(listed, location.size)
            digest = download(client, location.url, part, expected, patience=patience, watch=counted.watch)
        except (HttpProblem, BrokenFileError):
            watch.received(-counted.received)  # the next location counts again what is kept
            raise
        return store.keep(part, digest, file.filename), digest


def _check_here(path: Path, listed: str | None, watch: Watch) -> tuple[Path, str]:
    """Return a file of a wheelhouse with its digest; raise BrokenFileError for one that is another's."""
    path = path.absolute()
    digest = digest_of(path, watch)
    if listed is not None and digest != listed:
        raise BrokenFileError(
            tr(
                "is another file: its hash is {digest}…, expected {expected}…",
                digest=digest[:12],
                expected=listed[:12],
            )
        )
    return path, digest


class _Counted:
    """A watch that counts what it received."""

    def __init__(self, watch: Watch) -> None:
        self._outer = watch
        self.received = 0
        self.watch = Watch(self._add, watch.stop)

    def _add(self, count: int) -> None:
        self.received += count
        self._outer.received(count)
