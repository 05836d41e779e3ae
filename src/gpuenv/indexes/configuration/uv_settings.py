"""The configuration that uv is run with: the user's and the system's, never that of the current folder.

uv looks for `uv.toml` and `pyproject.toml` in the current folder and above. It gets one file instead: the
user's, the system's, or both merged, as https://docs.astral.sh/uv/concepts/configuration-files/ says.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpuenv.files.private import replace_private
from gpuenv.files.read_limited import read_limited_text
from gpuenv.indexes.configuration.locations import ConfigurationFolders
from gpuenv.indexes.urls import is_remote
from gpuenv.process.surroundings import private_folder
from gpuenv.untrusted.documents import load_toml

# They send uv to another folder, whose configuration and project it would read.
_MISLEADING = ("UV_WORKING_DIR", "UV_WORKING_DIRECTORY", "UV_DIRECTORY", "UV_PROJECT", "UV_ENV_FILE")
_WITH_PATHS = ("find-links", "index-url", "extra-index-url", "cache-dir", "url")


def uv_variables(environ: Mapping[str, str], root: Path = Path("/")) -> dict[str, str]:
    """Return the variables with which uv reads only the configuration of the user and of the system."""
    variables = {name: value for name, value in environ.items() if name not in _MISLEADING}
    file = settings_file(environ, root)
    if file is not None:
        variables["UV_CONFIG_FILE"] = str(file)
    if _lacks_cache(variables):
        variables["UV_CACHE_DIR"] = str(private_folder("uv"))
    return {**variables, "UV_NO_CONFIG": "1", "UV_NO_PROJECT": "1"}


def _lacks_cache(environ: Mapping[str, str]) -> bool:
    """Tell whether uv would fail because its default cache is not writable."""
    if os.name != "posix" or "UV_CACHE_DIR" in environ or "UV_NO_CACHE" in environ:
        return False
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", os.devnull), ".cache"), "uv")
    existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
    return not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK))


def settings_file(environ: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """Return one file with uv's user and system configuration, None where there is neither."""
    try:
        home = Path(environ.get("HOME") or Path.home())
    except RuntimeError:  # a container's user who is not in the password file
        home = Path(os.devnull)
    folders = ConfigurationFolders(environ, home, root, Path(sys.prefix), sys.platform)
    files = [path for path in folders.uv_files() if os.access(path, os.R_OK) and path.is_file()]
    if len(files) > 1:
        with suppress(OSError, ValueError, RecursionError):
            return _written(merged(*(_read(path) for path in files)))
    return Path(os.path.abspath(files[0])) if files else None  # noqa: PTH100 - a link must stay one


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two configurations as uv does: the first has precedence, lists are joined, tables merged."""
    joined = {**second, **first}
    for name in first.keys() & second.keys():
        ours, theirs = first[name], second[name]
        if isinstance(ours, dict) and isinstance(theirs, dict):
            joined[name] = merged(ours, theirs)
        elif isinstance(ours, list) and isinstance(theirs, list):
            joined[name] = [*ours, *theirs]
    return joined


def render_toml(table: Mapping[str, Any]) -> str:
    """Render TOML, one key a line: `index = [{"url" = "https://example.com/simple"}]`."""
    return "".join(f"{_quoted(key)} = {_rendered(value)}\n" for key, value in table.items())


def _rendered(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(map(_rendered, value))}]"
        case dict():
            pairs = (f"{_quoted(key)} = {_rendered(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"
        case int() | float():
            return str(value)
    return str(value.isoformat())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read(path: Path) -> dict[str, Any]:
    table = load_toml(read_limited_text(path).removeprefix("\ufeff"))
    anchored = _anchored(table, path.absolute().parent)
    assert isinstance(anchored, dict)  # noqa: S101 - as the table is
    return anchored


def _anchored(value: Any, folder: Path, key: str = "") -> Any:
    """Make the paths absolute that are relative to the file's folder."""
    if isinstance(value, dict):
        return {name: _anchored(item, folder, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_anchored(item, folder, key) for item in value]
    is_path = isinstance(value, str) and key in _WITH_PATHS and not is_remote(value)
    if not is_path or value.lower().startswith("file:") or value.startswith("~"):
        return value
    return str(folder / value)


def _written(table: Mapping[str, Any]) -> Path:
    """Write a private file, as URLs hold passwords; return its path."""
    text = render_toml(table)
    path = private_folder("uv") / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.toml"
    replace_private(path, text)
    return path
