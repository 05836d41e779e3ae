"""Asking mirrors what they have and how fast: side by side, few requests to one host, each with a limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

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


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    """How many mirrors are asked at a time, for how long each, and how much of a file is read.

    `sample_s` are the seconds after a file's first byte; `pages_s` is for all pages of one mirror.
    """

    at_a_time: int = 8
    whole_s: float = 20.0
    pages_s: float = 12.0
    sample_bytes: int = 2 << 20
    sample_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Probe:
    """What to ask one mirror: pages, and of the files they list the one that `pick` chooses."""

    pages: tuple[tuple[IndexSource, tuple[NormalizedName, ...]], ...]  # each is one request
    pick: Callable[[tuple[Listing, ...]], WheelFile | None]


class _Hosts:
    """Lets few requests at a time to one host, whoever makes them."""

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
    """Yield each mirror's place and what it answered, as they come; nothing is raised."""
    chosen = pace or ProbeLimits()
    hosts = _Hosts()
    jobs = [_Mirror(probe, client, chosen, hosts).read for probe in probes]
    for position, answer in in_turns(jobs, at_a_time=chosen.at_a_time, limit_s=chosen.whole_s + 1):
        yield position, answer if isinstance(answer, ProbeResult) else _nothing(probes[position], answer)


def _nothing(probe: Probe, problem: HttpProblem) -> ProbeResult:
    return ProbeResult(tuple(listing for page in probe.pages for listing in _listed(problem, *page)))


def measure_files(urls: Sequence[str], client: HttpClient, pace: ProbeLimits) -> tuple[Sample | None, ...]:
    """Read a part of each file, side by side; None for those that can't be read in time."""
    hosts = _Hosts()

    def job(url: str) -> Callable[[], Sample]:
        def read() -> Sample:
            with hosts.turn(url):
                return read_sample(client, url, count=pace.sample_bytes, limit_s=pace.sample_s)

        return read

    answers = dict(in_turns([job(url) for url in urls], at_a_time=pace.at_a_time, limit_s=pace.whole_s))
    return tuple(
        None if isinstance(answer, HttpProblem) else answer
        for answer in (answers[position] for position in range(len(urls)))
    )


@dataclass(frozen=True, slots=True)
class _Mirror:
    """One mirror while it is asked."""

    probe: Probe
    client: HttpClient
    pace: ProbeLimits
    hosts: _Hosts

    def read(self) -> ProbeResult:
        ends = time.monotonic() + self.pace.whole_s
        listings = self._pages()
        file = self.probe.pick(listings)
        if file is None:
            return ProbeResult(listings)
        return self._measured(listings, file, ends - time.monotonic())

    def _pages(self) -> tuple[Listing, ...]:
        pages = self.probe.pages
        jobs = [self._page(source, projects) for source, projects in pages]
        # all at once: each waits for its turn at its host, and the limit is for them together
        answers = dict(in_turns(jobs, at_a_time=len(jobs), limit_s=self.pace.pages_s))
        return tuple(
            listing for position, page in enumerate(pages) for listing in _listed(answers[position], *page)
        )

    def _page(
        self, source: IndexSource, projects: tuple[NormalizedName, ...]
    ) -> Callable[[], tuple[Listing, ...]]:
        def read() -> tuple[Listing, ...]:
            with self.hosts.turn(source.url):
                return read_listings((source,), projects, self.client)

        return read

    def _measured(self, listings: tuple[Listing, ...], file: WheelFile, left_s: float) -> ProbeResult:
        def read() -> Sample:
            with self.hosts.turn(file.url):
                return read_sample(
                    self.client, file.url, count=self.pace.sample_bytes, limit_s=self.pace.sample_s
                )

        ((_, answer),) = in_turns([read], at_a_time=1, limit_s=max(left_s, 0.1))
        if isinstance(answer, HttpProblem):
            return ProbeResult(listings, file, problem=answer.reason)
        return ProbeResult(listings, file, answer.bytes_per_s, answer.length, answer.url)


def _listed(
    answer: tuple[Listing, ...] | HttpProblem, source: IndexSource, projects: tuple[NormalizedName, ...]
) -> tuple[Listing, ...]:
    if not isinstance(answer, HttpProblem):
        return answer
    return tuple(
        Listing(source, project, (), _page_of(source, project), problem=answer.reason) for project in projects
    )


def _page_of(source: IndexSource, project: NormalizedName) -> str:
    return flat_page(source.url) if source.kind == "flat" else project_page(source.url, project)
