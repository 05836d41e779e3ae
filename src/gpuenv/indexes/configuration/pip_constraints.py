"""The constraints that the user's own pip is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuenv.files.read_limited import read_limited_text
from gpuenv.indexes.configuration.locations import ConfigurationFolders

_RULES = (
    "pre", "no-binary", "only-binary", "prefer-binary", "requirement", "editable", "platform", "abi",
    "implementation", "python-version", "ignore-requires-python", "uploaded-prior-to", "all-releases",
    "only-final", "build-constraint",
)  # fmt: skip


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


def chooses_by_own_rules(places: ConfigurationFolders) -> bool:
    """Tell whether pip is configured to choose other files than those that a resolver takes by default."""
    if any(places.environ.get(f"PIP_{name.upper().replace('-', '_')}") for name in _RULES):
        return True
    messages = {name.partition(".")[2] for path in places.pip_files() for name in _read(path, _RULES)}
    return not messages.isdisjoint(_RULES)


def _read(path: Path, names: tuple[str, ...] = ("constraint",)) -> Mapping[str, str]:
    try:
        text = read_limited_text(path)
        if not any(name in text.replace("_", "-") for name in names):
            return {}
        from gpuenv.indexes.configuration.pip import parse_pip_configuration  # noqa: PLC0415 - seldom

        return parse_pip_configuration(text)
    except (OSError, ValueError):
        return {}
