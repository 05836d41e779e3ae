"""The cache of channels: of a folder with 500,000 records only those that were requested."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.http.freshness import Validators
from gpuenv.i18n.messages import tr
from gpuenv.indexes.conda.record import Folder, parse_record
from gpuenv.model.conda import CondaRecord
from gpuenv.untrusted.documents import load_json

_FORMAT = 1
_NOT_KEPT = ("subdir", "channel", "filename", "url")


class StoredRecords(Struct, frozen=True):
    """The packages of `names` in one folder and their shards' digests; `fetched` is in seconds since 1970."""

    file: str
    validators: Validators
    fetched: float
    max_age_s: int
    names: frozenset[str]
    files_url: str
    records: tuple[CondaRecord, ...]
    garbled: tuple[str, ...] = ()
    digests: tuple[tuple[str, str], ...] = ()


class ChannelStore:
    """Readings by the URL of their folder; files that cannot be read or written are ignored."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, folder: Folder) -> StoredRecords | None:
        """Return the reading of a folder."""
        try:
            return parse_reading(read_limited_text(self._path(folder)), folder)
        except (OSError, ValueError):
            return None

    def save(self, folder: Folder, reading: StoredRecords) -> None:
        """Replace the reading of a folder, if the disk allows it."""
        with suppress(OSError):
            replace_private(self._path(folder), render_reading(reading))

    def _path(self, folder: Folder) -> Path:
        return self._directory / f"{sha256(folder.url.encode()).hexdigest()[:32]}.json"


def render_reading(reading: StoredRecords) -> str:
    """Write a reading as `parse_reading` reads it."""
    rows = {
        record.filename: {key: value for key, value in to_builtins(record).items() if key not in _NOT_KEPT}
        for record in reading.records
    }
    facts = {key: value for key, value in to_builtins(reading).items() if key != "records"}
    return json.dumps({**facts, "format": _FORMAT, "names": sorted(reading.names), "records": rows})


def parse_reading(text: str, folder: Folder) -> StoredRecords:
    r"""Read what `render_reading` wrote; ValueError for anything else.

    {"format": 1, "file": "repodata.json.zst", "validators": {"etag": "\"5f\"", "last_modified": null},
     "fetched": 1792000000.0, "max_age_s": 1200, "names": ["pytorch"], "files_url": "https://…/linux-64",
     "records": {"pytorch-2.8.0-….conda": {…}}, "garbled": [], "digests": [["pytorch", "27ea…"]]}
    """
    try:
        answer = load_json(text)
        if answer["format"] != _FORMAT:
            raise ValueError(tr("its format is not known"))
        location = Folder(folder.channel, folder.subdir, _text(answer["files_url"]))
        return StoredRecords(
            file=_text(answer["file"]),
            validators=Validators(
                **{key: _text(item) for key, item in answer["validators"].items() if item is not None}
            ),
            fetched=float(answer["fetched"]),
            max_age_s=int(answer["max_age_s"]),
            names=frozenset(_text(name) for name in answer["names"]),
            files_url=location.url,
            records=tuple(parse_record(name, row, location) for name, row in answer["records"].items()),
            garbled=tuple(_text(name) for name in answer["garbled"]),
            digests=tuple((_text(name), _text(digest)) for name, digest in answer["digests"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(tr("it is not a valid response: {error}", error=error)) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(tr("text is missing"))
    return value
