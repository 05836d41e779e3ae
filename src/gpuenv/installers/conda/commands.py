"""Command lines, variables and configuration of conda tools."""

from __future__ import annotations

import hashlib
import ntpath
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from gpuenv.config_edit.condarc import read_settings, write_settings
from gpuenv.i18n.messages import series, tr
from gpuenv.installers.protocol import MISLEADING, without
from gpuenv.model.conda import CondaChannel, CondaWanted
from gpuenv.model.plan import Step
from gpuenv.secrets.url_credentials import has_userinfo, without_userinfo

# Both tools read options from variables.
_MISLEADING = (
    *MISLEADING,
    *(
        f"{tool}_{option}"
        for tool in ("CONDA", "MAMBA")
        for option in (
            "CHANNELS", "CHANNEL_PRIORITY", "CREATE_DEFAULT_PACKAGES", "DEPS_MODIFIER", "DOWNLOAD_ONLY",
            "DRY_RUN", "JSON", "NO_DEPS", "ONLY_DEPS", "QUIET", "TARGET_PREFIX",
        )
    ),
    "MAMBA_PLATFORM",
)  # fmt: skip
# These have precedence over any file, and so over our condarc.
_MIRRORING = tuple(
    f"{tool}_{option}" for tool in ("CONDA", "MAMBA") for option in ("CHANNEL_ALIAS", "DEFAULT_CHANNELS")
)
_DEFAULTS = "defaults"
_SEVERAL = "custom_multichannels"
# conda puts what follows `/t/` in the base of a custom channel before the channel's name, wherever it stood:
# https://conda.example/t/TOKEN/cloud + conda-forge is https://conda.example/cloud/t/TOKEN/conda-forge to it
_TOKEN_WITHIN = re.compile(r"/t/[^/]*/")


def create_options(wanted: CondaWanted, prefix: str, *, shown: bool = False) -> tuple[str, ...]:
    """Return the arguments of `create` that all tools share; `shown`: without the names of our condarc."""
    names = {} if shown else secret_names(wanted.channels)
    options = ["create", "-p", prefix, "--override-channels"]
    for channel in wanted.channels:
        options += ["-c", names.get(channel) or channel_argument(channel)]
    return (*options, "--strict-channel-priority")


def dry_run_arguments(wanted: CondaWanted, prefix: str, *, words: bool = False) -> tuple[str, ...]:
    """Return the arguments of a dry run, as JSON or in `words`; `prefix` must not exist."""
    how = ("--dry-run", "-q") if words else ("--dry-run", "--json", "-q")
    return (*create_options(wanted, prefix), *how, *specs(wanted))


def create_arguments(wanted: CondaWanted, listed: str | None = None) -> tuple[str, ...]:
    """Return the arguments that create the environment, from a list of packages where there is one."""
    asked = specs(wanted) if listed is None else ("--file", listed)
    return (*create_options(wanted, wanted.prefix), "--json", "-q", "-y", *asked)


def specs(wanted: CondaWanted) -> tuple[str, ...]:
    """Return the distinct specs, with Python also pip, which only some tools add; ValueError for options."""
    requested = tuple(dict.fromkeys(wanted.specs))
    for text in requested:
        if text.startswith("-") or not text.strip():
            raise ValueError(tr("`{text}` is an option, not a match spec", text=text))
    names = {text.split()[0].partition("=")[0] for text in requested}
    return (*requested, "pip") if "python" in names and "pip" not in names else requested


class ToolManager(Struct, frozen=True):
    """The manager of a conda tool: its `create`, after a dry run that matched the plan."""

    NAME: str

    def steps(self, wanted: CondaWanted) -> tuple[Step, ...]:
        """Return the equivalent shell command of `create`."""
        return steps(self.NAME, wanted)


