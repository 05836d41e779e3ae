"""Parse the dry runs of conda tools, and compare them with gpuenv's plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.json_output import last_document, texts
from gpuenv.model.conda import CondaChannel, CondaPin, CondaRecord
from gpuenv.secrets.url_credentials import without_userinfo

Tool = Literal["conda", "mamba", "micromamba", "rattler"]

_WORD = re.compile(r"[^\s/\\\0]{1,200}")  # part of file names
_MASKED = re.compile(r"/t/\*+(?=/|$)")
_CPU = re.compile(r"(?:^|_)cpu")
_SUBDIR = re.compile(r"noarch|(?:linux|osx|win|freebsd|zos|wasi|emscripten)-[a-z0-9_]+")


def parse_dry_run(text: str, tool: Tool, channels: tuple[CondaChannel, ...] = ()) -> tuple[CondaRecord, ...]:
    """Parse the packages of the new environment from the output of `create --dry-run --json`.

    conda (URL and digest are only in FETCH, which leaves out cached packages; without them `url` is empty and
    `filename` has no extension):

        {"success": true, "actions": {"FETCH": [...], "LINK": [{"name": "pytorch", "version": "2.8.0",
          "build_string": "cuda129_mkl_py311_h129abc_301", "build_number": 301, "channel": "conda-forge",
          "base_url": "https://conda.example/conda-forge", "platform": "linux-64",
          "dist_name": "pytorch-2.8.0-cuda129_mkl_py311_h129abc_301"}]}}

    mamba and micromamba (1.5 has the subdir behind the channel, and null for an empty list):

        {"success": true, "actions": {"LINK": [{"name": "pytorch", "version": "2.8.0", "build_number": 301,
          "build": "cuda129_mkl_py311_h129abc_301", "channel": "https://conda.example/conda-forge",
          "url": "https://conda.example/conda-forge/linux-64/pytorch-2.8.0-cuda129_mkl_py311_h129abc_301.conda",
          "fn": "pytorch-2.8.0-cuda129_mkl_py311_h129abc_301.conda", "subdir": "linux-64", "depends": [],
          "constrains": [], "sha256": "8605...", "md5": "d9c1...", "size": 31426}]}}

    `channels` give the names of the channels' URLs. Raises ValueError, also for a failure and for an empty
    plan, as for a path that exists.
    """
    document = last_document(text)
    if document.get("success") is not True:
        raise ValueError(tr("it did not report success"))
    link = _actions(document, "LINK")
    if not link:
        raise ValueError(str(document.get("message") or tr("it planned no package")))
    known = {_key(record): record for record in parse_fetch(text, tool, channels)}
    records = (_record(row, tool, channels) for row in link)
    return tuple(known.get(_key(record), record) if tool == "conda" else record for record in records)


def parse_fetch(text: str, tool: Tool, channels: tuple[CondaChannel, ...] = ()) -> tuple[CondaRecord, ...]:
    """Parse the packages that a dry run (see `parse_dry_run`) would download; raise ValueError."""
    # conda's FETCH rows are those of repodata, as mamba's are
    tool = "mamba" if tool == "conda" else tool
    return tuple(_record(row, tool, channels) for row in _actions(last_document(text), "FETCH"))


def _actions(document: Mapping[str, Any], name: str) -> list[Any]:
    actions = document.get("actions") or {}
    rows = actions.get(name) if isinstance(actions, dict) else actions
    if rows is not None and not isinstance(rows, list):
        raise ValueError(tr("`{name}` is not a list", name=name))
    return rows or []


def _key(record: CondaRecord) -> tuple[str, str, str]:
    return record.name, record.version, record.build


def _record(row: Any, tool: Tool, channels: tuple[CondaChannel, ...]) -> CondaRecord:
    if not isinstance(row, dict):
        raise ValueError(tr("`{row}` is not a valid package", row=str(row)[:80]))
    as_conda = tool == "conda"
    subdir = _word(row, "platform" if as_conda else "subdir")
    filename = _word(row, "dist_name" if as_conda else "fn")
    url = "" if as_conda else _text(row, "url")
    base = _text(row, "base_url") if as_conda else url.rpartition("/")[0]
    return CondaRecord(
        name=_word(row, "name"),
        version=_word(row, "version"),
        build=_word(row, "build_string" if as_conda else "build"),
        build_number=_number(row, "build_number") or 0,
        subdir=subdir,
        channel=channel_name(base, channels) or channel_name(_text(row, "channel"), ()) or "",
        filename=filename,
        url=url,
        sha256=_optional(row, "sha256"),
        md5=_optional(row, "md5"),
        size=_number(row, "size"),
        depends=texts(row.get("depends")),
        constrains=texts(row.get("constrains")),
    )


def channel_name(address: str, channels: tuple[CondaChannel, ...]) -> str | None:
    """Return the channel's name of a URL, with or without a subdir at its end.

    Without `channels` it is the last part: `conda-forge` of `https://conda.example/conda-forge/linux-64`.
    """
    parts = address.rstrip("/").split("/")
    if len(parts) > 1 and _SUBDIR.fullmatch(parts[-1]):
        parts = parts[:-1]
    if not channels:
        return parts[-1] or None
    urls = {plain_url(url): item.name for item in reversed(channels) for url in item.urls}
    return urls.get(plain_url("/".join(parts)))


def plain_url(url: str) -> str:
    """Return a URL to compare: tools print them without passwords, and `/t/*****` in the place of a token."""
    return without_userinfo(_MASKED.sub("", url)).rstrip("/")


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str):
        raise ValueError(tr("a package has no `{key}`", key=key))
    return value


def _word(row: Mapping[str, Any], key: str) -> str:
    value = _text(row, key)
    if not _WORD.fullmatch(value):
        raise ValueError(tr("`{value}` is not a valid package `{key}`", value=value[:80], key=key))
    return value


def _optional(row: Mapping[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None


def _number(row: Mapping[str, Any], key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class CondaDifference(Struct, frozen=True):
    """A pin and the package that was solved instead, None if there is none."""

    pin: CondaPin
    record: CondaRecord | None
    kind: Literal["missing", "cpu-build", "other-version", "other-build"]

    def __str__(self) -> str:
        """Say what was solved and what was planned."""
        if self.record is None:
            return tr("{wanted} is not one of its packages", wanted=self.pin.spec)
        solved = f"{self.record.name} {self.record.version} {self.record.build}"
        if self.kind == "cpu-build":
            return tr("{found} is a build for the CPU, not {wanted}", found=solved, wanted=self.pin.spec)
        return tr("{found} is not {wanted}", found=solved, wanted=self.pin.spec)


def check_solved(records: tuple[CondaRecord, ...], pins: tuple[CondaPin, ...]) -> tuple[CondaDifference, ...]:
    """Return how the packages differ from the pins, also a CPU build beside a pinned CUDA build."""
    by_name = {record.name: record for record in records}
    wants_cuda = any("cuda" in pin.build for pin in pins)
    differences = (_difference(pin, by_name.get(pin.name), wants_cuda=wants_cuda) for pin in pins)
    return tuple(difference for difference in differences if difference)


def _difference(pin: CondaPin, record: CondaRecord | None, *, wants_cuda: bool) -> CondaDifference | None:
    if record is None:
        return CondaDifference(pin, None, "missing")
    fits = fnmatchcase(record.build, pin.build)
    if is_cpu_build(record) and (not fits or (pin.build == "*" and wants_cuda)):
        return CondaDifference(pin, record, "cpu-build")
    if not _same_version(record.version, pin.version):
        return CondaDifference(pin, record, "other-version")
    return None if fits else CondaDifference(pin, record, "other-build")


def is_cpu_build(record: CondaRecord) -> bool:
    """Tell whether this is a CPU build: `cpu_mkl_py311_h1abc_100`, `py3.10_cpu_0`, `py310_cpu`."""
    return _CPU.search(record.build) is not None


def _same_version(item: str, other: str) -> bool:
    try:
        return Version(item) == Version(other)
    except InvalidVersion:  # `2024b`
        return item == other
