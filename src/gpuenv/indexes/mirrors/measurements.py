"""Measurements of mirrors, remembered for a day in the cache."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, to_builtins

from gpuenv.files.private import replace_private
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.verdict import MirrorStatus
from gpuenv.model.mirror import Mirror
from gpuenv.process.surroundings import cache_root
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.untrusted.documents import load_json

T = TypeVar("T")

KEPT_S = 86400.0
_KEPT_FAILED_S = 600.0
_LONGEST_FILE = 4 << 20
_NEVER = 1e12  # in seconds; also keeps out what is no number
_TEXTS = ("newest_torch", "problem", "file")
_FLAGS = ("answers", "has", "stale")
_NONE = type(None)


class Speed(Struct, frozen=True):
    """How fast a mirror was at `at`, in seconds since 1970; 0 where its file could not be read."""

    name: str
    address: str
    at: float
    bytes_per_s: int

    @property
    def key(self) -> tuple[str, str]:
        """The mirror that was measured."""
        return self.name, self.address


class MeasuredMirror(Struct, frozen=True):
    """The status of a mirror when it was probed for the files `sought`."""

    address: str
    sought: str
    verdict: MirrorStatus

    @property
    def key(self) -> tuple[str, str, str]:
        """The mirror and the files."""
        return self.verdict.name, self.address, self.sought


class Memory(Struct, frozen=True):
    """The measurements that are not too old."""

    speeds: tuple[Speed, ...] = ()
    checks: tuple[MeasuredMirror, ...] = ()

    def speed_of(self, mirror: Mirror) -> int | None:
        """Return a mirror's bytes per second; None if it was not measured today."""
        key = (mirror.name, address_of(mirror))
        return next((speed.bytes_per_s for speed in self.speeds if speed.key == key), None)

    def verdict_of(self, mirror: Mirror, sought: str) -> MirrorStatus | None:
        """Return a mirror's status of today, when it was probed for the same files."""
        key = (mirror.name, address_of(mirror), sought)
        return next((measured.verdict for measured in self.checks if measured.key == key), None)


def address_of(mirror: Mirror) -> str:
    """Return the URLs of a mirror without passwords; with other URLs it is another mirror."""
    urls = (mirror.torch and mirror.torch.address, mirror.pypi and mirror.pypi.simple)
    return redact_credentials(" ".join(url for url in urls if url))


def read_memory(environ: Mapping[str, str], now: float | None = None) -> Memory:
    """Return the measurements as of `now` (seconds since 1970); none if the file cannot be read."""
    try:
        with _file(environ).open("rb") as file:
            read = load_json(file.read(_LONGEST_FILE))
        return _fresh(parse_memory(read), time.time() if now is None else now)
    except (OSError, ValueError, RecursionError):
        return Memory()


def remember(
    environ: Mapping[str, str],
    speeds: Iterable[Speed],
    checks: Iterable[MeasuredMirror] = (),
    now: float | None = None,
) -> None:
    """Add measurements to those remembered, if the disk allows it."""
    kept = read_memory(environ, now)
    latest_speeds = {speed.key: speed for speed in (*kept.speeds, *speeds)}
    latest_checks = {check.key: check for check in (*kept.checks, *checks)}
    memory = Memory(tuple(latest_speeds.values()), tuple(latest_checks.values()))
    with suppress(OSError):
        replace_private(_file(environ), json.dumps(to_builtins(memory)))


def _file(environ: Mapping[str, str]) -> Path:
    return cache_root(environ) / "mirrors.json"


def _fresh(memory: Memory, now: float) -> Memory:
    """Drop old measurements, failures after minutes, and those of a clock that was ahead."""
    speeds = (speed for speed in memory.speeds if _is_fresh(speed.at, now, failed=not speed.bytes_per_s))
    checks = (
        measured
        for measured in memory.checks
        if (at := measured.verdict.measured_at) is not None and _is_fresh(at, now, failed=False)
    )
    return Memory(tuple(speeds), tuple(checks))


def _is_fresh(at: float, now: float, *, failed: bool) -> bool:
    return 0 <= now - at < (_KEPT_FAILED_S if failed else KEPT_S)


def parse_memory(read: Any) -> Memory:
    """Read what `remember` wrote; invalid entries are left out, ValueError for anything else.

    {"speeds": [{"name": "nju", "address": "https://…", "at": 1795000000.0, "bytes_per_s": 9000000}],
     "checks": [{"address": "https://…", "sought": "torch-….whl", "verdict": {"name": "nju", …}}]}
    """
    if not isinstance(read, dict):
        raise ValueError(tr("it is not a JSON object"))
    return Memory(_parsed(read, "speeds", _speed), _parsed(read, "checks", _checked))


def _parsed(read: dict[str, Any], name: str, parse: Callable[[dict[str, Any]], T]) -> tuple[T, ...]:
    entries = read.get(name)
    results: list[T] = []
    for entry in entries if isinstance(entries, list) else ():
        with suppress(ValueError):
            results.append(parse(entry if isinstance(entry, dict) else {}))
    return tuple(results)


def _speed(entry: dict[str, Any]) -> Speed:
    pace = _take(entry, "bytes_per_s", int)
    return Speed(_take(entry, "name", str), _take(entry, "address", str), _time(entry, "at"), max(0, pace))


def _checked(entry: dict[str, Any]) -> MeasuredMirror:
    answer = _take(entry, "verdict", dict)
    texts = {name: _take(answer, name, str, _NONE) for name in _TEXTS}
    flags = {name: _take(answer, name, bool, _NONE) for name in _FLAGS}
    verdict = MirrorStatus(
        name=_take(answer, "name", str),
        kind=_take(answer, "kind", str),
        leaks=_hosts(_take(answer, "leaks", list, _NONE)),
        bytes_per_s=_take(answer, "bytes_per_s", int, _NONE),
        measured_at=_time(answer, "measured_at"),
        **texts,
        **flags,
    )
    return MeasuredMirror(_take(entry, "address", str), _take(entry, "sought", str), verdict)


def _take(entry: dict[str, Any], name: str, *kinds: type) -> Any:
    value = entry.get(name)
    if type(value) not in kinds:
        raise ValueError(f"`{name}` is {value!r}")
    return value


def _time(entry: dict[str, Any], name: str) -> float:
    value = float(_take(entry, name, int, float))
    if not 0 <= value < _NEVER:
        raise ValueError(f"`{name}` is {value!r}")
    return value


def _hosts(value: list[Any] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(host for host in value if isinstance(host, str))
