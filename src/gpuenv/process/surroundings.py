"""The surroundings of a child process: an empty folder, absolute paths, no relative entries of PATH.

The current folder may be a stranger's checkout: uv obeys its `uv.toml`, Python imports its modules, Windows
starts its programs. So no child starts there, and nothing is looked up relative to it.
"""

from __future__ import annotations

import atexit
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from gpuenv.files.cache_lock import lock_shared
from gpuenv.files.temporary import temporary_parent
from gpuenv.process.guardian import watch_folder

_ENDINGS = (".exe", ".bat") if sys.platform == "win32" else ("",)
_EMPTY = "empty"
_ROOT = Path(os.sep)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # not a drive's single letter
_NAMED = re.compile(r"[A-Za-z0-9][\w.-]*=")

# Variables of pip, uv, conda and TLS libraries that hold paths, relative to where they were set.
_PATHS = (
    "PIP_CONFIG_FILE", "PIP_CACHE_DIR", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_LOG", "PIP_SRC", "PIP_INDEX_URL",
    "UV_CONFIG_FILE", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON_CACHE_DIR", "UV_CREDENTIALS_DIR",
    "UV_DEFAULT_INDEX", "UV_INDEX_URL", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC", "CONDARC", "MAMBARC", "MAMBA_ROOT_PREFIX",
    "ANSIBLE_CONFIG", "ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_PRIVATE_KEY_FILE",
    "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
)  # fmt: skip
_LISTS = {
    **dict.fromkeys(
        (
            "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL",
            "UV_CONSTRAINT", "UV_BUILD_CONSTRAINT", "UV_OVERRIDE", "UV_EXCLUDE", "UV_INDEX",
            "UV_EXTRA_INDEX_URL",
        ),
        re.compile(r"\S+"),
    ),
    **dict.fromkeys(("UV_FIND_LINKS", "CONDA_PKGS_DIRS"), re.compile(r"[^,]+")),
    **dict.fromkeys(
        ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH", "XDG_CONFIG_DIRS"), re.compile(f"[^{os.pathsep}]+")
    ),
}  # fmt: skip


# programs


def path_directories(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the distinct absolute directories of PATH in order."""
    return tuple(dict.fromkeys(map(Path, _absolute_entries(environ.get("PATH", "")))))


def _absolute_entries(path: str) -> list[str]:
    return [entry for entry in path.split(os.pathsep) if entry and Path(entry).is_absolute()]


def find_executable(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return the first file on PATH called `name` that may be executed."""
    return next(find_executables(name, path_directories(environ)), None)


def find_executables(name: str, directories: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the files called `name` (on Windows with an ending) in these directories that may be executed."""
    for directory in directories:
        for ending in _ENDINGS:
            candidate = directory / f"{name}{'' if name.lower().endswith(ending) else ending}"
            if is_executable(candidate):
                yield candidate


def is_executable(path: Path) -> bool:
    """Tell whether `path` is a file (or leads to one) that may be executed."""
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # ValueError: an embedded null byte
        return False


def program_path(program: str, environ: Mapping[str, str]) -> str:
    """Return a program's absolute path, from PATH unless it has a separator; raise FileNotFoundError."""
    if Path(program).is_absolute():
        return program
    if any(separator in program for separator in (os.sep, os.altsep) if separator):
        return os.path.abspath(program)  # noqa: PTH100 - a link must stay one
    path = find_executable(program, {"PATH": environ.get("PATH", os.defpath)})
    if path is None:
        raise FileNotFoundError(2, os.strerror(2), program)
    return str(path)


# variables


def absolute_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with relative paths (`UV_FIND_LINKS=wheels`) made absolute, or gone from PATH."""
    changed = dict(environ)
    if "PATH" in environ:
        changed["PATH"] = os.pathsep.join(_absolute_entries(environ["PATH"]))
    for name in _PATHS:
        if environ.get(name):
            changed[name] = _absolute(environ[name])
    for name, word in _LISTS.items():
        if environ.get(name):
            changed[name] = word.sub(lambda match: _absolute(match[0]), environ[name])
    return changed


def _absolute(word: str) -> str:
    """Make a path absolute; URLs, `~` and the name in `name=path` stay."""
    name, named, path = word.strip().rpartition("=") if _NAMED.match(word) else ("", "", word.strip())
    if not path or path.startswith("~") or Path(path).is_absolute() or _SCHEME.match(path):
        return word
    return f"{name}{named}{os.path.abspath(path)}"  # noqa: PTH100 - a link must stay one


# the folder


def empty_folder() -> Path:
    """Return a private, empty folder to start children in, in the cache or temporary; raise OSError."""
    kept = _kept(_EMPTY)
    if kept is not None and _is_empty(kept):
        return kept
    try:
        fresh = _fresh(_EMPTY)
        if not (_is_ours(fresh) and _is_empty(fresh)):  # a child left a file in it, or removed it
            _fresh.cache_clear()
            fresh = _fresh(_EMPTY)
    except OSError:
        state = _ROOT.lstat()
        if os.name != "posix" or state.st_uid != 0 or state.st_mode & 0o022:
            raise
        return _ROOT
    return fresh


def private_folder(name: str) -> Path:
    """Return a private folder of the cache, or a temporary one; raises OSError."""
    return _kept(name) or _fresh(name)


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return gpuenv's cache directory: GPUENV_CACHE_DIR, else the platform's."""
    named = environ.get("GPUENV_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs  # noqa: PLC0415 - only where nothing is named

    try:
        return platformdirs.user_cache_path("gpuenv", appauthor=False)
    except RuntimeError:  # a user without a home, as in a container: nothing is kept
        return Path(os.devnull, "gpuenv")


def writable_cache(environ: Mapping[str, str]) -> Path:
    """Return gpuenv's cache directory, or a temporary one where that of the platform is read-only."""
    cache = cache_root(environ)
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    usable = os.access(existing, os.W_OK | os.X_OK) or bool(environ.get("GPUENV_CACHE_DIR"))
    return cache if usable else private_folder("cache")


def _kept(name: str) -> Path | None:
    folder = Path(os.path.abspath(cache_root(os.environ) / name))  # noqa: PTH100 - a link must stay one
    lock_shared(folder.parent)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_ours(folder) else None
    except OSError:
        return None


def _is_ours(folder: Path) -> bool:
    """Tell whether a path is a folder, not a link, of this user and closed to others."""
    try:
        state = folder.lstat()
    except OSError:
        return False
    closed = os.name != "posix" or (state.st_uid == os.geteuid() and not state.st_mode & 0o077)
    return stat.S_ISDIR(state.st_mode) and closed


def _is_empty(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return False


@cache
def _fresh(name: str) -> Path:
    import shutil  # noqa: PLC0415 - only where the cache can't be written
    import tempfile  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix=f"gpuenv-{name}-", dir=temporary_parent()))
    watch_folder(str(folder))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
