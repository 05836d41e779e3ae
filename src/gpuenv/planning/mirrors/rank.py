"""Which of the mirrors that answer is the fastest: measured, or remembered from today."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from gpuenv.http import HttpClient
from gpuenv.indexes.mirrors.measurements import Speed, address_of, read_memory, remember
from gpuenv.indexes.mirrors.notes import hosts_elsewhere
from gpuenv.indexes.mirrors.probe import ProbeLimits, measure_files
from gpuenv.indexes.mirrors.wanted_files import newest_file
from gpuenv.model.index import Listing
from gpuenv.model.mirror import Mirror

_QUICK = ProbeLimits(whole_s=5.0, sample_bytes=1 << 20, sample_s=1.5)


def ranked_mirrors(
    mirrors: Sequence[Mirror], listings: tuple[Listing, ...], client: HttpClient, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the names of the mirrors, those whose wheels come fastest first.

    `listings` are those that were read of them: the newest torch on each is what it is measured by. What was
    measured today is not measured again. Nothing is measured offline.
    """
    memory = read_memory(environ)
    speeds = {mirror.name: memory.speed_of(mirror) for mirror in mirrors}
    unknown = [mirror for mirror in mirrors if speeds[mirror.name] is None]
    if not client.offline:
        measured = _measure(unknown, listings, client)
        remember(environ, measured)
        speeds |= {speed.name: speed.bytes_per_s for speed in measured}
    return tuple(sorted(speeds, key=lambda name: -(speeds[name] or 0)))


def _measure(
    mirrors: Sequence[Mirror], listings: tuple[Listing, ...], client: HttpClient
) -> tuple[Speed, ...]:
    results = [(mirror, _url(mirror, listings)) for mirror in mirrors]
    requested = [(mirror, url) for mirror, url in results if url]
    samples = measure_files([url for _, url in requested], client, _QUICK) if requested else ()
    now = time.time()
    return tuple(
        Speed(mirror.name, address_of(mirror), now, sample.bytes_per_s if sample else 0)
        for (mirror, _), sample in zip(requested, samples, strict=True)
    )


def _url(mirror: Mirror, listings: tuple[Listing, ...]) -> str | None:
    """The address of a wheel on a mirror itself, of its torch part where that has any."""
    own = [
        listing for listing in listings if listing.source.name == mirror.name and not hosts_elsewhere(listing)
    ]
    torch = [listing for listing in own if listing.source.kind != "pypi"]
    file = newest_file(torch) or newest_file(own)
    return file.url if file else None
