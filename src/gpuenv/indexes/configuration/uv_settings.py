"""The configuration that uv is run with: the user's and the system's, never that of the folder one stands in.

uv itself looks for `uv.toml` and `pyproject.toml` in the folder that it starts in and in all above it. It is
told not to, and to read one file instead: the user's, the system's, or where there are both, what uv makes of
the two, as https://docs.astral.sh/uv/concepts/configuration-files/ says it.
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

from gpuenv.files.read_limited import read_limited_text
from gpuenv.indexes.configuration.locations import ConfigurationFolders
from gpuenv.indexes.urls import is_remote
from gpuenv.process.surroundings import private_folder
from gpuenv.untrusted.documents import load_toml

# They send uv to another folder, whose configuration and project it would obey.
_LEADING_ELSEWHERE = ("UV_WORKING_DIR", "UV_WORKING_DIRECTORY", "UV_DIRECTORY", "UV_PROJECT", "UV_ENV_FILE")
_WITH_PATHS = ("find-links", "index-url", "extra-index-url", "cache-dir", "url")


def uv_variables(environ: Mapping[str, str], root: Path = Path("/")) -> dict[str, str]:
    """Return the variables under which uv reads only the configuration of the user and of the system."""
    variables = {name: value for name, value in environ.items() if name not in _LEADING_ELSEWHERE}
    file = settings_file(environ, root)
    if file is not None:
        variables["UV_CONFIG_FILE"] = str(file)
    if _lacks_cache(variables):
        variables["UV_CACHE_DIR"] = str(private_folder("uv"))
    return {**variables, "UV_NO_CONFIG": "1", "UV_NO_PROJECT": "1"}


def _lacks_cache(environ: Mapping[str, str]) -> bool:
    """Tell whether uv would give up: its cache would lie where this user may not write, none is named."""
    if os.name != "posix" or "UV_CACHE_DIR" in environ or "UV_NO_CACHE" in environ:
        return False
    above = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", os.devnull), ".cache"), "uv")
    there = next(folder for folder in (above, *above.parents) if folder.exists())
    return not (there.is_dir() and os.access(there, os.W_OK | os.X_OK))


def settings_file(environ: Mapping[str, str], root: Path = Path("/")) -> Path | None:
    """Return the one file that says what uv's user and system configuration say, None where there is none."""
    try:
        home = Path(environ.get("HOME") or Path.home())
    except RuntimeError:  # nobody of that number in the password file: a container's user
        home = Path(os.devnull)
    places = ConfigurationFolders(environ, home, root, Path(sys.prefix), sys.platform)
    files = [path for path in places.uv_files() if os.access(path, os.R_OK) and path.is_file()]
    if len(files) > 1:
        with suppress(OSError, ValueError, RecursionError):
            return _written(merged(*(_read(path) for path in files)))
    return Path(os.path.abspath(files[0])) if files else None  # noqa: PTH100 - a link must stay one


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Join two configurations as uv does: the first counts, lists are joined, tables go key by key."""
    joined = {**second, **first}
    for name in first.keys() & second.keys():
        ours, theirs = first[name], second[name]
        if isinstance(ours, dict) and isinstance(theirs, dict):
            joined[name] = merged(ours, theirs)
        elif isinstance(ours, list) and isinstance(theirs, list):
            joined[name] = [*ours, *theirs]
    return joined


def render_toml(table: Mapping[str, Any]) -> str:
    """Render what `tomllib` reads, one key a line: `index = [{"url" = "https://example.com/simple"}]`."""
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
    """Write a file that only its user can read (addresses hold passwords); return its path."""
    text = render_toml(table)
    path = private_folder("uv") / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.toml"
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileExistsError):
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(path)
    return path
