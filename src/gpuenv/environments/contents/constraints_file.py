"""What gpuenv puts into an environment for those who work in it: constraints that hold its torch stack."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.formats.torch_constraints import (
    HELD,
    held_pins,
    is_held_configuration,
    render_constraints,
    render_pip_configuration,
)
from gpuenv.indexes.configuration.active_environment import without_active_hold
from gpuenv.on_disk.replace import replace_file

CONSTRAINTS = "constraints.txt"
PIP_CONFIGURATION = "pip.ini" if os.name == "nt" else "pip.conf"


def hold_stack(root: Path, name: str) -> None:
    """Write the constraints of what is installed now, and let the environment's pip read them.

    To be called whenever the torch stack or the environment's place has changed. A pip.conf that is not ours
    alone stays as it is. Raises OSError.
    """
    pins = held_pins(_installed_stack(root))
    if not pins:
        return
    replace_file(root / CONSTRAINTS, render_constraints(pins, name))
    configuration = root / PIP_CONFIGURATION
    if is_ours(configuration) or not configuration.exists():
        replace_file(configuration, render_pip_configuration((root / CONSTRAINTS).as_uri()))


def is_ours(configuration: Path) -> bool:
    """Tell whether a pip.conf is as gpuenv writes it, for this place or another."""
    try:
        return is_held_configuration(read_limited_text(configuration))
    except (OSError, ValueError):
        return False


def _installed_stack(root: Path) -> dict[str, str]:
    """Return the versions of the torch stack; the metadata of nothing else is read."""
    from importlib.metadata import distributions  # noqa: PLC0415 - `run` needs neither

    from gpuenv.on_disk.installed import site_packages  # noqa: PLC0415

    folders = [str(path) for path in site_packages(root)]
    versions: dict[str, str] = {}
    for name in HELD:
        for distribution in distributions(name=name, path=folders):
            if version := distribution.metadata["Version"]:
                versions.setdefault(name, version)
    return versions


def constraints_url(root: Path) -> str | None:
    """Return the environment's constraints as pip and uv take them, None where it has none."""
    file = root / CONSTRAINTS
    return file.as_uri() if file.is_file() else None


def without_hold(environ: Mapping[str, str], root: Path, user: tuple[str, ...]) -> dict[str, str]:
    """Return the variables with which pip and uv may change the torch stack of the environment `root`.

    `user` are the constraints that the user's own pip is configured with.
    """
    variables = without_active_hold(environ)
    if is_ours(root / PIP_CONFIGURATION):  # a variable goes before the file
        variables["PIP_CONSTRAINT"] = " ".join(user) or os.devnull
    return variables
