"""Which Python `gpuenv verify ENV` means."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr

Lookup = Callable[[str], Path | None]
"""Returns the directory of the environment of that name, None where there is none."""

_MARKS = ("pyvenv.cfg", "conda-meta", "gpuenv.json")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")


@dataclass(frozen=True, slots=True)
class Located:
    """An environment's Python, an absolute path; `root` is None for an interpreter that is in no environment.

    The path is never resolved: in a virtual environment it is a link, and resolved would be another Python.
    """

    python: Path
    root: Path | None

    @property
    def label(self) -> str:
        """What verify's data call the environment."""
        return str(self.root or self.python)


def locate(
    env: str | None, environ: Mapping[str, str], lookup: Lookup, *, windows: bool = os.name == "nt"
) -> Located:
    """Return the Python of ENV: a name, a directory or a Python; left out, the active environment's.

    Where none is active it is the Python on PATH. Raises UsageError where there is none.
    """
    if env is None:
        return _locate_active(environ, windows=windows)
    named = None if _is_path(env) else lookup(env)
    path = named or Path(os.path.abspath(os.path.expanduser(env)))  # noqa: PTH100, PTH111 - links must stay
    if env and os.path.isdir(path):  # noqa: PTH112 - false, where pathlib raises, for names that can't be
        return _locate_in(path, windows=windows)
    if os.path.isfile(path):  # noqa: PTH113
        return _locate_python(path)
    raise UsageError(
        tr("there is no environment `{env}`", env=env if env.isprintable() else ascii(env)),
        code="no-such-environment",
        fixes=(Fix(tr("see which environments there are"), "gpuenv list"),),
    )


def environment_of(python: Path) -> Path | None:
    """Return the environment that a Python lies in, None for one that is in none."""
    beside = python.parent
    root = beside.parent if beside.name.lower() in {"bin", "scripts"} else beside
    return root if any((root / mark).exists() for mark in _MARKS) else None


def _is_path(env: str) -> bool:
    return env.startswith((".", "~")) or any(
        separator in env for separator in (os.sep, os.altsep) if separator
    )


def _locate_active(environ: Mapping[str, str], *, windows: bool) -> Located:
    for variable in _ACTIVE:
        if environ.get(variable):
            return _locate_in(Path(environ[variable]).absolute(), windows=windows)
    # Windows' own `python3` opens a shop
    names = ("python", "python3") if windows else ("python3", "python")
    for name in names:
        found = shutil.which(name, path=environ.get("PATH", ""))
        if found:
            python = Path(found).absolute()
            return Located(python, environment_of(python))
    raise UsageError(
        tr("no environment is active, and there is no Python on PATH"),
        code="no-such-environment",
        fixes=(Fix(tr("name the environment, or the path of its Python"), "gpuenv verify ENV"),),
    )


def _locate_in(root: Path, *, windows: bool) -> Located:
    # a conda environment on Windows has its Python at the root
    places = ("Scripts/python.exe", "python.exe") if windows else ("bin/python", "bin/python3")
    for place in places:
        if (root / place).is_file():
            return Located(root / place, root)
    raise UsageError(
        tr("`{path}` is no environment: there is no `{python}` in it", path=root, python=places[0]),
        code="no-python",
    )


def _locate_python(path: Path) -> Located:
    if not os.access(path, os.X_OK):
        raise UsageError(tr("`{path}` is no Python: it can't be executed", path=path), code="no-python")
    return Located(path, environment_of(path))
