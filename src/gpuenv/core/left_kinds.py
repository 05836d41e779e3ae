"""Which reader reads which kind of file."""

from __future__ import annotations

from gpuenv.core.left_environment import read_environment
from gpuenv.core.left_pyproject import read_pyproject
from gpuenv.core.left_reading import Reading
from gpuenv.core.left_readme import read_readme
from gpuenv.core.left_requirements import read_requirements
from gpuenv.core.left_setup import read_setup
from gpuenv.core.left_setup_cfg import read_setup_cfg
from gpuenv.values.build import Platform
from gpuenv.values.left import LeftFile


def read_left_file(file: LeftFile, platform: Platform, *, constraint: bool = False) -> Reading:
    """Read a file of whatever kind; raise ValueError for one that is broken as a whole."""
    if file.kind == "environment":
        return read_environment(file, platform)
    if file.kind == "pyproject":
        return read_pyproject(file)
    if file.kind == "setup":
        return read_setup_cfg(file) if file.path.endswith(".cfg") else read_setup(file)
    if file.kind == "readme":
        return read_readme(file)
    return read_requirements(file, constraint=constraint)
