"""What lies in an environment's directory that is no part of it, and would be lost with it."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.on_disk.directories import identity_of

_OF_A_ROOT = ("condabin", "envs", "pkgs")  # of a conda tool's installation
_OF_A_PROJECT = (".git", ".hg", ".svn", "pyproject.toml", "setup.py")
_INTERPRETERS = (("bin", "python"), ("Scripts", "python.exe"))


def find_inside(environment: Path) -> Path | None:
    """Return what shows that a directory is more than one environment, None where it is just one.

    That is a part of a conda tool's installation, another environment, or a project that was begun in it.
    Links are not followed.
    """
    for name in (*_OF_A_ROOT, *_OF_A_PROJECT):
        path = environment / name
        if os.path.lexists(path) and (name not in _OF_A_ROOT or path.is_dir()):
            return path
    for folder, _, files in os.walk(environment):
        path = Path(folder)
        if path != environment and _is_another(path, files):
            return path
    return None


def _is_another(path: Path, files: list[str]) -> bool:
    if "pyvenv.cfg" in files:
        return any(os.path.lexists(path.joinpath(*parts)) for parts in _INTERPRETERS)
    meta = path / "conda-meta"
    return identity_of(meta) is not None and (meta / "history").is_file()
