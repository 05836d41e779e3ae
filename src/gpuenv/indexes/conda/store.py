"""What was read of channels, on disk: of a folder with 500,000 records only those that were asked for."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gpuenv.files.read_limited import read_limited_text
from gpuenv.http.streams import Validators
from gpuenv.i18n.messages import tr
from gpuenv.indexes.conda.record import Folder, parse_record
from gpuenv.model.conda import CondaRecord
from gpuenv.untrusted.documents import load_json

_FORMAT = 1
_NOT_KEPT = ("subdir", "channel", "filename", "url")


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What one folder held of `names` when it was read from `file`; `fetched` in seconds since 1970.

    `files_url` is where its packages lie, `digests` are those of the names' shards.
    """

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
    """Readings by the address of their folder; a file that can't be read or written is none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, folder: Folder) -> StoredRecords | None:
        """Return what was kept of a folder."""
        try:
            return parse_reading(read_limited_text(self._path(folder)), folder)
        except (OSError, ValueError):
            return None

    def save(self, folder: Folder, reading: StoredRecords) -> None:
        """Keep a reading in the place of the last one, where the disk lets us."""
        path = self._path(folder)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(render_reading(reading))
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, folder: Folder) -> Path:
        return self._directory / f"{sha256(folder.url.encode()).hexdigest()[:32]}.json"


def render_reading(reading: StoredRecords) -> str:
    """Write a reading as `parse_reading` reads it."""
    rows = {
        record.filename: {key: value for key, value in asdict(record).items() if key not in _NOT_KEPT}
        for record in reading.records
    }
    facts = {key: value for key, value in asdict(reading).items() if key != "records"}
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
            validators=Validators(**{key: _text_or_none(item) for key, item in answer["validators"].items()}),
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


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)
