"""`gpuenv self version --check`: which gpuenv the user's indexes list."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from packaging.version import Version

from gpuenv import __version__
from gpuenv.model.index import Listing
from gpuenv.own_metadata import PROJECT
from gpuenv.planning.pages.listings import read_installer_configuration
from gpuenv.planning.pages.project_pages import Pages
from gpuenv.secrets.url_credentials import redact_credentials


class OnIndex(Struct, frozen=True):
    """What an index lists of gpuenv: its newest release, or why that is not known."""

    url: str
    newest: Version | None
    problem: str | None


def ask_indexes(environ: Mapping[str, str], *, offline: bool) -> tuple[OnIndex, ...]:
    """Return what the indexes list that pip and uv are configured to use (none: their default).

    A pre-release counts where this gpuenv is one. Raises UsageError for a configuration that can't be read.
    """
    configuration = read_installer_configuration(environ)
    if configuration.no_index:
        return ()
    listings = Pages(configuration, environ, offline).listings(PROJECT)
    return tuple(
        OnIndex(redact_credentials(listing.source.url), _newest(listing), listing.problem)
        for listing in listings
    )


def newest(indexes: tuple[OnIndex, ...]) -> OnIndex | None:
    """Return the index with the newest gpuenv, None where none lists any."""
    listed = [on_index for on_index in indexes if on_index.newest is not None]
    return max(listed, key=lambda on_index: on_index.newest or Version("0"), default=None)


def is_newer(version: Version | None) -> bool:
    """Whether a release is newer than this gpuenv."""
    return version is not None and version > Version(__version__)


def _newest(listing: Listing) -> Version | None:
    early = Version(__version__).is_prerelease
    versions = (file.version for file in listing.files)
    return max((version for version in versions if early or not version.is_prerelease), default=None)
