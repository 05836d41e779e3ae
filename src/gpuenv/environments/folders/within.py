"""Whether a path lies within an environment with all links followed: nothing else is changed there."""

from __future__ import annotations

import os
from pathlib import Path

from gpuenv.i18n.messages import tr


class Within:
    """The paths of one environment; a folder is looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._known: dict[str, bool] = {}

    def holds(self, path: Path) -> bool:
        """Tell whether `path` itself, not what it may lead to, lies in the environment."""
        folder = str(path.parent)
        known = self._known.get(folder)
        if known is None:
            real = os.path.realpath(folder)
            known = self._known[folder] = real == self._root or real.startswith(f"{self._root}{os.sep}")
        return known

    def check(self, path: Path) -> Path:
        """Return the path; raise ValueError where a link leads out of the environment."""
        if not self.holds(path):
            raise ValueError(tr("`{path}` points outside the environment", path=path))
        return path
