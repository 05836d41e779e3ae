"""Hand a conda tool the list of packages that it solved, so that it solves once; then mend its records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gpuenv.environments.conda.meta import LARGEST
from gpuenv.environments.conda.package_cache import unpacked_folders
from gpuenv.files.config_files import replace_bytes
from gpuenv.files.read_limited import read_limited
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.commands import specs
from gpuenv.installers.conda.explicit import (
    asked_by_configuration,
    history_of_specs,
    record_of_solve,
    render_list,
    requested_as,
    spec_names,
    unlisted_because,
)
from gpuenv.installers.conda.json_output import texts
from gpuenv.installers.conda.solve import Solved
from gpuenv.installers.conda.tool import tool_versions
from gpuenv.model.conda import CondaRecord
from gpuenv.model.errors import GpuenvError
from gpuenv.process.guardian import temporary_folder

_HISTORY = Path("conda-meta", "history")
_RECORD = Path("info", "repodata_record.json")


def to_list(tool: Tool, solved: Solved, caches: tuple[Path, ...]) -> tuple[CondaRecord, ...]:
    """Return the packages to list; raise ValueError where one has no address or hash, or a password.

    conda's dry run tells none of a package that it need not fetch: its record in the cache does.
    """
    known = (record if record.url else _cached(record, caches) or record for record in solved.records)
    records = tuple(known)
    hides = tool in tool_versions().hiding
    fetch = {_key(record) for record in solved.fetch}
    fetched = (record for record in records if _key(record) in fetch)
    reason = unlisted_because(records, fetched, solved.wanted.channels, hides=hides)
    if reason:
        raise ValueError(reason)
    return records


@contextmanager
def written_list(records: tuple[CondaRecord, ...], subdir: str) -> Iterator[Path]:
    """Write the list where only its user can read it, and remove it in the end, whatever ends gpuenv."""
    with temporary_folder("gpuenv-list-") as folder:
        file = Path(folder) / "explicit.txt"  # conda 26 tells the kind of a file by its name, too
        file.write_text(render_list(records, subdir), encoding="utf-8", newline="\n")
        yield file


def record_as_solved(solved: Solved, caches: tuple[Path, ...]) -> None:
    """Make an environment made from a list one as from a solve; raise ValueError for an unexpected history.

    So `conda install` later finds in its history what was asked for, and in `conda-meta` what the packages
    require by the channel.
    """
    prefix, requested = Path(solved.wanted.prefix), specs(solved.wanted)
    files = {record: prefix / "conda-meta" / f"{'-'.join(_key(record))}.json" for record in solved.records}
    documents = {record: _document(file) for record, file in files.items()}
    mended = {record: record_of_solve(document, record) for record, document in documents.items()}
    needs = {record.name: texts(document.get("depends")) for record, document in mended.items()}
    requested += asked_by_configuration(needs, requested)
    names = spec_names(requested)
    history = prefix / _HISTORY
    text = history_of_specs(read_limited(history).decode(), requested)
    history.write_text(text, encoding="utf-8", newline="\n")
    for record, document in mended.items():
        files[record].write_bytes(
            _render(requested_as(document, names.get(record.name)))
        )  # nobody reads it yet
    fetched = {_key(record) for record in solved.fetch}
    for record in solved.records:
        for folder in unpacked_folders(record, caches) if _key(record) in fetched else ():
            with suppress(OSError, ValueError, GpuenvError):  # another user's
                cached = _document(folder / _RECORD)
                if cached != (completed := record_of_solve(cached, record)):
                    replace_bytes(folder / _RECORD, _render(completed))


def _document(file: Path) -> dict[str, Any]:
    return msgspec.json.decode(read_limited(file, LARGEST), type=dict[str, Any])


def _render(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _cached(record: CondaRecord, caches: tuple[Path, ...]) -> CondaRecord | None:
    """Return a package with the address and hash that its record in a cache has, None without one."""
    for folder in unpacked_folders(replace(record, filename=f"{record.filename}.conda"), caches):
        with suppress(OSError, ValueError):
            row = msgspec.json.decode(read_limited(folder / _RECORD), type=_CacheRow)
            if (row.name, row.version, row.build) == _key(record):
                return replace(record, filename=row.fn, url=row.url, sha256=row.sha256)
    return None


class _CacheRow(msgspec.Struct, frozen=True):
    name: str
    version: str
    build: str
    fn: str
    url: str
    sha256: str | None = None


def _key(record: CondaRecord) -> tuple[str, str, str]:
    return record.name, record.version, record.build
