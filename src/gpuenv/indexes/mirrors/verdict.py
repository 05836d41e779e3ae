"""What is found out about mirrors: whether they hold the files of a plan, and which of them is fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.notes import hosts_elsewhere
from gpuenv.indexes.mirrors.wanted_files import ProbeTarget, WantedFiles, find_target, part_of
from gpuenv.model.index import Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.wheel import IndexKind, WheelFile
from gpuenv.resolution.candidate import release_of

_TORCH = "torch"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What one mirror answered: its pages, and a partial read of a file that they list.

    `bytes_per_s` and `length` (bytes, of the whole file) are None where the file could not be read, for the
    reason `problem`; `read_at` is the address that it came from.
    """

    listings: tuple[Listing, ...]
    file: WheelFile | None = None
    bytes_per_s: int | None = None
    length: int | None = None
    read_at: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """What is known of a mirror; None is what nobody asked for, or what it did not tell.

    `leaks` are the hosts, not its own, that its pages and files lie on; `file` is the one that was read,
    `measured_at` when, in seconds since 1970.
    """

    name: str
    kind: str
    answers: bool | None = None
    has: bool | None = None
    newest_torch: str | None = None
    leaks: tuple[str, ...] | None = None
    stale: bool | None = None
    bytes_per_s: int | None = None
    rank: int | None = None
    problem: str | None = None
    file: str | None = None
    measured_at: float | None = None


def lengths_agreed(readings: Iterable[ProbeResult], official: ProbeResult | None = None) -> dict[str, int]:
    """Return how long files are, by name: as the official index has it, else as most mirrors have it."""
    counters: dict[str, Counter[int]] = {}
    for reading in readings:
        length = _length_told(reading)
        if reading.file is not None and length is not None:
            counters.setdefault(reading.file.filename, Counter())[length] += 1
    agreed = {name: length for name, counts in counters.items() if (length := _settled(counts)) is not None}
    if official is not None and official.file is not None and (length := _length_told(official)) is not None:
        agreed[official.file.filename] = length
    return agreed


def _length_told(reading: ProbeResult) -> int | None:
    on_page = reading.file.size if reading.file else None
    return reading.length if on_page is None else on_page


def _settled(counts: Counter[int]) -> int | None:
    """The length that more than half tell; the word of one alone is nothing to hold it against."""
    length, count = counts.most_common(1)[0]
    return length if 2 * count > sum(counts.values()) and count > 1 else None


def judge(mirror: Mirror, reading: ProbeResult, wanted: WantedFiles, lengths: dict[str, int]) -> MirrorStatus:
    """Say what a mirror's answers mean."""
    answered = [listing for listing in reading.listings if not listing.problem]
    if not answered:
        return MirrorStatus(mirror.name, mirror.kind, answers=False, has=False, problem=_page_down(reading))
    kind, newest = _newest(answered)
    known = dict(wanted.newest).get(kind)
    fault = _fault_of_file(reading, wanted, lengths)
    holds = any(_holds(group, reading.listings, wanted) for group in wanted.groups)
    missing = None if holds else _what_is_missing(mirror, reading, wanted)
    return MirrorStatus(
        mirror.name,
        mirror.kind,
        answers=True,
        has=holds and fault is None,
        newest_torch=str(newest) if newest else None,
        leaks=_leaks(reading, answered),
        stale=None if newest is None or known is None else newest < known,
        bytes_per_s=reading.bytes_per_s,
        problem=fault or _page_down(reading) or missing,
        file=reading.file.filename if reading.file else None,
    )


def _page_down(reading: ProbeResult) -> str | None:
    """What is wrong with the first page that could not be read."""
    messages = (
        tr("{page} {problem}", page=listing.page, problem=listing.problem)
        for listing in reading.listings
        if listing.problem
    )
    return next(messages, None)


