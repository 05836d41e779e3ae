"""Find Python interpreters and their versions without running them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpuenv.host.executables import home_directory, is_executable, path_directories, read_text
from gpuenv.model.machine import FoundPython

_PROGRAM = re.compile(r"python(?:3(?:\.(?P<minor>\d{1,2})(?P<threads>t?))?)?(?:\.exe)?")
_LIBRARY = re.compile(r"python3\.(?P<minor>\d{1,2})(?P<threads>t?)")
_WINDOWS_LIBRARY = re.compile(r"python3(?P<minor>\d{1,2})(?P<threads>t?)\.dll", re.IGNORECASE)
_MANAGED = re.compile(
    r"(?:cpython-)?(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?P<threads>t?)(?:\+(?P<build>[a-z+]+))?(?:-[\w.-]+)?"
)
_RECORD = re.compile(r"python-(?P<version>3\.\d{1,2}\.\d{1,2})-.{1,60}\.json")
_WINDOWS = sys.platform == "win32"


def detect_pythons(environ: Mapping[str, str], prefixes: Iterable[Path] = ()) -> tuple[FoundPython, ...]:
    """List base interpreters: this one, those on PATH, of uv, of pyenv and of `prefixes` (conda)."""
    running = running_python()
    pythons = {_real(running.path): running}
    for path in _candidates(environ, prefixes):
        real = _real(str(path))
        if real not in pythons and (python := read_python(path)):
            pythons[real] = python
    return tuple(pythons.values())


def running_python() -> FoundPython:
    """Return the interpreter that runs gpuenv, of a virtual environment its base interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    free_threaded = bool(getattr(sys, "abiflags", "").count("t"))
    path = sys.executable
    if sys.prefix != sys.base_prefix:
        names = (f"python3.{sys.version_info[1]}{'t' if free_threaded else ''}", "python3", "python")
        folder = Path(sys.base_prefix) if _WINDOWS else Path(sys.base_prefix, "bin")
        programs = (folder / f"{name}{'.exe' if _WINDOWS else ''}" for name in names)
        path = next((str(program) for program in programs if is_executable(program)), path)
    return FoundPython(version, path, free_threaded=free_threaded)


def _candidates(environ: Mapping[str, str], prefixes: Iterable[Path]) -> Iterator[Path]:
    for directory in path_directories(environ):
        yield from _programs(directory)
    for prefix in (*_managed_prefixes(environ), *prefixes):
        yield from _programs(prefix if _WINDOWS else prefix / "bin")


def _programs(directory: Path) -> Iterator[Path]:
    """Yield a folder's Pythons, the most specific names first (`python3.12` before `python3`)."""
    try:
        with os.scandir(directory) as entries:
            names = sorted((entry.name for entry in entries if _PROGRAM.fullmatch(entry.name)), reverse=True)
    except OSError:
        return
    yield from (directory / name for name in names if is_executable(directory / name))


def _managed_prefixes(environ: Mapping[str, str]) -> Iterator[Path]:
    home = home_directory(environ)
    data = environ.get("XDG_DATA_HOME") or (home / ".local/share" if home else None)
    roaming = environ.get("APPDATA")
    uv = environ.get("UV_PYTHON_INSTALL_DIR") or (data and Path(data, "uv/python"))
    pyenv = environ.get("PYENV_ROOT") or (home / ".pyenv" if home else None)
    yield from _folders(uv)
    yield from _folders(roaming and Path(roaming, "uv", "data", "python"))
    yield from _folders(pyenv and Path(pyenv, "versions"))
    yield from _folders(pyenv and Path(pyenv, "pyenv-win", "versions"))


def _folders(location: str | Path | None) -> tuple[Path, ...]:
    if not location:
        return ()
    try:
        return tuple(sorted(entry for entry in Path(location).iterdir() if not entry.name.startswith(".")))
    except OSError:
        return ()


def read_python(path: Path) -> FoundPython | None:
    """Return a CPython 3 with its version, by its path and the files next to it; None for others."""
    if read_text(path, 2) in (None, "", "#!"):  # pyenv's shims are scripts, those of Windows' store are empty
        return None
    origin = _origin_of_environment(path.parent)
    if origin is not None:
        return read_python(origin) if not _origin_of_environment(origin.parent) else None
    real = Path(_real(str(path)))
    if "pypy" in real.name.lower():
        return None
    minor, free_threaded = _minor(real) or _minor(path) or _minor_beside(real) or ("", False)
    exact, threads = _exact(real)
    version = exact if exact and (not minor or exact.startswith(f"{minor}.")) else minor
    return FoundPython(version, str(path), free_threaded=free_threaded or threads) if version else None


def _origin_of_environment(folder: Path) -> Path | None:
    """Return the base interpreter of the virtual environment of `folder`, if it is one."""
    home, minor = parse_pyvenv(read_text(folder.parent / "pyvenv.cfg") or "")
    if not home:
        return None
    names = (f"python3.{minor}", "python3", "python") if minor else ("python3", "python")
    programs = (Path(home, f"{name}{'.exe' if _WINDOWS else ''}") for name in names)
    return next((program for program in programs if is_executable(program)), None)


def parse_pyvenv(text: str) -> tuple[str | None, str | None]:
    """Return the home and the minor version of a pyvenv.cfg.

    Sample:
        home = /usr/bin
        version = 3.11.4        (uv writes version_info)
    """
    lines = (line.partition("=") for line in text.splitlines())
    values = {key.strip().lower(): value.strip() for key, _, value in lines}
    version = re.match(r"3\.(\d{1,2})", values.get("version") or values.get("version_info") or "")
    return values.get("home") or None, version[1] if version else None


def _minor(path: Path) -> tuple[str, bool] | None:
    match = _PROGRAM.fullmatch(path.name)
    return (f"3.{int(match['minor'])}", bool(match["threads"])) if match and match["minor"] else None


def _minor_beside(path: Path) -> tuple[str, bool] | None:
    """Return the version of the only library: `lib/python3.11`, or `python311.dll` on Windows."""
    for file, pattern in ((path.parent.parent / "lib", _LIBRARY), (path.parent, _WINDOWS_LIBRARY)):
        matches = {match for entry in _names(file) if (match := _match(pattern, entry))}
        if len(matches) == 1:
            return matches.pop()
    return None


def _match(pattern: re.Pattern[str], name: str) -> tuple[str, bool] | None:
    match = pattern.fullmatch(name)
    return (f"3.{int(match['minor'])}", bool(match["threads"])) if match else None


def _names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(os.listdir(path))  # noqa: PTH208 - names alone are wanted
    except OSError:
        return ()


def _exact(path: Path) -> tuple[str | None, bool]:
    """Return MAJOR.MINOR.PATCH of the folder's name or of a conda record."""
    prefix = path.parent if _WINDOWS else path.parent.parent
    managed = parse_managed_name(prefix.name)
    if managed:
        return managed
    records = (_RECORD.fullmatch(name) for name in _names(prefix / "conda-meta"))
    return next(((record["version"], False) for record in records if record), (None, False))


def parse_managed_name(name: str) -> tuple[str, bool] | None:
    """Parse version and free-threading of a Python's folder of uv or pyenv.

    Samples: `cpython-3.12.4-linux-x86_64-gnu`, `cpython-3.13.0+freethreaded-linux-x86_64-gnu`, `3.13.0t`.
    """
    match = _MANAGED.fullmatch(name)
    if not match:
        return None
    return match["version"], bool(match["threads"]) or "freethreaded" in (match["build"] or "")


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
