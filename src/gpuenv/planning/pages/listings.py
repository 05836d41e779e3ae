"""What the indexes of a plan list: the user's, PyPI's, PyTorch's, or the snapshot that ships with gpuenv."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.http import HttpClient, fetch_sizes
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.read import read_configuration, without_folders
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.indexes.mirrors.notes import strayed_last, warn_of_strays
from gpuenv.indexes.urls import PAGE_ENDINGS, is_file_url, is_remote, local_path
from gpuenv.indexes.wheel_files import is_variant
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.index import IndexConfiguration, IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.index_order import served_by
from gpuenv.planning.mirrors.choose import Chosen, choose, named_source
from gpuenv.planning.mirrors.sources import DEFAULT, SourceContext
from gpuenv.planning.mirrors.stand_ins import SourceReader, read_fallback_mirrors
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.shipped_listing import known_digests, known_files, own_sources
from gpuenv.resolution.candidate import Candidate, release_of
from gpuenv.resolution.collect import builds_worth_asking, plugins_of
from gpuenv.resolution.digests import (
    Contradiction,
    need_known_digests,
    warn_of_contradictions,
    with_known_digests,
)
from gpuenv.resolution.pinning.companions import pinned_companions
from gpuenv.resolution.request import Request
from gpuenv.resolution.target import Target


class PlanListings(Struct, frozen=True):
    """The listings of a plan, and the configurations that its installer may get, the best first.

    `configured` is what pip's and uv's own configuration names. `official` are the listings of the official
    index that ship with gpuenv, where only other mirrors were read; `named` are those mirrors.
    `stood_in` are mirrors that were used instead, `silent` those of them of which none answered.
    """

    listings: tuple[Listing, ...]
    configurations: tuple[IndexConfiguration, ...]
    configured: IndexConfiguration
    warnings: tuple[PlanWarning, ...] = ()
    named: tuple[Mirror, ...] = ()
    official: tuple[Listing, ...] = ()
    stood_in: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


def list_files(
    options: PlanOptions,
    request: Request,
    target: Target,
    knowledge: Knowledge,
    environ: Mapping[str, str],
    *,
    others: tuple[Target, ...] = (),
) -> PlanListings:
    """Read what each source lists of the torch stack; offline, from caches, wheelhouses and the snapshot.

    What is read is enough to choose for `target`, and for each of `others` of the same platform.
    """
    beside = (*request.companions, *pinned_companions(request, knowledge))
    projects = tuple(canonicalize_name(name) for name in ("torch", *beside, *plugins_of(target)))
    configuration = _with_wheelhouses(options, environ)
    check_wheelhouses((*options.find_links, *filter(is_file_url, options.mirrors)))
    builds = builds_worth_asking(request, target, knowledge, others)
    context = SourceContext(
        mirrors=load_mirrors(environ),
        configuration=configuration,
        variants=tuple(dict.fromkeys(candidate.variant for candidate in builds)),
        environ=environ,
        excluding=options.excluding,
        conda=request.manager in CONDA_MANAGERS,
    )
    chosen = choose(options.mirrors, context, by_itself=not options.offline)

    def known() -> tuple[Listing, ...]:
        return known_files(projects, target, knowledge, context.mirrors.find("official"), environ)

    with HttpClient(environ, access=configuration.access, offline=options.offline) as client:
        reader = SourceReader(projects, client)
        own = own_sources(target, knowledge, builds)
        listings = reader.read((*configuration.find_links, *chosen.sources, *own))
        listings = _with_folders(listings, chosen, builds, request, context, reader)
        fallback = read_fallback_mirrors(chosen, listings, context, reader)
    chosen, listings = fallback.chosen, fallback.listings
    if options.offline:
        shipped = (listing for listing in known() if _is_carried(listing, chosen))
        listings = (*(listing for listing in listings if not listing.problem), *shipped)
    listings, contradictions = _agreeing(listings, context)
    ordered = strayed_last(listings)
    only_others = bool(chosen.named) and not any(mirror.kind == "official" for mirror in chosen.named)
    return PlanListings(
        listings=ordered,
        configurations=_for_installer(configuration, chosen, listings, context),
        warnings=(*chosen.warnings, *warn_of_strays(listings), *warn_of_contradictions(contradictions)),
        named=chosen.named,
        official=known() if only_others and not options.offline else (),
        stood_in=fallback.answered,
        silent=fallback.silent,
        configured=read_installer_configuration(environ),
    )


def _agreeing(
    listings: tuple[Listing, ...], context: SourceContext
) -> tuple[tuple[Listing, ...], tuple[Contradiction, ...]]:
    """Return what agrees with what is known; what ships is not even read where it says nothing of a file."""
    if not need_known_digests(listings, context.is_official):
        return listings, ()
    return with_known_digests(listings, known_digests(), context.is_official)


def _is_carried(listing: Listing, chosen: Chosen) -> bool:
    """Whether the mirrors named have a shipped listing's files: those of PyPI have only PyPI's."""
    carriers = (*chosen.named, *chosen.later)
    no_wheels = bool(chosen.named) and not any(mirror.torch for mirror in carriers)
    return listing.source.name == DEFAULT or not no_wheels


def _with_folders(
    listings: tuple[Listing, ...],
    chosen: Chosen,
    builds: tuple[Candidate, ...],
    request: Request,
    context: SourceContext,
    reader: SourceReader,
) -> tuple[Listing, ...]:
    """Read the folders of the variants where a page of all of them lacks what is requested.

    https://github.com/pytorch/pytorch/issues/170511
    """
    empty = [source for source in chosen.sources if _lists_nothing(source, listings)]
    folders: tuple[IndexSource, ...] = ()
    for source in empty:
        if source.maybe_flat or source.kind == "pytorch":
            folders += tuple(
                replace(source, kind="pytorch", url=f"{source.url}/{variant}", maybe_flat=True)
                for variant in context.variants
            )
    roots = [source for source in chosen.sources if source.kind == "pytorch" and source not in empty]
    if (request.specifier("torch") or request.variant) and builds and not _lists_any(builds, listings):
        wanted = dict.fromkeys(candidate.variant for candidate in builds)
        folders += tuple(
            replace(root, url=f"{root.url}/{variant}")
            for root in roots
            if not is_variant(root.url.rpartition("/")[2])
            for variant in wanted
        )
    return (*listings, *reader.read(folders)) if folders else listings


def _lists_nothing(source: IndexSource, listings: tuple[Listing, ...]) -> bool:
    own = [listing for listing in listings if listing.source.url == source.url]
    return bool(own) and not any(listing.files or listing.problem for listing in own)


def _lists_any(builds: tuple[Candidate, ...], listings: tuple[Listing, ...]) -> bool:
    wanted = {(candidate.torch, candidate.variant) for candidate in builds}
    return any(
        (release_of(file.version), file.variant) in wanted
        for listing in listings
        if listing.project == "torch"
        for file in listing.files
    )


def configuration_for(options: PlanOptions, environ: Mapping[str, str]) -> IndexConfiguration:
    """Return the installer's indexes where torch is not a wheel: the index for everything else."""
    configured = _with_wheelhouses(options, environ)
    context = SourceContext(load_mirrors(environ), configured, (), environ, options.excluding, conda=True)
    index = next(iter(choose(options.mirrors, context).general), configured.index_url)
    return served_by(index, configured, environ)


