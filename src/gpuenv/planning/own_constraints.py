"""The constraints that the user has configured pip with, beside which an environment's own count."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from gpuenv.indexes.configuration.active_environment import own_constraints, without_active_hold
from gpuenv.indexes.configuration.locations import ConfigurationFolders
from gpuenv.indexes.configuration.pip import configured_constraints, selects_files


def own_pip_constraints(environ: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """Return the constraints that the user's own pip is configured with, none of gpuenv's environments'."""
    return own_constraints(" ".join(configured_constraints(_places(environ, root))))


def pip_chooses_by_own_rules(environ: Mapping[str, str], root: Path) -> bool:
    """Whether the user's own pip is configured with options that only pip knows."""
    return selects_files(_places(environ, root))


def _places(environ: Mapping[str, str], root: Path) -> ConfigurationFolders:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    return ConfigurationFolders(without_active_hold(environ), home, Path("/"), root, sys.platform)
