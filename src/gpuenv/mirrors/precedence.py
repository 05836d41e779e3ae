"""What pip, uv and conda go by before the file that `gpuenv mirrors use` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.locations import ConfigurationFolders, Scope
from gpuenv.mirrors.settings import FORMATS
from gpuenv.model.mirror import Tool
from gpuenv.model.plan import PlanWarning
from gpuenv.secrets.url_credentials import redact_credentials

_VARIABLES: Mapping[Tool, tuple[str, ...]] = {
    "pip": ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_CONFIG_FILE"),
    "uv": ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_CONFIG_FILE", "UV_NO_CONFIG"),
    "conda": ("CONDARC", "CONDA_DEFAULT_CHANNELS", "CONDA_CHANNEL_ALIAS", "MAMBARC"),
}
_KEYS: Mapping[Tool, tuple[str, ...]] = {
    "pip": ("index-url",),
    "uv": ("index.default",),
    "conda": ("default_channels", "custom_channels"),
}


def precedence_warnings(
    tool: Tool, file: Path, scope: Scope, places: ConfigurationFolders
) -> Iterator[PlanWarning]:
    """Tell what goes before a file that is written: variables, and files that are nearer."""
    for variable in _VARIABLES[tool]:
        if value := places.environ.get(variable):
            facts = {"variable": variable, "value": redact_credentials(value), "file": file}
            text = tr("the variable {variable} ({value}) takes precedence over {file}", **facts)
            yield PlanWarning("setting-overridden", text)
    for path in _nearer(tool, file, scope, places):
        if _says(tool, path):
            text = tr("{nearer} takes precedence over {file}", nearer=path, file=file)
            yield PlanWarning("setting-overridden", text)


def _nearer(tool: Tool, file: Path, scope: Scope, places: ConfigurationFolders) -> Iterator[Path]:
    match tool:
        case "pip":
            files = places.pip_files()
            yield from files[files.index(file) + 1 :] if file in files else ()
        case "uv":
            for folder in (Path.cwd(), *Path.cwd().parents):
                yield from (folder / "uv.toml", folder / "pyproject.toml")
        case "conda":
            order: tuple[Scope, ...] = ("site", "user", "environment")
            yield from (places.conda_file(item) for item in order[order.index(scope) + 1 :])


def _project_says(document: Mapping[str, Any]) -> bool:
    """Whether a pyproject.toml names an index to uv: `[[tool.uv.index]]`, or the older `index-url`."""
    tools = document.get("tool")
    own = tools.get("uv") if isinstance(tools, Mapping) else None
    if not isinstance(own, Mapping):
        return False
    return isinstance(own.get("index"), list) or "index-url" in own


def _says(tool: Tool, path: Path) -> bool:
    """Whether a file can be read and sets one of the keys that gpuenv would set."""
    try:
        present = FORMATS[tool].read_settings(read_limited_text(path))
    except (OSError, ValueError):
        return False
    if tool == "uv" and path.name == "pyproject.toml":
        return _project_says(present["rest"])
    return any(any(word in key for word in _KEYS[tool]) for key in present)
