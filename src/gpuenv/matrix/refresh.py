"""`gpuenv matrix refresh`: find what the matrices do not know, read it from the wheels, keep it as rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from packaging.utils import canonicalize_name

from gpuenv.http import HttpClient, HttpProblem
from gpuenv.http.pool import in_turns
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.listings import read_listings
from gpuenv.matrix.accelerator_rows import accelerator_row
from gpuenv.matrix.companion_pairs import pair_rows, torches_to_pair, with_companions
from gpuenv.matrix.dependency_rows import build_row
from gpuenv.matrix.read_wheel import WheelAnswer, reading
from gpuenv.matrix.refresh_dependencies import read_dependencies
from gpuenv.matrix.refresh_rows import NotEnoughError, release_row, torch_row
from gpuenv.matrix_checks.accelerator_targets import find_accelerator_targets, is_for_accelerator
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import PROJECTS, TORCH, WheelTarget, find_targets, parse_only
from gpuenv.matrix_checks.serialise import merge_rows
from gpuenv.model.errors import Because, Fix, Unreachable, UsageError
from gpuenv.model.index import Listing
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.download_size import load_dependencies
from gpuenv.planning.load_knowledge import load_accelerators
from gpuenv.planning.matrix_overlay import (
    Overlay,
    laid_over,
    load_tables,
    overlay_directory,
    read_overlay,
    save_rows,
    set_aside_garbled,
)
from gpuenv.planning.pages.listings import choose_sources
from gpuenv.secrets.url_credentials import redact_credentials

_AT_A_TIME = 8
_WHEEL_S = 180.0
_THOROUGH_S = 1800.0
_TABLES = ("torch", "companions")
_BUILDS = "accelerator-builds"


class RefreshOptions(Struct, frozen=True):
    """The options of `matrix refresh` as typed; `write` is a folder of matrices, None the overlay."""

    indexes: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    dry_run: bool = False
    write: Path | None = None
    reread: bool = False
    thorough: bool = False


class Read(Struct, frozen=True):
    """One wheel: the row that came of it, or why none did."""

    target: WheelTarget
    row: Row | None
    problem: str | None
    received: int


class Refreshed(Struct, frozen=True):
    """What a refresh did; `targets` were to be read, `received` counts bytes of wheels, not of pages."""

    directory: Path
    targets: tuple[WheelTarget, ...]
    read: tuple[Read, ...]
    warnings: tuple[PlanWarning, ...]

    @property
    def received(self) -> int:
        """Bytes of wheels received."""
        return sum(item.received for item in self.read)


class RefreshWatcher(Protocol):
    """Follows the progress of a refresh."""

    def begin(self, count: int) -> None:
        """Start with the number of wheels to be read."""

    def done(self, read: Read) -> None:
        """Count one that was read."""


class _Tables(Struct):
    """What is known so far; rows are saved as they come, so that nothing is read twice after a Ctrl-C."""

    directory: Path
    environ: Mapping[str, str]
    rows: dict[str, tuple[Row, ...]]
    found: dict[str, tuple[Row, ...]] = field(default_factory=dict)

    def add(self, table: str, rows: tuple[Row, ...]) -> None:
        if rows:
            save_rows(self.directory, {table: rows}, self.environ)
            self.rows[table] = merge_rows(table, self.rows[table], rows)
            self.found[table] = (*self.found.get(table, ()), *rows)


def refresh(options: RefreshOptions, environ: Mapping[str, str], watcher: RefreshWatcher) -> Refreshed:
    """Read what the indexes list and the matrices do not know; save each row as it comes.

    Raises UsageError for bad options and for a folder that can't be written, Unreachable where no index or no
    wheel could be read.
    """
    only = _only(options)
    overlay = overlay_directory(environ)
    directory = options.write or overlay
    if options.write is None and not options.dry_run:
        set_aside_garbled(environ)
    loaded = _known(environ, directory)
    configuration, sources = choose_sources(options.indexes, environ)
    with HttpClient(environ, access=configuration.access) as client:
        projects = tuple(canonicalize_name(name) for name in _projects(options))
        listings = read_listings(sources, projects, client)
        _refuse_silence(listings)
        known = _counted_as_known(options, directory, loaded)
        builds = load_accelerators(environ).load(_BUILDS)
        written = read_overlay(directory).tables.get(_BUILDS, ())
        others = written if options.reread else (*builds, *written)
        targets = (
            *find_targets(listings, only, known, reread=options.reread),
            *find_accelerator_targets(listings, only, others, reread=options.reread),
        )
        tables = _Tables(directory, environ, {table: loaded.tables[table] for table in _TABLES})
        tables.rows[_BUILDS] = merge_rows(_BUILDS, builds, written)
        tables.rows["dependencies"] = load_dependencies(environ).rows
        read = () if options.dry_run else _read_all(targets, tables, options, client, watcher)
        if not options.dry_run:
            builds, known = tables.found.get("dependencies", ()), tables.rows["dependencies"]
            for rows in read_dependencies(builds, known, sources, client, _today()):
                tables.add("dependencies", rows)
    if not options.dry_run:
        _pair(tables, _written(directory))
    problems = tuple(_unlisted(listing) for listing in listings if listing.problem)
    return Refreshed(directory, targets, read, (*loaded.warnings, *problems, *_floorless(read, loaded)))


def _only(options: RefreshOptions) -> Any:
    try:
        return parse_only(options.only)
    except ValueError as error:
        raise UsageError(reason_of(error), code="bad-requirement") from None


def _projects(options: RefreshOptions) -> tuple[str, ...]:
    named = {str(canonicalize_name(item.name)) for item in _only(options)}
    return tuple(name for name in PROJECTS if not named or name in named)


def _known(environ: Mapping[str, str], directory: Path) -> Overlay:
    """What is known: what was shipped, the overlay, the folder that is written to."""
    loaded = load_tables(environ)
    if directory == overlay_directory(environ):
        return loaded
    written = read_overlay(directory)
    merged = laid_over(loaded.tables, Overlay(written.tables))
    return Overlay(merged.tables, (*loaded.warnings, *written.warnings))


def _counted_as_known(options: RefreshOptions, directory: Path, loaded: Overlay) -> tuple[Row, ...]:
    if options.reread:
        return _written(directory)
    return tuple(row for table in _TABLES for row in loaded.tables[table])


def _written(directory: Path) -> tuple[Row, ...]:
    tables = read_overlay(directory).tables
    return tuple(row for table in _TABLES for row in tables.get(table, ()))


def _refuse_silence(listings: tuple[Listing, ...]) -> None:
    if any(not listing.problem for listing in listings):
        return
    raise Unreachable(
        tr("no index could be read"),
        code="no-index",
        because=tuple(
            Because(_unlisted(item).message, redact_credentials(item.source.origin)) for item in listings
        ),
        fixes=(Fix(tr("name one: `--index https://mirror.example/simple`")),),
    )


def _unlisted(listing: Listing) -> PlanWarning:
    message = tr("{page} {problem}", page=redact_credentials(listing.page), problem=listing.problem)
    return PlanWarning("index-unreadable", message)


def _read_all(
    targets: tuple[WheelTarget, ...],
    tables: _Tables,
    options: RefreshOptions,
    client: HttpClient,
    watcher: RefreshWatcher,
) -> tuple[Read, ...]:
    jobs = [reading(target, client, thorough=options.thorough) for target in targets]
    limit_s = _THOROUGH_S if options.thorough else _WHEEL_S
    watcher.begin(len(jobs))
    read: list[Read] = []
    for position, answer in in_turns(jobs, at_a_time=_AT_A_TIME, limit_s=limit_s):
        item = _keep(targets[position], answer, tables, _today())
        read.append(item)
        watcher.done(item)
    _refuse_failure(read)
    return tuple(read)


def _today() -> str:
    return datetime.now(timezone.utc).date().isoformat()


def _refuse_failure(read: list[Read]) -> None:
    if not read or any(item.row for item in read):
        return
    raise Unreachable(
        tr("none of {count} wheels could be read", count=len(read)),
        code="no-wheel",
        because=tuple(
            Because(f"{item.target.file.filename} {item.problem}", redact_credentials(item.target.file.url))
            for item in read
        ),
    )


def _keep(target: WheelTarget, answer: WheelAnswer | HttpProblem, tables: _Tables, date: str) -> Read:
    if isinstance(answer, HttpProblem):
        return Read(target, None, answer.reason, 0)
    try:
        if is_for_accelerator(target):
            row = accelerator_row(target, answer.facts, tables.rows[_BUILDS], tables.rows["torch"], date)
            tables.add(_BUILDS, (row,))
        elif target.project == TORCH:
            row = torch_row(target, answer.facts, tables.rows["torch"], date)
            tables.add("torch", (row,))
            if answer.sizes is not None:
                tables.add("dependencies", (build_row(target, row, answer.facts.metadata, answer.sizes),))
        else:
            row = release_row(target, answer.facts, tables.rows["companions"], date)
            tables.add("companions", (row,))
    except NotEnoughError as error:
        return Read(target, None, str(error), answer.received)
    return Read(target, row, None, answer.received)


def _pair(tables: _Tables, written: tuple[Row, ...]) -> None:
    """Pair what was read, in this run or in one that was cut short."""
    torches = torches_to_pair(written, tables.rows["torch"])
    pairs = tuple(pair_rows(torches, tables.rows["torch"], tables.rows["companions"]))
    tables.add("companions", pairs)
    tables.add("torch", tuple(with_companions(tables.rows["torch"], pairs)))


def _floorless(read: tuple[Read, ...], loaded: Overlay) -> tuple[PlanWarning, ...]:
    """Tell of CUDA versions without a driver floor: no plan uses their builds before cuda.json has one."""
    cuda = loaded.tables["cuda"]
    known = {row["cuda"] for row in cuda if row["kind"] == "release"}
    majors = {str(row["major"]) for row in cuda if row["kind"] == "family"}
    values = {item.row["cuda"] for item in read if item.row and item.row.get("cuda")}
    missing = sorted(item for item in values if item not in known and item.partition(".")[0] not in majors)
    return tuple(
        PlanWarning(
            "no-driver-floor", tr("the minimum driver for CUDA {cuda} is not in cuda.json", cuda=item)
        )
        for item in missing
    )
