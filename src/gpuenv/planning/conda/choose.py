"""Whether a conda tool makes the environment, from which channel torch comes, and where channels are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gpuenv.host.software.package_managers import fastest_conda_tool
from gpuenv.i18n.messages import tr
from gpuenv.indexes.mirrors.load import Mirrors
from gpuenv.indexes.mirrors.lookup import find_mirror, mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.installers import CONDA_MANAGERS, EMBEDDED
from gpuenv.installers.protocol import sort_offers
from gpuenv.model.conda import CondaChannel
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.mirror import Mirror
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.model.wheel import Platform
from gpuenv.planning.options import PlanOptions
from gpuenv.secrets.url_credentials import without_userinfo

if TYPE_CHECKING:
    from gpuenv.resolution.conda.builds import CondaBuild

AUTO = "auto"
WHEELS = "wheels"
FORGE = "conda-forge"
CHANNELS = (AUTO, WHEELS, FORGE, "pytorch")
_WITHOUT_TOOL = "uv"
_EMBEDDED_AS = "conda"
_OFFICIAL = "official"
_DEFAULTS = "defaults"


def choose_manager(options: PlanOptions, environ: Mapping[str, str]) -> str:
    """Return the installer: the requested one, else a conda tool if there is one, else uv.

    If conda is requested and no conda tool was found, py-rattler is used if it is installed.
    """
    if options.manager not in (AUTO, _EMBEDDED_AS):
        return options.manager
    tool = fastest_conda_tool(environ)
    if options.manager == _EMBEDDED_AS:
        from gpuenv.installers import rattler  # noqa: PLC0415 - only where conda is requested

        return EMBEDDED if tool is None and rattler.is_there() else _EMBEDDED_AS
    if tool is not None:
        return tool.name
    return _WITHOUT_TOOL if options.channel in (AUTO, WHEELS) else CONDA_MANAGERS[0]


def choose_conda_manager(options: PlanOptions, environ: Mapping[str, str], format_name: str) -> str:
    """Return the conda tool that installs; raise UsageError where another installer was requested."""
    if options.manager == AUTO:
        tool = fastest_conda_tool(environ)
        return tool.name if tool else CONDA_MANAGERS[0]
    if options.manager in CONDA_MANAGERS:
        return options.manager
    raise UsageError(
        tr(
            "--format {format} requires a conda tool, not {manager}",
            format=format_name,
            manager=options.manager,
        ),
        code="usage",
        fixes=(Fix(tr("omit --manager, or choose conda, mamba, micromamba or rattler")),),
    )


def choose_channel(options: PlanOptions, manager: str, mirrors: Mirrors) -> str:
    """Return where torch comes from: `wheels`, or the name of a conda channel.

    Raises UsageError for a conda channel with a manager that reads none.
    """
    if manager not in CONDA_MANAGERS:
        if options.channel in (AUTO, WHEELS):
            return WHEELS
        raise UsageError(
            tr("{manager} does not install packages from conda channels", manager=manager),
            code="channel-without-conda",
            fixes=(
                Fix(tr("choose a conda tool: --manager conda, mamba, micromamba or rattler")),
                Fix(tr("or omit --channel: wheels bring their own CUDA")),
            ),
        )
    if options.channel != AUTO:
        return options.channel
    named = tuple(mirror for word in options.mirrors if (mirror := _mirror_of(word, mirrors)))
    only_without_torch = bool(named) and not any(mirror.torch for mirror in named)
    has_forge = any(_location_on(mirror, FORGE) for mirror in named)
    others = {AUTO, _OFFICIAL} & set(options.mirrors)
    return FORGE if only_without_torch and has_forge and not others else WHEELS


def _mirror_of(word: str, mirrors: Mirrors) -> Mirror | None:
    return mirror_of_url(word, mirrors.all) if is_remote(word) else find_mirror(word, mirrors.all)


def conda_builds(channel: str, platform: Platform) -> tuple[CondaBuild, ...]:
    """Return what is known of a channel's builds for a platform."""
    from gpuenv import matrices  # noqa: PLC0415 - for conda alone
    from gpuenv.resolution.conda.builds import parse_conda_build  # noqa: PLC0415

    return tuple(
        parse_conda_build(row)
        for row in matrices.load("conda")
        if row["channel"] == channel and row["platform"] == platform
    )


def conda_pythons(platform: Platform) -> tuple[PythonOffer, ...]:
    """Return the Pythons that conda-forge builds torch for, newest first.

    Its builds for macOS are not in the matrix; conda-forge has the same Pythons there.
    """
    builds = conda_builds(FORGE, platform) or conda_builds(FORGE, "linux-64")
    tags = {tag for build in builds for tag in build.build.pythons}
    return sort_offers(tuple(parse_python_tag(tag) for tag in tags))


def locate_channel(name: str, options: PlanOptions, mirrors: Mirrors) -> CondaChannel:
    """Return where a channel can be read: on the mirrors named, in their order, then at its own place.

    A mirror that lacks the channel (Tsinghua has no `nvidia`) is skipped. Without mirrors named only the
    official URL is returned, which the user's own configuration of conda may override.
    """
    named = [mirror for word in options.mirrors if (mirror := _mirror_of(word, mirrors))]
    places = [location for mirror in named if (location := _location_on(mirror, name))]
    official = _location_on(mirrors.find(_OFFICIAL), name)
    if AUTO in options.mirrors:
        places += [location for mirror in mirrors.all if (location := _location_on(mirror, name))]
    urls = tuple(dict.fromkeys((*places, *((official,) if official else ()))))
    bad = options.excluding
    return CondaChannel(name, tuple(url for url in urls if url not in bad))


def locate_asked(names: tuple[str, ...], options: PlanOptions, mirrors: Mirrors) -> tuple[CondaChannel, ...]:
    """Return where the channels that a person's file names can be read.

    Addresses on mirrors that are known become the channel's name, which means something to other people too.
    """
    channels = (_asked_channel(name, options, mirrors) for name in names)
    return tuple(channel for channel in channels if channel.name != _DEFAULTS)


def _asked_channel(text: str, options: PlanOptions, mirrors: Mirrors) -> CondaChannel:
    if not is_remote(text):
        return _without_mirrors_named(locate_channel(text, options, mirrors), options)
    from gpuenv.indexes.mirrors.canonical_urls import channel_at  # noqa: PLC0415 - for a channel's address

    name = channel_at(text, mirrors.all)
    if name is None:
        return CondaChannel(without_userinfo(text), (text,))
    there = CondaChannel(name, (text.rstrip("/"),))
    return there if not options.mirrors else locate_channel(name, options, mirrors)


def _location_on(mirror: Mirror, channel: str) -> str | None:
    """Return the address of a channel on a mirror, None where it does not carry it."""
    part = mirror.conda
    if part is None or mirror.status == "retired" or channel in part.missing:
        return None
    elsewhere = dict(part.elsewhere)
    if channel in elsewhere:
        return f"{elsewhere[channel]}/{channel}"
    if mirror.kind == _OFFICIAL:
        return f"{part.root}/{channel}"
    return f"{part.root}/cloud/{channel}" if channel in part.cloud else None


def _without_mirrors_named(channel: CondaChannel, options: PlanOptions) -> CondaChannel:
    """Return the channel by its name alone where no mirror was named: conda's configuration leads there."""
    reads_no_condarc = options.manager == EMBEDDED
    return channel if options.mirrors or reads_no_condarc else replace(channel, urls=())
