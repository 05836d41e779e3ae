"""What using a mirror means for pip, uv and conda: which keys get which values."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from gpuenv.config_edit import condarc, pip_conf, uv_toml
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.lookup import mirror_of_url
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.mirror import CondaPart, Mirror, Tool

TOOLS: tuple[Tool, ...] = ("pip", "uv", "conda")
FORMATS: Mapping[Tool, ModuleType] = {"pip": pip_conf, "uv": uv_toml, "conda": condarc}

_PIP_KEY = "global.index-url"
# a value in one of these sections goes before the global one
_PIP_NEARER = ("install.index-url", "download.index-url", "wheel.index-url")
_CUSTOM = "custom_channels."


def carries(mirror: Mirror, tool: Tool) -> bool:
    """Whether a mirror has the part that a tool reads."""
    return mirror.conda is not None if tool == "conda" else mirror.pypi is not None


def wanted_settings(
    tool: Tool, mirror: Mirror, present: Mapping[str, Any], mirrors: tuple[Mirror, ...]
) -> dict[str, Any]:
    """Return the keys to set, None for those to take out, in a file that says `present`.

    The official indexes are what a tool uses when nothing is said, so everything goes. Raises UsageError for
    a mirror without the part that the tool needs.
    """
    if not carries(mirror, tool):
        raise _not_carried(tool, mirror, mirrors)
    if mirror.conda and tool == "conda":
        official = mirror.kind == "official"
        return _without_mirrors(present, mirrors) if official else _conda(mirror.conda)
    simple = mirror.pypi.simple if mirror.pypi else None
    if tool == "uv":
        return {uv_toml.DEFAULT: simple}
    return {key: simple for key in (_PIP_KEY, *_PIP_NEARER) if key == _PIP_KEY or key in present}


def _conda(part: CondaPart) -> dict[str, Any]:
    """default_channels and custom_channels: an alias would send every other name to the mirror as well.

    https://github.com/tuna/issues/issues/2110
    """
    cloud = f"{part.root}/cloud"
    settings: dict[str, Any] = {"show_channel_urls": True}
    if part.pkgs:
        settings["default_channels"] = [f"{part.root}/pkgs/{name}" for name in part.pkgs]
    places = dict.fromkeys(part.cloud, cloud) | dict(part.elsewhere)
    settings |= {f"{_CUSTOM}{name}": location for name, location in places.items()}
    return settings if part.shards else {**settings, "repodata_use_shards": False}


def _without_mirrors(present: Mapping[str, Any], mirrors: tuple[Mirror, ...]) -> dict[str, Any]:
    """Take out what leads to any mirror, whoever wrote it."""

    def leads_away(value: Any) -> bool:
        mirror = mirror_of_url(value, mirrors) if isinstance(value, str) else None
        return mirror is not None and mirror.kind != "official"

    channels = present.get("default_channels")
    settings = {key: None for key, value in present.items() if key.startswith(_CUSTOM) and leads_away(value)}
    if isinstance(channels, list) and any(map(leads_away, channels)):
        settings["default_channels"] = None
    return settings


def _not_carried(tool: Tool, mirror: Mirror, mirrors: tuple[Mirror, ...]) -> UsageError:
    others = [item.name for item in mirrors if item.status == "alive" and carries(item, tool)]
    part = tr("conda channels") if tool == "conda" else tr("copy of PyPI")
    return UsageError(
        tr("the mirror `{name}` has no {part} for {tool}", name=mirror.name, part=part, tool=tool),
        code="mirror-without-part",
        fixes=(Fix(tr("choose one of {names}", names=", ".join(others))),),
    )


def put_back(
    present: Mapping[str, Any], settings: tuple[tuple[str, Any, Any], ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the keys to set back in a file that was edited since, and those that were changed by hand."""
    back: dict[str, Any] = {}
    left: list[str] = []
    for key, before, after in settings:
        if present.get(key) == after:
            back[key] = before
        elif present.get(key) != before:
            left.append(key)
    return back, tuple(left)
