"""Which reader reads which kind of file."""

from __future__ import annotations

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import ParsedFile
from gpuenv.adapt.parsers.environment_yml import read_environment
from gpuenv.adapt.parsers.pyproject import read_pyproject
from gpuenv.adapt.parsers.readme import read_readme
from gpuenv.adapt.parsers.requirements_txt import read_requirements
from gpuenv.adapt.parsers.setuptools import read_setup, read_setup_cfg
from gpuenv.model.wheel import Platform


def parse_file(file: DependencyFile, platform: Platform, *, constraint: bool = False) -> ParsedFile:
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