def steps(tool: str, wanted: CondaWanted) -> tuple[Step, ...]:
    """Return the shell command that creates the environment."""
    why = tr("let {tool} create the environment from {channels}", tool=tool,
             channels=series(channel.name for channel in wanted.channels))  # fmt: skip
    return (Step((tool, *create_options(wanted, wanted.prefix, shown=True), "-y", *specs(wanted)), why),)


def variables(
    environ: Mapping[str, str],
    wanted: CondaWanted,
    *,
    condarc: str | None = None,
    ca_bundle: str | None = None,
) -> dict[str, str]:
    """Return the user's variables, without those that change the solution, with the planned CUDA."""
    changed = without(environ, (*_MISLEADING, *_MIRRORING) if condarc else _MISLEADING)
    changed |= {
        "CONDA_OVERRIDE_CUDA": wanted.cuda or "",
        "CONDA_SUBDIR": wanted.subdir,
        "MAMBA_NO_BANNER": "1",
    }
    if condarc:
        changed["CONDARC"] = condarc
    if ca_bundle:
        changed.setdefault("REQUESTS_CA_BUNDLE", ca_bundle)
    return changed


def channel_argument(channel: CondaChannel) -> str:
    """Return the argument of `-c`: the name if our condarc can define it, else the URL."""
    named = channel.name == _DEFAULTS or _base(channel) is not None
    return channel.name if named or not channel.urls else channel.urls[0]


def secret_names(channels: tuple[CondaChannel, ...]) -> dict[CondaChannel, str]:
    """Return unique names, the ends of the URLs, for channels whose URLs must not appear in arguments."""
    names: dict[CondaChannel, str] = {}
    taken = {channel_argument(channel) for channel in channels}
    for channel in channels:
        if not has_userinfo(channel_argument(channel)):
            continue
        parts = without_userinfo(channel.urls[0]).rstrip("/").partition("://")[2].split("/")[1:]
        ends = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
        names[channel] = next((end for end in ends if end not in taken), "")
        if not names[channel]:
            name = channel.name
            raise ValueError(
                tr("`{channel}` cannot be passed to a conda tool without its password", channel=name)
            )
        taken.add(names[channel])
    return names


def _base(channel: CondaChannel) -> str | None:
    """Return the URL without the channel's name, as custom_channels requires."""
    address = channel.urls[0].rstrip("/") if channel.urls else ""
    base = address.removesuffix(f"/{channel.name}")
    return base if base != address and "/" not in channel.name else None


def render_condarc(channels: tuple[CondaChannel, ...], before: str = "", *, shards: bool = True) -> str:
    """Render a condarc that maps the channels' names to their first URLs, with all else of `before`.

    `before` is the file of the user's CONDARC, which ours replaces. Without `shards` conda does not look for
    sharded repodata, for mirrors that have none. Raises ValueError where `before` is invalid.
    """
    settings: dict[str, Any] = {"show_channel_urls": True}
    named = dict(secret_names(channels))
    for channel in channels:
        if channel.name == _DEFAULTS and channel.urls:
            settings["default_channels"] = [channel.urls[0]]
        elif _base(channel) is not None:
            named[channel] = channel.name
    within: dict[str, Any] = {}
    for channel, name in named.items():
        url = channel.urls[0].rstrip("/")
        base = url.removesuffix(f"/{name}")
        if _TOKEN_WITHIN.search(base):
            within[name] = [url]
        else:
            settings[f"custom_channels.{name}"] = base
    if within:
        settings[_SEVERAL] = {**(read_settings(before).get(_SEVERAL) or {}), **within}
    return write_settings(before, settings if shards else {**settings, "repodata_use_shards": False})


def condarc_name(text: str) -> str:
    """Return a file name for a condarc; conda ignores other names than this and `*.yml`."""
    return f"condarc-{hashlib.sha256(text.encode()).hexdigest()[:16]}.yml"


def environment_python(prefix: str, system: str) -> str:
    """Return the interpreter of a conda environment; on Windows it is not in Scripts."""
    windows = system == "windows"
    return ntpath.join(prefix, "python.exe") if windows else posixpath.join(prefix, "bin", "python")
