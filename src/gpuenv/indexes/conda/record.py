"""Entries of a channel's repodata, whatever their format."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.conda import CondaRecord

_ENDINGS = (".conda", ".tar.bz2")


class Folder(Struct, frozen=True):
    """A channel's folder for one platform; `url` is that of its files."""

    channel: str
    subdir: str
    url: str


class Entries(Struct, frozen=True):
    """The entries of the wanted names, by file name, unparsed."""

    entries: tuple[tuple[str, Any], ...]
    base_url: str | None = None  # of the files, if that is elsewhere (CEP 15)


def package_of(filename: str) -> str | None:
    """Return the name in `pytorch-2.8.0-cuda126_mkl_py312_h1_300.conda`; None for an invalid name."""
    for ending in _ENDINGS:
        if filename.endswith(ending):
            fields = filename.removesuffix(ending).rsplit("-", 2)
            return fields[0] if len(fields) == 3 and all(fields) else None  # noqa: PLR2004 - name, version, build
    return None


def parse_record(filename: str, entry: Any, folder: Folder) -> CondaRecord:
    """Read one entry; raise ValueError. Hashes are hex in JSON and bytes in shards.

    {"build": "cuda126_mkl_py312_h1_300", "build_number": 300, "constrains": ["pytorch-gpu 2.8.0"],
     "depends": ["__cuda", "python >=3.12,<3.13.0a0"], "md5": "…", "name": "pytorch", "sha256": "…",
     "size": 24512345, "subdir": "linux-64", "version": "2.8.0"}
    """
    if not isinstance(entry, dict) or package_of(filename) is None or set("/\\") & set(filename):
        raise ValueError(tr("`{filename}` is not a valid package", filename=filename[:80]))
    return CondaRecord(
        name=_text(entry, "name"),
        version=_text(entry, "version"),
        build=_text(entry, "build"),
        build_number=_number(entry.get("build_number")) or 0,
        subdir=folder.subdir,
        channel=folder.channel,
        filename=filename,
        url=join_path(folder.url, filename),
        sha256=_digest(entry.get("sha256"), 32),
        md5=_digest(entry.get("md5"), 16),
        size=_number(entry.get("size")),
        depends=_texts(entry.get("depends")),
        constrains=_texts(entry.get("constrains")),
    )


def select_records(entries: Entries, folder: Folder) -> tuple[tuple[CondaRecord, ...], tuple[str, ...]]:
    """Return the records, of two formats the newer, and the file names of invalid entries."""
    best: dict[tuple[str, str, str], CondaRecord] = {}
    garbled: list[str] = []
    for filename, entry in entries.entries:
        try:
            record = parse_record(filename, entry, folder)
        except ValueError:
            garbled.append(filename[:200])
            continue
        key = (record.name, record.version, record.build)
        if key not in best or filename.endswith(".conda"):
            best[key] = record
    return tuple(best.values()), tuple(garbled)


def join_path(url: str, name: str) -> str:
    """Return the URL of a file in a folder; a query (a token) stays at the end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name)}"))


def _text(entry: dict[Any, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(tr("`{key}` is missing", key=key))
    return value


def _number(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(tr("its dependencies cannot be read"))
    return tuple(value)


def _digest(value: Any, size: int) -> str | None:
    if isinstance(value, bytes):
        value = value.hex()
    if not isinstance(value, str) or len(value) != 2 * size:
        return None
    return value.lower() if set(value.lower()) <= set("0123456789abcdef") else None
