"""The pages of single projects on the index that everything but torch comes from."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpuenv.http import HttpClient
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.installers.uv_compile import ResolvedFile
from gpuenv.model.index import IndexConfiguration, IndexSource, Listing
from gpuenv.resolution.candidate import release_of


class Pages(Struct):
    """The pages of an index, each read when it is first used."""

    configuration: IndexConfiguration
    environ: Mapping[str, str]
    offline: bool = False
    read: dict[str, tuple[Listing, ...]] = field(default_factory=dict)

    def has_wheels(self, project: str, release: Version) -> bool:
        """Whether an index has wheels of a release, for any Python; true where that is not known."""
        listings = self.listings(project)
        if not listings or all(listing.problem for listing in listings):
            return True
        return any(
            release_of(file.version) == release_of(release) for listing in listings for file in listing.files
        )

    def has_wheels_of(self, file: ResolvedFile) -> bool:
        """Whether an index has wheels of the release that a resolver chose, for any Python."""
        try:
            return self.has_wheels(file.name, Version(file.version))
        except InvalidVersion:  # a folder's: only its build would know
            return False

    def listings(self, project: str) -> tuple[Listing, ...]:
        """Return what the index lists of a project; nothing where no index is known."""
        if project not in self.read:
            access = self.configuration.access
            with HttpClient(self.environ, access=access, offline=self.offline) as client:
                self.read[project] = read_listings(self._sources(), (canonicalize_name(project),), client)
        return self.read[project]

    def _sources(self) -> tuple[IndexSource, ...]:
        configured = (self.configuration.index_url, *self.configuration.extra_index_urls)
        sources = [source for source in configured if source is not None]
        url = None if self.configuration.index_url else default_index(self.environ)
        return (*sources, *([IndexSource("pypi", url, "", "pypi")] if url else []))
