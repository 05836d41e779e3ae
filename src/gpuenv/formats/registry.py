"""The formats of a plan, by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuenv.formats.commands import render_commands
from gpuenv.formats.devcontainer import render_devcontainer
from gpuenv.formats.environment_yml import render_environment
from gpuenv.formats.pixi import render_pixi, render_pixi_of_conda
from gpuenv.formats.pylock import render_pylock
from gpuenv.formats.pyproject import render_pyproject
from gpuenv.formats.requirements import render_locked_requirements, render_requirements
from gpuenv.formats.text import render_text
from gpuenv.model.locked import Locked
from gpuenv.model.plan import Plan

# `json` is missing: the envelope around it is the cli's.
FORMATS: Mapping[str, Callable[[Plan], str]] = {
    "text": render_text,
    "environment.yml": render_environment,
    "requirements.txt": render_requirements,
    "pixi.toml": render_pixi_of_conda,
    "devcontainer": render_devcontainer,
    "pip": render_commands,
    "uv": render_commands,
}

# Those that name every file by its official address and hash.
LOCKED_FORMATS: Mapping[str, Callable[[Locked], str]] = {
    "pylock.toml": render_pylock,
    "requirements.txt": render_locked_requirements,
    "pyproject": render_pyproject,
    "pixi.toml": render_pixi,
}
