"""What lies in a conda environment, by its `conda-meta`: the one thing that tells whether it was made."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import series, tr
from gpuenv.installers.conda.check_solution import channel_name, check_solved
from gpuenv.installers.conda.commands import environment_python
from gpuenv.model.conda import CondaPin, CondaRecord
from gpuenv.untrusted.documents import load_json

_FILE = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-(?P<build>[^-]+)\.json")
LARGEST = 64 * 1024 * 1024  # bytes; a record lists the files of its package
_SHOWN = 3


def is_conda_environment(prefix: Path) -> bool:
    """Tell whether a directory is an environment of a conda tool, and not what a failed one has left."""
    return (prefix / "conda-meta" / "history").is_file() and bool(installed_names(prefix))


def installed_names(prefix: Path) -> dict[str, CondaRecord]:
    """Map the names of the packages in an environment to what the names of their files tell.

    `conda-meta/pytorch-2.8.0-cuda129_mkl_py311_h129abc_301.json`; subdir, channel and build number are not
    told there (`read_record` reads them).
    """
    matches = (_FILE.fullmatch(file.name) for file in sorted(prefix.glob("conda-meta/*.json")))
    return {
        match["name"]: _named(match["name"], match["version"], match["build"]) for match in matches if match
    }


def _named(name: str, version: str, build: str) -> CondaRecord:
    return CondaRecord(name, version, build, 0, "", "", f"{name}-{version}-{build}", "")


def read_record(prefix: Path, record: CondaRecord) -> CondaRecord:
    """Return what an environment's own record of a package says; raise ValueError for a broken one."""
    file = prefix / "conda-meta" / f"{record.name}-{record.version}-{record.build}.json"
    try:
        if file.stat().st_size > LARGEST:
            raise ValueError(tr("`{file}` is too large for a record", file=file))  # noqa: TRY301 - as bad as the others
        return parse_record(read_limited_text(file))
    except (OSError, ValueError) as error:
        raise ValueError(f"`{file}`: {error}") from None


def parse_record(text: str) -> CondaRecord:
    """Parse a file of conda-meta; raise ValueError.

    {"name": "pytorch", "version": "2.8.0", "build": "cuda129_mkl_py311_h129abc_301", "build_number": 301,
     "channel": "https://conda.example/conda-forge/linux-64", "subdir": "linux-64", "files": [...],
     "fn": "pytorch-2.8.0-cuda129_mkl_py311_h129abc_301.conda", "url": "https://conda.example/...", ...}
    """
    document = load_json(text)
    if not isinstance(document, dict):
        raise ValueError(tr("the record is not an object"))
    return CondaRecord(
        name=_text(document, "name"),
        version=_text(document, "version"),
        build=_text(document, "build"),
        build_number=document["build_number"] if isinstance(document.get("build_number"), int) else 0,
        subdir=str(document.get("subdir") or ""),
        channel=channel_name(str(document.get("channel") or ""), ()) or "",
        filename=str(document.get("fn") or ""),
        url=str(document.get("url") or ""),
    )


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(tr("the record has no `{key}`", key=key))
    return value


def problem_in(
    prefix: Path, records: tuple[CondaRecord, ...], pins: tuple[CondaPin, ...], system: str
) -> str | None:
    """Return what an environment lacks of its plan: packages, builds, an interpreter; None for nothing.

    Exit codes are no proof: micromamba 2.8.1 ends with 0 where it could not lock its cache and did nothing.
    """
    installed = installed_names(prefix)
    missing = [record for record in records if not _is_there(record, installed)]
    if missing:
        return tr(
            "{count} of {all} packages are missing: {names}",
            count=len(missing),
            all=len(records),
            names=series(f"{record.name} {record.version} {record.build}" for record in missing[:_SHOWN]),
        )
    try:
        pinned = tuple(
            read_record(prefix, installed[pin.name]) for pin in pins if pin.name in installed
        )  # fmt: skip
    except ValueError as error:
        return str(error)
    different = check_solved(pinned, pins)
    if different:
        return str(different[0])
    python = environment_python(str(prefix), system)
    if "python" in installed and not os.path.lexists(python):
        return tr("it has no interpreter at `{path}`", path=python)
    return None


def _is_there(record: CondaRecord, installed: dict[str, CondaRecord]) -> bool:
    conda_record = installed.get(record.name)
    return conda_record is not None and (conda_record.version, conda_record.build) == (
        record.version,
        record.build,
    )
