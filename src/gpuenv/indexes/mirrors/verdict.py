"""Judge mirrors: whether they have the files of a plan, and which is the fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import Version

from gpuenv.i18n.messages import series, tr
from gpuenv.indexes.mirrors.notes import hosts_elsewhere
from gpuenv.indexes.mirrors.wanted_files import ProbeTarget, WantedFiles, find_target, part_of
from gpuenv.model.index import Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.wheel import IndexKind, WheelFile
from gpuenv.resolution.candidate import release_of

_TORCH = "torch"


class ProbeResult(Struct, frozen=True):
    """The pages of a mirror, and a sample of a file that they list.

    `bytes_per_s` and `length` (of the whole file) are None where the file could not be read, for the reason
    `problem`; `read_at` is the final URL.
    """

    listings: tuple[Listing, ...]
    file: WheelFile | None = None
    bytes_per_s: int | None = None
    length: int | None = None
    read_at: str | None = None
    problem: str | None = None


class MirrorStatus(Struct, frozen=True):
    """The status of a mirror, None where unknown; `leaks` are foreign hosts of its pages and files."""

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
    """Return the lengths of files by name, according to the official index, else to most mirrors."""
    counters: dict[str, Counter[int]] = {}
    for reading in readings:
        length = _length(reading)
        if reading.file is not None and length is not None:
            counters.setdefault(reading.file.filename, Counter())[length] += 1
    agreed = {}
    for name, counts in counters.items():
        length, count = counts.most_common(1)[0]
        if count > max(1, counts.total() / 2):  # one mirror alone is no evidence
            agreed[name] = length
    if official is not None and official.file is not None and (length := _length(official)) is not None:
        agreed[official.file.filename] = length
    return agreed


def _length(reading: ProbeResult) -> int | None:
    listed = reading.file.size if reading.file else None
    return reading.length if listed is None else listed


def judge(mirror: Mirror, reading: ProbeResult, wanted: WantedFiles, lengths: dict[str, int]) -> MirrorStatus:
    """Return a mirror's status by its pages and the sample."""
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
    """Describe the first page that could not be read."""
    failed = next((listing for listing in reading.listings if listing.problem), None)
    return tr("{page} {problem}", page=failed.page, problem=failed.problem) if failed else None


def _newest(listings: Iterable[Listing]) -> tuple[IndexKind, Version | None]:
    """Return the newest stable torch, of the PyTorch index's builds if there are any."""
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
    """Describe what is wrong with the sampled file."""
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
    return tr("does not have {file}", file=series(target.filename for target in missing or group))


def not_asked(mirror: Mirror) -> MirrorStatus | None:
    """Return the status of a mirror that need not be probed; None for any other."""
    if mirror.status == "retired":
        problem = tr("has been shut down")
        return MirrorStatus(mirror.name, mirror.kind, answers=False, has=False, problem=problem)
    if mirror.pypi is None and mirror.torch is None:
        problem = tr("carries neither torch wheels nor a copy of PyPI")
        return MirrorStatus(mirror.name, mirror.kind, has=False, problem=problem)
    return None


def by_rank(verdicts: Iterable[MirrorStatus]) -> tuple[MirrorStatus, ...]:
    """Sort mirrors: those with all files ranked by speed, self-contained ones first, then the others."""
    ordered = sorted(verdicts, key=_order)
    good = [status for status in ordered if status.has and status.bytes_per_s]
    numbers = {status.name: number for number, status in enumerate(good, 1)}
    return tuple(replace(status, rank=numbers.get(status.name)) for status in ordered)


def _order(verdict: MirrorStatus) -> tuple[bool, bool, bool, int]:
    serves = bool(verdict.has and verdict.bytes_per_s)
    return (not serves, not (serves or verdict.answers), bool(verdict.leaks), -(verdict.bytes_per_s or 0))
