"""What configuration files held before gpuenv changed them, so that it can be brought back years later."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from gpuenv.settings.files import read_bytes, remove, replace_bytes
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr

_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """One changed file: what it held (`original`, None: it was not there), and what was written.

    `written` is the digest of the bytes that gpuenv wrote last; `settings` are the keys it owns, each with
    the value before the first change and the one written last; `folders` are those it made.
    """

    path: Path
    tool: str
    mirror: str
    when: str
    original: bytes | None
    written: str
    settings: tuple[tuple[str, Any, Any], ...]
    folders: tuple[Path, ...]


def load_all(directory: Path) -> tuple[Kept, ...]:
    """Return all entries, sorted by path; UsageError for one that can't be read."""
    if not directory.is_dir():
        return ()
    entries = (_load(file) for file in sorted(directory.glob("*.json")))
    return tuple(sorted(entries, key=lambda one: str(one.path)))


def load(directory: Path, path: Path) -> Kept | None:
    """Return the entry of a file, None if gpuenv never changed it."""
    file = _file(directory, path)
    return _load(file) if file.exists() else None


def keep(directory: Path, kept: Kept) -> None:
    """Write an entry; it is whole on disk before this returns."""
    original = None if kept.original is None else base64.b64encode(kept.original).decode("ascii")
    document = {
        "schema_version": _SCHEMA_VERSION,
        "path": str(kept.path),
        "tool": kept.tool,
        "mirror": kept.mirror,
        "when": kept.when,
        "original": original,
        "written": kept.written,
        "settings": [list(one) for one in kept.settings],
        "folders": [str(folder) for folder in kept.folders],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    replace_bytes(_file(directory, kept.path), text.encode("utf-8"))


def forget(directory: Path, path: Path) -> None:
    """Drop a file's entry: it is as it was before."""
    remove(_file(directory, path))


def _file(directory: Path, path: Path) -> Path:
    return directory / f"{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"


def _load(file: Path) -> Kept:
    try:
        return parse_kept(json.loads((read_bytes(file) or b"").decode("utf-8")))
    except (ValueError, RecursionError):
        raise UsageError(
            tr("what gpuenv kept in `{file}` can't be read", file=file),
            code="journal-unreadable",
            fixes=(Fix(tr("look into it, `original` holds the former file in base64, and move it away")),),
        ) from None


def parse_kept(document: object) -> Kept:
    """Read an entry; ValueError for anything else."""
    if not isinstance(document, Mapping):
        raise ValueError("the entry is no object")
    try:
        original = document["original"]
        return Kept(
            path=Path(_text(document["path"])),
            tool=_text(document["tool"]),
            mirror=_text(document["mirror"]),
            when=_text(document["when"]),
            original=None if original is None else base64.b64decode(_text(original), validate=True),
            written=_text(document["written"]),
            settings=tuple((_text(key), before, after) for key, before, after in document["settings"]),
            folders=tuple(Path(_text(folder)) for folder in document["folders"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the entry lacks something: {error}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