def _newest(listings: Iterable[Listing]) -> tuple[IndexKind, Version | None]:
    """The newest stable torch, that of the PyTorch index's builds where a mirror has any."""
    for kind in ("pytorch", "pypi"):
        releases = [
            release_of(file.version)
            for listing in listings
            if listing.project == _TORCH and part_of(listing) == kind
            for file in listing.files
            if not file.version.is_prerelease and not file.yanked
        ]
        if releases:
            return kind, max(releases)
    return "pytorch", None


def _holds(group: tuple[ProbeTarget, ...], listings: tuple[Listing, ...], wanted: WantedFiles) -> bool:
    return all(find_target(target, listings, wanted.platform) for target in group)


def _leaks(reading: ProbeResult, answered: list[Listing]) -> tuple[str, ...]:
    hosts = [host for listing in answered for host in hosts_elsewhere(listing)]
    for listing in answered:
        if reading.file is not None and reading.file in listing.files:
            alone = replace(listing, files=(reading.file,), read_at=reading.read_at)
            hosts += hosts_elsewhere(alone)
    return tuple(dict.fromkeys(hosts))


def _fault_of_file(reading: ProbeResult, wanted: WantedFiles, lengths: dict[str, int]) -> str | None:
    """What is wrong with the file that was read."""
    file = reading.file
    if file is None:
        return None
    if reading.problem:
        return tr("{file} {problem}", file=file.filename, problem=reading.problem)
    expected = lengths.get(file.filename, file.size)
    if reading.length is not None and expected not in (None, reading.length):
        return tr(
            "{file} has {length} bytes there, not {expected}",
            file=file.filename, length=reading.length, expected=expected,
        )  # fmt: skip
    known = {target.sha256 for group in wanted.groups for target in group if target.filename == file.filename}
    if file.sha256 and known - {None} and file.sha256 not in known:
        return tr("its page lists another digest of {file} than is known", file=file.filename)
    return None


def _what_is_missing(mirror: Mirror, reading: ProbeResult, wanted: WantedFiles) -> str:
    if mirror.torch is None and wanted.instead and _holds(wanted.instead, reading.listings, wanted):
        return tr(
            "has no torch wheels except PyPI's own; {file} is usable too", file=wanted.instead[0].filename
        )
    if mirror.torch is None:
        return tr("has no torch wheels except PyPI's own")
    group = next((targets for targets in wanted.groups if targets[0].kind == "pytorch"), wanted.groups[0])
    missing = [target for target in group if not find_target(target, reading.listings, wanted.platform)]
    return tr("does not have {file}", file=", ".join(target.filename for target in missing or group))


def not_asked(mirror: Mirror) -> MirrorStatus | None:
    """Say why a mirror is not worth a request; None where it is."""
    if mirror.status == "retired":
        return MirrorStatus(
            mirror.name, mirror.kind, answers=False, has=False, problem=tr("has been shut down")
        )
    if mirror.pypi is None and mirror.torch is None:
        return MirrorStatus(
            mirror.name, mirror.kind, has=False,
            problem=tr("carries neither torch wheels nor a copy of PyPI"),
        )  # fmt: skip
    return None


def by_rank(verdicts: Iterable[MirrorStatus]) -> tuple[MirrorStatus, ...]:
    """Return the mirrors in order, those that have it all numbered from 1, the fastest first.

    One whose links leave it stands behind those that serve by themselves; then come those that answer.
    """
    ordered = sorted(verdicts, key=_place)
    good = [status for status in ordered if status.has and status.bytes_per_s]
    numbers = {status.name: number for number, status in enumerate(good, 1)}
    return tuple(replace(status, rank=numbers.get(status.name)) for status in ordered)


def _place(verdict: MirrorStatus) -> tuple[bool, bool, bool, int]:
    serves = bool(verdict.has and verdict.bytes_per_s)
    return (not serves, not (serves or verdict.answers), bool(verdict.leaks), -(verdict.bytes_per_s or 0))
