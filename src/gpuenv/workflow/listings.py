"""What the indexes of a plan list: the user's, PyPI's, PyTorch's, or the snapshot that ships with gpuenv."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from gpuenv import matrices
from gpuenv.core.knowledge import Knowledge
from gpuenv.core.request import Request
from gpuenv.core.target import Target
from gpuenv.http import HttpClient, fetch_sizes
from gpuenv.indexes.addresses import Role, guess_source, is_remote
from gpuenv.indexes.configuration import read_configuration
from gpuenv.indexes.installer import default_index
from gpuenv.indexes.listings import read_listings
from gpuenv.indexes.snapshot import Bases, Pairing, read_snapshot
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.index import IndexConfiguration, IndexSource, Listing
from gpuenv.values.plan import Plan
from gpuenv.values.text import tr
from gpuenv.workflow.options import PlanOptions

_OFFICIAL = "official"
_AUTO = "auto"
_NOWHERE = "pypi"  # stands for PyPI in an offline plan where no installer tells its address


@dataclass(frozen=True, slots=True)
class Listed:
    """The listings of a plan, and the configuration that its installer gets."""

    listings: tuple[Listing, ...]
    configuration: IndexConfiguration


def list_files(
    options: PlanOptions, request: Request, target: Target, knowledge: Knowledge, environ: Mapping[str, str]
) -> Listed:
    """Read what each source lists of the torch stack; offline, from caches, wheelhouses and the snapshot."""
    projects = tuple(canonicalize_name(name) for name in ("torch", *request.companions))
    configured = _configured(environ)
    mirrors = _mirrors(options)
    wheelhouses = tuple(_named(place, "--find-links", "find-links") for place in options.find_links)
    configuration = replace(configured, find_links=(*wheelhouses, *configured.find_links))
    sources = (*configuration.find_links, *_indexes(configuration, mirrors, environ))
    with HttpClient(environ, ca_bundle=configuration.ca_bundle, offline=options.offline) as client:
        listings = read_listings(sources, projects, client)
    if options.offline:
        listings = _offline(listings, projects, target, knowledge, environ)
    return Listed(listings, _for_installer(configuration, mirrors, listings))


def choose_sources(
    indexes: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[IndexConfiguration, tuple[IndexSource, ...]]:
    """Return the user's configuration, and the indexes named, else those a plan reads but local ones."""
    configuration = _configured(environ)
    if indexes:
        return configuration, tuple(_named(index, "--index", "mirror") for index in indexes)
    found = (*configuration.find_links, *_indexes(configuration, None, environ))
    return configuration, tuple(source for source in found if source.kind != "directory")


def _configured(environ: Mapping[str, str]) -> IndexConfiguration:
    try:
        read = read_configuration(environ, home=_home(), cwd=Path.cwd())
        for source in (
            *read.extra_index_urls,
            *read.find_links,
            *((read.index_url,) if read.index_url else ()),
        ):
            urlsplit(source.url)
    except ValueError as error:
        raise UsageError(
            tr("the configuration of pip or uv names an address that can't be read: {error}", error=error),
            code="bad-address",
            fixes=(Fix(tr("see what they are told"), "pip config debug"),),
        ) from None
    return read


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and nobody of that number in the password file: a container's user
        return Path(os.devnull)


def _named(place: str, option: str, role: Role) -> IndexSource:
    try:
        urlsplit(place)
        return guess_source(place, tr("option {option}", option=option), role=role)
    except ValueError as error:
        raise UsageError(
            tr("`{place}` is no address that can be read: {error}", place=place, error=error),
            code="bad-address",
            fixes=(Fix(tr("write it as https://mirror.example/simple")),),
        ) from None


def _mirrors(options: PlanOptions) -> tuple[IndexSource, ...] | None:
    """Return the sources that --mirror names, None where it leaves the choice to gpuenv."""
    if not options.mirrors or options.mirrors == (_AUTO,):
        return None
    found: list[IndexSource] = []
    for mirror in options.mirrors:
        if mirror == _OFFICIAL:
            found.append(_pytorch_index())
        elif is_remote(mirror) or mirror.lower().startswith("file:") or os.path.isdir(mirror):  # noqa: PTH112
            found.append(_named(mirror, "--mirror", "mirror"))
        else:
            raise _unknown_mirror(mirror)
    return tuple(found)


