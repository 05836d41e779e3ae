"""What new builds of torch depend on, with sizes: read from the wheels that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.pool import in_turns
from gpuenv.http.ranges import ByteRanges
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.urls import is_remote, local_path
from gpuenv.matrix.dependency_rows import Sizes, file_row
from gpuenv.matrix.dependency_targets import DependencyTarget, find_wheels, unknown_of
from gpuenv.matrix.read_wheel import read_metadata
from gpuenv.matrix.refresh_rows import cite_file
from gpuenv.model.index import IndexSource, Listing
from gpuenv.wheels.archive import WheelArchive, WheelProblem, open_local_wheel, open_wheel

Row = Mapping[str, Any]
_AT_A_TIME = 8
_WHEEL_S = 60.0
_ROUNDS = 6  # torch, cuda-toolkit, nvidia-cudnn, nvidia-cublas: no chain is longer
# what builds of torch ask for, and what stands beside them in most environments
BESIDE = ("numpy", "pillow")


def read_dependencies(
    builds: Iterable[Row],
    known: tuple[Row, ...],
    sources: tuple[IndexSource, ...],
    client: HttpClient,
    date: str,
) -> Iterator[tuple[Row, ...]]:
    """Yield rows for the wheels that the builds bring and no row tells of; what can't be read is left out."""
    asking: tuple[Row, ...] = tuple(builds)
    listed: dict[str, tuple[Listing, ...]] = {}
    tried: set[str] = set()
    for _ in range(_ROUNDS):
        wanted = unknown_of(asking, known)
        names = tuple(dict.fromkeys(unsized.project for unsized in wanted if unsized.project not in listed))
        listings = read_listings(sources, names, client) if names else ()
        for name in names:
            listed[name] = tuple(listing for listing in listings if listing.project == name)
        targets = find_wheels(wanted, (listing for result in listed.values() for listing in result))
        fresh = tuple(target for target in targets if _key(target) not in tried)
        tried.update(map(_key, fresh))
        asking = tuple(_read_all(fresh, client, date))
        known = (*known, *asking)
        if not asking:
            return
        yield asking


def _key(target: DependencyTarget) -> str:
    return f"{target.platform} {target.file.filename}"


def _read_all(targets: tuple[DependencyTarget, ...], client: HttpClient, date: str) -> Iterator[Row]:
    jobs: list[Callable[[], Row | None]] = [partial(_read, target, client, date) for target in targets]
    for _, answer in in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=_WHEEL_S):
        if answer is not None and not isinstance(answer, HttpProblem):
            yield answer


def _read(target: DependencyTarget, client: HttpClient, date: str) -> Row | None:
    try:
        with open_any(target.file.url, client, target.file.size) as archive:
            metadata, _ = read_metadata(archive)
            sizes = sizes_of(archive)
    except WheelProblem:
        return None
    except OSError as error:
        raise HttpProblem(reason_of(error)) from None
    if metadata is None:
        return None
    source = cite_file(target.file, "pypi", date)
    return file_row(target.file, target.platform, metadata, sizes, source, target.extras)


def sizes_of(archive: WheelArchive) -> Sizes:
    """Read how large a wheel is; reads its whole directory."""
    unpacked = archive.unpacked
    return Sizes(archive.length, unpacked)


def open_any(url: str, client: HttpClient, size: int | None) -> WheelArchive:
    """Open a wheel on a server or on disk; its whole directory is to be read."""
    if is_remote(url):
        return open_wheel(ByteRanges(client, url, length=size), whole=True)
    return open_local_wheel(local_path(url))
