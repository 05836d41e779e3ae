"""Find package managers without running them: conda tools, the embedded uv, and pip."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuenv.host.executables import (
    find_executable,
    find_executables,
    home_directory,
    is_executable,
    read_text,
)
from gpuenv.host.software.pythons import running_python
from gpuenv.model.machine import FoundManager

CONDA_TOOLS = ("conda", "mamba", "micromamba")
FASTEST_FIRST = ("micromamba", "mamba", "conda")  # they load repodata in 2, 2 and 10 s
_VARIABLES = ("CONDA_EXE", "MAMBA_EXE")
_ENVIRONMENT_VARIABLES = ("CONDA_ENVS_DIRS", "CONDA_ENVS_PATH")
_LARGEST = 1 << 20  # bytes of conda's list of environments
_HOME_FOLDERS = (
    "miniforge3", "mambaforge", "miniconda3", "anaconda3", "miniconda", "anaconda", "micromamba", ".local",
)  # fmt: skip
_SYSTEM_FOLDERS = ("opt/conda", "opt/miniforge3", "opt/miniconda3", "opt/anaconda3")
_SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"
_RECORD = re.compile(r"(?P<name>[a-z0-9-]{1,40})-(?P<version>\d[0-9a-zA-Z.]{0,30})-[^-]{1,60}\.json")
_DIST_INFO = re.compile(r"uv-(\d[0-9a-zA-Z.]{0,30})\.dist-info")


def detect_managers(environ: Mapping[str, str], root: Path) -> tuple[FoundManager, ...]:
    """List uv, pip and the conda tools, the first of each name, without running them."""
    uv = find_uv(environ)
    pip = FoundManager("pip", running_python().path)  # as `python -m venv` brings it along
    return (*filter(None, (uv,)), pip, *find_conda_tools(environ, root))


def find_uv(environ: Mapping[str, str]) -> FoundManager | None:
    """Find uv's program: the one installed with gpuenv, else the first on PATH."""
    spec = importlib.util.find_spec("uv")  # cheaper than an import
    if spec is not None and spec.origin:
        library = Path(spec.origin).parents[1]
        # with `--target` and `--user` programs are not next to Python
        beside = (library / "bin", *(parent / _SCRIPTS for parent in library.parents[:3]))
        program = next(find_executables("uv", (Path(sys.executable).parent, *beside)), None)
        if program:
            matches = (_DIST_INFO.fullmatch(entry.name) for entry in library.glob("uv-*.dist-info"))
            return FoundManager("uv", str(program), next((match[1] for match in matches if match), None))
    on_path = find_executable("uv", environ)
    return FoundManager("uv", str(on_path)) if on_path else None


def find_conda_tools(environ: Mapping[str, str], root: Path) -> tuple[FoundManager, ...]:
    """Find conda, mamba and micromamba: on PATH, by CONDA_EXE and MAMBA_EXE, in the usual folders."""
    managers: dict[str, FoundManager] = {}
    for path in _candidates(environ, root):
        name = path.stem.lower()
        if name in CONDA_TOOLS and name not in managers:
            managers[name] = FoundManager(name, str(path), _version(name, path))
    return tuple(managers[name] for name in CONDA_TOOLS if name in managers)


def fastest_conda_tool(environ: Mapping[str, str], root: Path = Path("/")) -> FoundManager | None:
    """Return micromamba, else mamba, else conda, None without any of them."""
    tools = {manager.name: manager for manager in find_conda_tools(environ, root)}
    return next((tools[name] for name in FASTEST_FIRST if name in tools), None)


def _candidates(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    yield from (path for name in CONDA_TOOLS if (path := find_executable(name, environ)))
    named = (Path(environ[variable]) for variable in _VARIABLES if environ.get(variable))
    yield from (path for path in named if path.is_absolute() and is_executable(path))
    folders = tuple(
        prefix / part for prefix in conda_prefixes(environ, root) for part in (_SCRIPTS, "condabin")
    )
    for name in CONDA_TOOLS:
        yield from find_executables(name, folders)


def conda_prefixes(environ: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """Return the usual folders of conda distributions, those of variables first."""
    named = (Path(environ[variable]).parent.parent for variable in _VARIABLES if environ.get(variable))
    roots = (Path(environ[name]) for name in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT") if environ.get(name))
    home = home_directory(environ)
    in_home = (home / folder for folder in _HOME_FOLDERS) if home else ()
    everywhere = (*named, *roots, *in_home, *(root / folder for folder in _SYSTEM_FOLDERS))
    return tuple(prefix for prefix in dict.fromkeys(everywhere) if prefix.is_absolute())


def _version(name: str, path: Path) -> str | None:
    """Read the version from the conda-meta record of the tool's package; micromamba has none."""
    try:
        prefix = path.resolve().parent.parent
        records = [parse_record(file.name) for file in sorted(prefix.glob(f"conda-meta/{name}-*.json"))]
    except (OSError, RuntimeError):
        return None
    return next((record[1] for record in records if record and record[0] == name), None)


def parse_record(filename: str) -> tuple[str, str] | None:
    """Parse the name of a conda-meta record, `python-3.11.5-h955ad1f_0.json`; None for anything else."""
    match = _RECORD.fullmatch(filename)
    return (match["name"], match["version"]) if match else None


def find_conda_environments(environ: Mapping[str, str], root: Path) -> tuple[Path, ...]:
    """Return the environments in the usual folders and in conda's own list, base environments among them."""
    return tuple(dict.fromkeys(filter(_is_environment, _environment_candidates(environ, root))))


def _environment_candidates(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in _environment_folders(environ, root):
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


def _environment_folders(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for variable in _ENVIRONMENT_VARIABLES:
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
