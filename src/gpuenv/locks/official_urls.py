"""Where files lie officially, and what official pages tell of them: as far as can be, without a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from packaging.utils import NormalizedName, canonicalize_name

from gpuenv.http import HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_file_host, default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.mirrors.canonical_urls import Official, pypi_files_root
from gpuenv.indexes.urls import guess_source
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Plan, PlannedPackage

_FOLDER = "packages"  # where the default index has its files


@dataclass(frozen=True)
class OfficialPlaces:
    """Finds official places for a plan; each thing is asked once, and only where its answer is needed."""

    plan: Plan
    official: Mirror
    environ: Mapping[str, str]
    offline: bool

    @cached_property
    def torch(self) -> str | None:
        """The PyTorch index."""
        return self.official.torch.address if self.official.torch else None

    @cached_property
    def index(self) -> str | None:
        """PyPI's index: the one that is configured for gpuenv, else the installer's default."""
        own = self.official.pypi.simple if self.official.pypi else None
        return own or default_index(self.environ)

    def places(self, mirrored: tuple[str, ...]) -> Official:
        """Return the official places; `mirrored` are the projects that come from mirrors of PyPI.

        Where PyPI has its files is told by links on cached pages, by pip, or by a page that is read now.
        """
        projects = tuple(canonicalize_name(name) for name in mirrored)
        return Official(self.torch, self.index, self._files(projects) if projects else None)

    def find(self, package: PlannedPackage) -> PlannedPackage | None:
        """Return a file as an index lists it with its hash; None where none does.

        The plan's own index is asked, PyPI and the PyTorch index's folder of the variant.
        """
        folder = f"{self.torch}/{self.plan.variant}" if self.torch else None
        places = (self.plan.sources.index_url, self.index, folder)
        sources = tuple(_source(location) for location in dict.fromkeys(places) if location)
        for listing in self._read(sources, (canonicalize_name(package.name),), offline=self.offline):
            for file in listing.files:
                same = file.filename == package.filename and package.sha256 in (None, file.sha256)
                if same and file.sha256 and file.url:
                    planned = replace(package, url=file.url, index=listing.source.url)
                    return replace(planned, sha256=file.sha256, size=package.size or file.size)
        return None

    def _files(self, projects: tuple[NormalizedName, ...]) -> str | None:
        return self._linked(projects, offline=True) or self._told or self._linked(projects[:1])

    @cached_property
    def _told(self) -> str | None:
        """What pip knows of its own default index, which is no other."""
        configured = self.official.pypi and self.official.pypi.simple
        host = None if configured or not self.index else default_file_host()
        return f"{urlsplit(self.index or '').scheme}://{host}/{_FOLDER}" if host else None

    def _linked(self, projects: tuple[NormalizedName, ...], *, offline: bool = False) -> str | None:
        if self.index is None:
            return None
        pages = self._read((_source(self.index),), projects, offline=offline or self.offline)
        links = (pypi_files_root(file.url) for page in pages for file in page.files)
        return next((root for root in links if root), None)

    def _read(
        self, sources: tuple[IndexSource, ...], projects: tuple[NormalizedName, ...], *, offline: bool
    ) -> tuple[Listing, ...]:
        with HttpClient(self.environ, access=self.plan.sources.access, offline=offline) as client:
            return read_listings(sources, projects, client)


def _source(location: str) -> IndexSource:
    return guess_source(location, tr("the lock"))
