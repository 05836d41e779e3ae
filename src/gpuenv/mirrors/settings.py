"""The mirror that `mirrors use` configures, and what that means for pip, uv and conda: keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from gpuenv.config_edit import condarc, pip_conf, uv_toml
from gpuenv.files.read_limited import read_limited_text
from gpuenv.i18n.messages import N_, gettext, series, tr
from gpuenv.indexes.configuration.locations import ConfigurationFolders, Scope
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import correction, mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.mirror import CondaPart, Mirror, PypiPart, Tool
from gpuenv.model.plan import PlanWarning
from gpuenv.secrets.url_credentials import redact_credentials

TOOLS: tuple[Tool, ...] = ("pip", "uv", "conda")
FORMATS: Mapping[Tool, ModuleType] = {"pip": pip_conf, "uv": uv_toml, "conda": condarc}
_PIP_KEY = "global.index-url"
# a value in one of these sections goes before the global one
_PIP_NEARER = ("install.index-url", "download.index-url", "wheel.index-url")
_CUSTOM = "custom_channels."
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
        fixes=(Fix(tr("choose one of {names}", names=series(others))),),
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


class UseOptions(Struct, frozen=True):
    """Which tools' files (none named: of all that are there), at which level."""

    tools: tuple[Tool, ...] = ()
    scope: Scope = "user"
    insecure: str | None = None


def chosen_mirror(name: str, options: UseOptions, mirrors: Mirrors) -> Mirror:
    """Return the mirror of a name or an address; raise UsageError for one that can't be used."""
    mirror = _at(name, mirrors) if is_remote(name) else mirrors.find(name)
    for item in (mirror, mirror_of_url(name, mirrors.all)):
        if item is not None and item.status == "retired":
            raise _retired(item)
    _refuse_plain_http(mirror, options)
    return mirror


def _at(url: str, mirrors: Mirrors) -> Mirror:
    """The copy of PyPI at an address, which is put right where it is known to be wrong."""
    address = (correction(url, mirrors.all) or url).rstrip("/")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise UsageError(
            tr("`{url}` is not a valid URL", url=url),
            code="bad-address",
            fixes=(Fix(tr("write it as https://mirror.example/simple")),),
        )
    return Mirror(address, address, "own", "alive", tr("as given"), hosts=(host,), pypi=PypiPart(address))


def _retired(mirror: Mirror) -> UsageError:
    return UsageError(
        tr("the mirror `{name}` has been shut down", name=mirror.name),
        code="mirror-retired",
        because=tuple(Because(gettext(fault.text), fault.source) for fault in mirror.faults),
        fixes=(Fix(tr("see which ones are alive"), "gpuenv mirrors list"),),
    )


def _refuse_plain_http(mirror: Mirror, options: UseOptions) -> None:
    """Plain http is taken for one mirror, which is named, and never together with pip's trusted-host."""
    simple = mirror.pypi.simple if mirror.pypi else None
    if simple and simple.lower().startswith("http:") and options.insecure not in (mirror.name, *mirror.hosts):
        template = N_("`{address}` is not encrypted: others on the network can change what is installed")
        raise UsageError(
            tr(template, address=simple),
            code="insecure-mirror",
            fixes=(
                Fix(tr("write it as https://")),
                Fix(tr("or, if there is no other way, allow it: --insecure {name}", name=mirror.hosts[0])),
            ),
        )


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
