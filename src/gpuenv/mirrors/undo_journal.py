"""What configuration files held before gpuenv changed them, so that it can be brought back years later."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, to_builtins

from gpuenv.files.config_files import keep_private, remove
from gpuenv.files.read_limited import read_own
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.mirror import Tool
from gpuenv.untrusted.documents import load_json

_SCHEMA_VERSION = 1
_LARGEST = 16 << 20  # bytes: it holds a file of at most 4 MB


class SavedFile(Struct, frozen=True):
    """One changed file: what it held (`original`, None: it was not there), and what was written.

    `written` is the digest of the bytes that gpuenv wrote last; `files` are the keys it owns, each with
    the value before the first change and the one written last; `folders` are those it made.
    """

    path: Path
    tool: Tool
    mirror: str
    when: str
    original: bytes | None
    written: str
    settings: tuple[tuple[str, Any, Any], ...]
    folders: tuple[Path, ...]


def load_all(directory: Path) -> tuple[SavedFile, ...]:
    """Return all entries, sorted by path; UsageError for one that can't be read."""
    if not directory.is_dir():
        return ()
    entries = (_load(file) for file in sorted(directory.glob("*.json")))
    return tuple(sorted(entries, key=lambda file: str(file.path)))


def load(directory: Path, path: Path) -> SavedFile | None:
    """Return the entry of a file, None if gpuenv never changed it."""
    file = _file(directory, path)
    return _load(file) if file.exists() else None


def keep(directory: Path, kept: SavedFile) -> None:
    """Write an entry; it is whole on disk before this returns."""
    original = None if kept.original is None else base64.b64encode(kept.original).decode("ascii")
    document = {"schema_version": _SCHEMA_VERSION, **to_builtins(kept, enc_hook=str), "original": original}
    text = json.dumps(document, indent=2) + "\n"  # in ASCII: a path may hold bytes that are no text
    keep_private(_file(directory, kept.path), text.encode("ascii"))


def forget(directory: Path, path: Path) -> None:
    """Drop a file's entry: it is as it was before."""
    remove(_file(directory, path))


def _file(directory: Path, path: Path) -> Path:
    return directory / f"{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"


def _load(file: Path) -> SavedFile:
    try:
        # an entry names files that are written, so that it must be this user's own
        document = load_json(read_own(file, _LARGEST).decode("utf-8"))
        return _checked(parse_kept(document), file)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            tr("the saved content of `{file}` cannot be read", file=file),
            code="journal-unreadable",
            because=(Because(reason_of(error), str(file)),),
            fixes=(Fix(tr("check it: `original` has the former file in base64; then move it away")),),
        ) from None


def _checked(kept: SavedFile, file: Path) -> SavedFile:
    if _file(file.parent, kept.path) != file:
        raise ValueError(tr("its name refers to another path than `{path}`", path=kept.path))
    return kept


def parse_kept(document: object) -> SavedFile:
    """Read an entry; ValueError for anything else.

    {"schema_version": 1, "path": "/home/ada/.config/pip/pip.conf", "tool": "pip", "mirror": "tuna",
     "when": "2026-11-21T07:00:00+00:00", "original": "W2dsb2JhbF0K", "written": "9f86d0…",
     "settings": [["global.index-url", null, "https://…"]], "folders": []}
    """
    if not isinstance(document, Mapping):
        raise ValueError(tr("the entry is not an object"))
    try:
        if document["schema_version"] != _SCHEMA_VERSION:
            raise ValueError(tr("it was written by another version of gpuenv"))
        original = document["original"]
        tool = _tool(document["tool"])
        return SavedFile(
            path=_path(document["path"]),
            tool=tool,
            mirror=_text(document["mirror"]),
            when=_text(document["when"]),
            original=None if original is None else base64.b64decode(_text(original), validate=True),
            written=_text(document["written"]),
            settings=tuple(_setting(tool, *item) for item in document["settings"]),
            folders=tuple(_path(folder) for folder in document["folders"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(tr("the entry is incomplete: {error}", error=error)) from None


def _setting(tool: str, key: object, before: Any, after: Any) -> tuple[str, Any, Any]:
    if tool == "pip" and not all(value is None or isinstance(value, str) for value in (before, after)):
        raise ValueError(tr("`{key}` is not a text", key=key))
    return _text(key), before, after


def _tool(value: object) -> Tool:
    tools: tuple[Tool, ...] = get_args(Tool)
    if value not in tools:
        raise ValueError(tr("gpuenv does not change the configuration of {value!r}", value=value))
    return tools[tools.index(value)]


def _path(value: object) -> Path:
    path = Path(_text(value))
    if "\0" in str(path) or not path.is_absolute():
        raise ValueError(tr("{value!r} is not a valid path", value=value))
    return path


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(tr("{value!r} is not a text", value=value))
    return value