def _unknown_mirror(mirror: str) -> UsageError:
    return UsageError(
        tr("`{mirror}` is no address of an index", mirror=mirror),
        code="unknown-mirror",
        fixes=(Fix(tr("give an address such as https://mirror.example/simple, or `official`")),),
    )


def _pytorch_index() -> IndexSource:
    row = next(row for row in matrices.load("indexes") if row["kind"] == "pytorch")
    return IndexSource("pytorch", row["url"], "matrix indexes.json", row["name"])


def _indexes(
    configuration: IndexConfiguration, mirrors: tuple[IndexSource, ...] | None, environ: Mapping[str, str]
) -> tuple[IndexSource, ...]:
    """Return the indexes to read, in order: mirrors first, PyTorch's own index after what is configured."""
    if configuration.no_index:
        return ()
    own = configuration.index_url or _default_index(environ)
    general = (*((own,) if own else ()), *configuration.extra_index_urls)
    if mirrors is None:
        return tuple(dict.fromkeys((*general, _pytorch_index())))
    if any(source.kind == "pypi" for source in mirrors):
        return tuple(dict.fromkeys((*mirrors, *configuration.extra_index_urls)))
    return tuple(dict.fromkeys((*mirrors, *general)))


def _default_index(environ: Mapping[str, str]) -> IndexSource | None:
    url = default_index(environ)
    return IndexSource("pypi", url, tr("the installer's default"), "pypi") if url else None


def _offline(
    listings: tuple[Listing, ...],
    projects: tuple[NormalizedName, ...],
    target: Target,
    knowledge: Knowledge,
    environ: Mapping[str, str],
) -> tuple[Listing, ...]:
    """Return the listings that could be had without a request, and the snapshot's."""
    builds = knowledge.builds_of(target.platform)
    pairings = tuple(
        Pairing(torch, canonicalize_name(project), version)
        for torch in dict.fromkeys(build.torch for build in builds)
        for project, versions in knowledge.companions_of(torch).items()
        for version in versions
        if _is_for_each_variant(project, version, knowledge)
    )
    bases = Bases(_pytorch_index().url, default_index(environ) or _NOWHERE)
    snapshot = read_snapshot(matrices.load("wheels"), builds, pairings, projects, bases)
    return (*(listing for listing in listings if not listing.problem), *snapshot)


def _is_for_each_variant(project: str, version: Version, knowledge: Knowledge) -> bool:
    """Whether a release was published for each variant of its torch, unlike one with kernels of its own."""
    release = knowledge.companion_release(project, version)
    return release is None or not release.architectures


def _for_installer(
    configuration: IndexConfiguration, mirrors: tuple[IndexSource, ...] | None, listings: tuple[Listing, ...]
) -> IndexConfiguration:
    """Return the configuration without what could not be read: uv gives up at a page that does not answer."""
    down = {listing.source.url for listing in listings if listing.problem}
    general = next((source for source in mirrors or () if _serves_everything(source, listings)), None)
    return replace(
        configuration,
        index_url=general or configuration.index_url,
        extra_index_urls=tuple(item for item in configuration.extra_index_urls if item.url not in down),
        find_links=tuple(item for item in configuration.find_links if item.url not in down),
    )


def _serves_everything(source: IndexSource, listings: tuple[Listing, ...]) -> bool:
    """Whether a mirror is one of PyPI: a copy of the PyTorch index carries files with local versions."""
    own = [listing for listing in listings if listing.source.url == source.url]
    carries_variants = any(file.version.local for listing in own for file in listing.files)
    answers = all(item.source.kind == "pypi" and not item.problem for item in own)
    return source.kind == "pypi" and answers and not carries_variants


def with_sizes(plan: Plan, options: PlanOptions, environ: Mapping[str, str]) -> Plan:
    """Return the plan with the sizes that its index pages did not tell, where a server does."""
    unknown = [item.url for item in plan.packages if item.size is None and item.url and is_remote(item.url)]
    if options.offline or not unknown:
        return plan
    with HttpClient(environ, ca_bundle=plan.sources.ca_bundle) as client:
        sizes = dict(zip(unknown, fetch_sizes(client, tuple(unknown)), strict=True))
    return replace(
        plan,
        packages=tuple(replace(item, size=item.size or sizes.get(item.url or "")) for item in plan.packages),
    )
