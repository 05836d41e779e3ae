"""Find the environments of conda tools without running one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuenv.host.executables import home_directory, read_text
from gpuenv.host.software.package_managers import conda_prefixes

_FOLDERS = ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH")
_LARGEST = 1 << 20  # bytes of conda's list of environments


def find_conda_environments(environ: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """Return the environments in the usual folders and in conda's own list, base environments among them."""
    return tuple(dict.fromkeys(filter(_is_environment, _candidates(environ, root))))


def _candidates(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in _folders(environ, root):
        yield from _inside(folder)
    yield from conda_prefixes(environ, root)
    home = home_directory(environ)
    listed = read_text(home / ".conda" / "environments.txt", _LARGEST) if home else None
    yield from (Path(line) for line in (listed or "").splitlines() if os.path.isabs(line))  # noqa: PTH117


def _inside(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(sorted(folder.iterdir()))
    except OSError:
        return ()


def _folders(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for variable in _FOLDERS:
        yield from (Path(location) for location in environ.get(variable, "").split(os.pathsep) if location)
    yield from (prefix / "envs" for prefix in conda_prefixes(environ, root))
    home = home_directory(environ)
    if home:
        yield home / ".conda" / "envs"
        yield home / ".local" / "share" / "mamba" / "envs"


def _is_environment(path: Path) -> bool:
    try:
        return (path / "conda-meta" / "history").is_file()
    except (OSError, ValueError):
        return False
