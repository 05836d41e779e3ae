"""The constraints that the user's own pip is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.indexes.configuration.locations import ConfigurationFolders


def configured_constraints(places: ConfigurationFolders) -> tuple[str, ...]:
    """Return the constraints files that pip would read: PIP_CONSTRAINT's, else those of its files.

    A file that can't be read is passed over: pip itself will say so.
    """
    if words := places.environ.get("PIP_CONSTRAINT", "").split():
        return tuple(words)
    options: dict[str, str] = {}
    for path in places.pip_files():
        options |= _read(path)
    value = options.get("install.constraint") or options.get("global.constraint") or ""
    return tuple(value.split())


def _read(path: Path) -> Mapping[str, str]:
    try:
        text = read_limited_text(path)
        if "constraint" not in text:
            return {}
        from gpuenv.indexes.configuration.pip import parse_pip_configuration  # noqa: PLC0415 - seldom

        return parse_pip_configuration(text)
    except (OSError, ValueError):
        return {}