def _with_wheelhouses(options: PlanOptions, environ: Mapping[str, str]) -> IndexConfiguration:
    configured = read_installer_configuration(environ)
    if options.container is not None:
        configured = without_folders(configured)
    named = (named_source(link, "--find-links", "find-links") for link in options.find_links)
    links = (*named, *configured.find_links)
    access = configured.access.including((*options.mirrors, *options.find_links))
    return replace(configured, find_links=links, only_binary=options.only_binary, access=access)


def check_wheelhouses(wheelhouses: tuple[str, ...]) -> None:
    """Raise UsageError for a folder or page that was typed and is not there: nothing would come from it."""
    for wheelhouse in wheelhouses:
        path = local_path(wheelhouse)
        if not is_remote(wheelhouse) and not (path.is_dir() or path.name.endswith(PAGE_ENDINGS)):
            raise UsageError(
                tr("`{place}` is not a directory of wheels", place=wheelhouse),
                code="bad-address",
                fixes=(Fix(tr("give an existing directory, or the URL of a page that lists wheels")),),
            )


def choose_sources(
    indexes: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[IndexConfiguration, tuple[IndexSource, ...]]:
    """Return the user's configuration, and the indexes named, else those a plan reads but local ones."""
    configuration = read_installer_configuration(environ)
    if indexes:
        return configuration, tuple(named_source(index, "--index", "mirror") for index in indexes)
    context = SourceContext(load_mirrors(environ), configuration, (), environ)
    sources = (*configuration.find_links, *choose((), context).sources)
    return configuration, tuple(source for source in sources if source.kind != "directory")


def read_installer_configuration(environ: Mapping[str, str]) -> IndexConfiguration:
    """Return the indexes of pip's and uv's configuration; raise UsageError for an invalid URL."""
    try:
        read = read_configuration(environ, home=_home(), cwd=Path.cwd())
        for source in filter(None, (*read.extra_index_urls, *read.find_links, read.index_url)):
            urlsplit(source.url)
    except ValueError as error:
        raise UsageError(
            tr("the configuration of pip or uv contains an invalid URL: {error}", error=reason_of(error)),
            code="bad-address",
            fixes=(Fix(tr("see their configuration"), "pip config debug"),),
        ) from None
    return read


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and no such user in the password file: a container's user
        return Path(os.devnull)


def _for_installer(
    configuration: IndexConfiguration,
    chosen: Chosen,
    listings: tuple[Listing, ...],
    context: SourceContext,
) -> tuple[IndexConfiguration, ...]:
    """Return the configuration without what could not be read: uv gives up at a page that does not answer.

    One for each index that can serve everything, in order.
    """
    down = {listing.source.url for listing in listings if listing.problem}
    usable = replace(
        configuration,
        extra_index_urls=tuple(item for item in configuration.extra_index_urls if item.url not in down),
        find_links=tuple(item for item in configuration.find_links if item.url not in down),
    )
    answering = tuple(source for source in chosen.general if _serves_everything(source, listings))
    indexes = answering or chosen.general[:1] or (configuration.index_url,)
    return tuple(served_by(index, usable, context.environ) for index in indexes)


def _serves_everything(source: IndexSource, listings: tuple[Listing, ...]) -> bool:
    """Whether a mirror is one of PyPI: a copy of the PyTorch index carries files with local versions."""
    own = [listing for listing in listings if listing.source.url == source.url]
    carries_variants = any(file.version.local for listing in own for file in listing.files)
    answers = all(item.source.kind == "pypi" and not item.problem for item in own)
    return source.kind == "pypi" and answers and not carries_variants


def with_sizes(plan: Plan, options: PlanOptions, environ: Mapping[str, str]) -> Plan:
    """Return the plan with the sizes that its index pages lack, read from the servers."""
    unknown = [item.url for item in plan.packages if item.size is None and item.url and is_remote(item.url)]
    if options.offline or not unknown:
        return plan
    with HttpClient(environ, access=plan.sources.access) as client:
        sizes = dict(zip(unknown, fetch_sizes(client, tuple(unknown)), strict=True))
    return replace(
        plan,
        packages=tuple(replace(item, size=item.size or sizes.get(item.url or "")) for item in plan.packages),
    )
