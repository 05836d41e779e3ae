"""The formats of a plan, by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuenv.core.render.commands import render_commands
from gpuenv.core.render.environment_yml import render_environment
from gpuenv.core.render.requirements import render_requirements
from gpuenv.core.render.text import render_text
from gpuenv.values.plan import Plan

# `json` is missing: the envelope around it is the cli's.
FORMATS: Mapping[str, Callable[[Plan], str]] = {
    "text": render_text,
    "environment.yml": render_environment,
    "requirements.txt": render_requirements,
    "pip": render_commands,
    "uv": render_commands,
}
