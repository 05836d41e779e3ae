"""The configuration files that conda tools read, and whether one has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_NAMES = (".condarc", "condarc", ".mambarc", "mambarc")
_MANY = ("condarc.d", "mambarc.d")
_VARIABLES = ("CONDARC", "MAMBARC")
_PREFIXES = ("CONDA_ROOT", "MAMBA_ROOT_PREFIX", "CONDA_PREFIX")
_AT_HOME = ("", ".conda", ".config/conda", ".mamba", ".config/mamba", "micromamba", ".local/share/mamba")

FileState = tuple[str, int, int]  # path, time (ns) and size of a file


def rc_state(program: str, environ: Mapping[str, str], root: Path = Path("/")) -> tuple[FileState, ...]:
    """Return the configuration files that are there, each with its time and size.

    https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/use-condarc.html and
    https://mamba.readthedocs.io/en/latest/user_guide/configuration.html: of all systems and both tools, as
    more files than are read do no harm.
    """
    return _states(_files(program, environ, root))


def rc_state_of_root(installation: str | None) -> tuple[FileState, ...]:
    """Return the configuration files in a tool's installation, which a script elsewhere does not lead to."""
    return _states(_files_in(Path(installation))) if installation else ()


def _files(program: str, environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in _folders(program, environ, root):
        yield from _files_in(folder)
    yield from (Path(named) for name in _VARIABLES if (named := environ.get(name)))


def _files_in(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _NAMES)
    for many in _MANY:
        with suppress(OSError):
            yield from sorted((folder / many).iterdir())


def _folders(program: str, environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    yield from (root / "etc" / "conda", root / "var" / "lib" / "conda", root / "etc" / "mamba")
    if shared := environ.get("PROGRAMDATA"):
        yield Path(shared) / "conda"
    for path in (Path(program), Path(program).resolve()):  # of `bin/conda`, `condabin/conda`
        yield path.parent.parent
    for home in filter(None, map(environ.get, ("HOME", "USERPROFILE"))):
        yield from (Path(home) / part for part in _AT_HOME)
    if configured := environ.get("XDG_CONFIG_HOME"):
        yield from (Path(configured) / name for name in ("conda", "mamba"))
    yield from (Path(prefix) for name in _PREFIXES if (prefix := environ.get(name)))


def _states(files: Iterable[Path]) -> tuple[FileState, ...]:
    return tuple(state for path in dict.fromkeys(files) for state in _state(path))


def _state(path: Path) -> Iterator[FileState]:
    with suppress(OSError, ValueError):
        status = path.stat()
        yield str(path), status.st_mtime_ns, status.st_size
