"""Probe mirrors for files and speed: concurrently, with few requests to one host, each with a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from urllib.parse import urlsplit

from msgspec import Struct
from packaging.utils import NormalizedName

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.pool import in_turns
from gpuenv.http.speed_sample import Sample, read_sample
from gpuenv.indexes.listings import flat_page, read_listings
from gpuenv.indexes.mirrors.verdict import ProbeResult
from gpuenv.indexes.urls import project_page
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.wheel import WheelFile

_TO_ONE_HOST = 2


class ProbeLimits(Struct, frozen=True):
    """How many mirrors are probed at a time, for how long each, and how much of a file is read.

    `sample_s` starts with a file's first byte; `pages_s` is for all pages of one mirror.
    """

    at_a_time: int = 8
    whole_s: float = 20.0
    pages_s: float = 12.0
    sample_bytes: int = 2 << 20
    sample_s: float = 3.0


class Probe(Struct, frozen=True):
    """The pages to request from a mirror; `pick` chooses which of their files to sample."""

    pages: tuple[tuple[IndexSource, tuple[NormalizedName, ...]], ...]  # each is one request
    pick: Callable[[tuple[Listing, ...]], WheelFile | None]


class _Hosts:
    """Limits the concurrent requests to one host."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Semaphore] = {}

    def turn(self, url: str) -> AbstractContextManager[bool]:
        host = urlsplit(url).netloc
        with self._lock:
            return self._turns.setdefault(host, threading.Semaphore(_TO_ONE_HOST))


def probe_mirrors(
    probes: Sequence[Probe], client: HttpClient, pace: ProbeLimits | None = None
) -> Iterator[tuple[int, ProbeResult]]:
    """Yield each probe's number and result as they finish; nothing is raised."""
    chosen = pace or ProbeLimits()
    hosts = _Hosts()
    jobs = [_Mirror(probe, client, chosen, hosts).read for probe in probes]
    for position, answer in in_turns(jobs, at_a_time=chosen.at_a_time, limit_s=chosen.whole_s + 1):
        if isinstance(answer, ProbeResult):
            yield position, answer
        else:
            pages = probes[position].pages
            listings = tuple(listing for page in pages for listing in _listed(answer, *page))
            yield position, ProbeResult(listings)


def measure_files(urls: Sequence[str], client: HttpClient, pace: ProbeLimits) -> tuple[Sample | None, ...]:
    """Read a part of each file concurrently; None for those that cannot be read in time."""
    hosts = _Hosts()
    jobs = [partial(_sample, url, client, pace, hosts) for url in urls]
    answers = sorted(in_turns(jobs, at_a_time=pace.at_a_time, limit_s=pace.whole_s), key=lambda item: item[0])
    return tuple(None if isinstance(answer, HttpProblem) else answer for _, answer in answers)


def _sample(url: str, client: HttpClient, pace: ProbeLimits, hosts: _Hosts) -> Sample:
    with hosts.turn(url):
        return read_sample(client, url, count=pace.sample_bytes, limit_s=pace.sample_s)


class _Mirror(Struct, frozen=True):
    """A mirror that is probed."""

    probe: Probe
    client: HttpClient
    pace: ProbeLimits
    hosts: _Hosts

    def read(self) -> ProbeResult:
        ends = time.monotonic() + self.pace.whole_s
        pages = self.probe.pages
        jobs = [partial(self._page, *page) for page in pages]
        # all at once: each waits for its turn at its host, and the limit is for them together
        answers = dict(in_turns(jobs, at_a_time=len(jobs), limit_s=self.pace.pages_s))
        listings = tuple(
            listing for position, page in enumerate(pages) for listing in _listed(answers[position], *page)
        )
        file = self.probe.pick(listings)
        if file is None:
            return ProbeResult(listings)
        job = partial(_sample, file.url, self.client, self.pace, self.hosts)
        ((_, answer),) = in_turns([job], at_a_time=1, limit_s=max(ends - time.monotonic(), 0.1))
        if isinstance(answer, HttpProblem):
            return ProbeResult(listings, file, problem=answer.reason)
        return ProbeResult(listings, file, answer.bytes_per_s, answer.length, answer.url)

    def _page(self, source: IndexSource, projects: tuple[NormalizedName, ...]) -> tuple[Listing, ...]:
        with self.hosts.turn(source.url):
            return read_listings((source,), projects, self.client)


def _listed(
    answer: tuple[Listing, ...] | HttpProblem, source: IndexSource, projects: tuple[NormalizedName, ...]
) -> tuple[Listing, ...]:
    if not isinstance(answer, HttpProblem):
        return answer
    flat = flat_page(source.url) if source.kind == "flat" else None
    return tuple(
        Listing(source, project, (), flat or project_page(source.url, project), problem=answer.reason)
        for project in projects
    )
