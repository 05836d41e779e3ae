"""Where the files of a bootstrap script come from: gpuenv itself, a Python for it, pinned environments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gpuenv.bootstrap.model import BesideFile, MicromambaFile
from gpuenv.bootstrap.resolve import PLATFORMS
from gpuenv.http import HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.conda.repodata import read_channels
from gpuenv.indexes.mirrors.load import Mirrors, unknown_mirror
from gpuenv.indexes.mirrors.lookup import correction, find_mirror, mirror_of_url
from gpuenv.indexes.urls import is_remote
from gpuenv.model.conda import ChannelListing, CondaChannel
from gpuenv.model.locked import Locked
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.conda.choose import FORGE, locate_channel
from gpuenv.planning.mirrors.choose import named_source
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import configuration_for

if TYPE_CHECKING:
    from packaging.pylock import Pylock

_MICROMAMBA = "micromamba"
_LINUX_TAGS = ("any", "manylinux", "linux")
_ANY = ("auto", "official")  # words of --mirror: the installer's own index


def find_indexes(words: tuple[str, ...], mirrors: Mirrors) -> Iterator[str]:
    """Yield the copies of PyPI among the mirrors that were named; an empty text is the installer's own."""
    for word in words:
        mirror = find_mirror(word, mirrors.all)
        if word.strip().lower() in _ANY:
            yield ""
        elif mirror is not None:
            if mirror.pypi and mirror.pypi.simple and mirror.status != "retired":
                yield mirror.pypi.simple
        elif is_remote(word):
            source = named_source(correction(word, mirrors.all) or word, "--mirror", "mirror")
            on = mirror_of_url(source.url, mirrors.all)
            if source.kind == "pypi" and not (on and on.status == "retired"):
                yield source.url
        elif not Path(word).is_dir():
            raise unknown_mirror(word, mirrors.all)


def find_micromamba(
    options: PlanOptions, mirrors: Mirrors, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[MicromambaFile, ...], tuple[PlanWarning, ...]]:
    """Return where conda-forge is, and the newest micromamba on it as packages that tar unpacks."""
    channel = locate_channel(FORGE, options, mirrors)
    channels = tuple(url for url in channel.urls if is_remote(url))
    access = configuration_for(options, environ).access
    with HttpClient(environ, access=access, offline=options.offline) as client:
        read = read_channels((CondaChannel(FORGE, channels),), PLATFORMS, frozenset({_MICROMAMBA}), client)
    files = tuple(file for listing in read if (file := _newest(listing)))
    if files:
        return channels, files, ()
    problem = next((listing.problem for listing in read if listing.problem), None) or tr(
        "it has no micromamba"
    )
    text = tr(
        "the script cannot provide Python to a machine that has none: {channel} could not be read: {problem}",
        channel=FORGE,
        problem=problem,
    )
    return channels, (), (PlanWarning("no-micromamba", text),)


def _newest(listing: ChannelListing) -> MicromambaFile | None:
    """Return the newest package that tar and bzip2 unpack."""
    usable = [record for record in listing.records if record.filename.endswith(".tar.bz2") and record.sha256]
    newest = max(usable, key=lambda record: (_version(record.version), record.build_number), default=None)
    if newest is None or newest.sha256 is None:
        return None
    platform = next(item for item in PLATFORMS if item == listing.subdir)
    return MicromambaFile(platform, newest.filename, newest.sha256)


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def files_of_plan(locked: Locked) -> Iterator[BesideFile]:
    """Yield the files of a plan: from where the plan has them, else from their official addresses."""
    planned = {
        package.filename: package.url for package in locked.plan.packages if package.filename and package.url
    }
    for file in locked.files:
        urls = dict.fromkeys(url for url in (planned.get(file.filename), file.url) if url)
        yield BesideFile(file.filename, file.sha256, file.size, tuple(urls))


def files_of_lock(document: Pylock) -> Iterator[BesideFile]:
    """Yield the wheels of a lock that some Linux machine could need."""
    for package in document.packages:
        for wheel in package.wheels or ():
            url, digest = wheel.url, wheel.hashes.get("sha256")
            if url and digest and _is_for_linux(wheel.filename):
                yield BesideFile(wheel.filename, digest, wheel.size, (url,))


def _is_for_linux(filename: str) -> bool:
    try:
        tags = parse_wheel_filename(filename)[3]
    except InvalidWheelFilename:
        return False
    return any(tag.platform.startswith(_LINUX_TAGS) for tag in tags)
