"""What a plan warns of besides: ignored settings, mirrors, indexes that serve what another has too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from gpuenv.host.executables import read_text
from gpuenv.http import HttpClient
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.listings import read_listings, read_names
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.indexes.mirrors.lookup import mirror_at, mirror_of_url
from gpuenv.indexes.mirrors.notes import warn_of_stand_ins, what_official_has, why_no_torch_wheels
from gpuenv.indexes.urls import guess_source, is_remote
from gpuenv.model.index import IndexConfiguration, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.planning.pages.listings import PlanListings
from gpuenv.planning.pages.shipped_listing import known_digests
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.report.index_shadows import (
    Shadow,
    same_index,
    warn_of_lone_hashes,
    warn_of_shadows,
    warn_of_stack_shadows,
    warn_of_strategy,
)
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.secrets.url_credentials import without_userinfo
from gpuenv.untrusted.documents import load_toml


def with_shadow_warnings(plan: Plan, environ: Mapping[str, str], *, offline: bool = False) -> Plan:
    """Return the plan with a warning for each extra index that serves what the index behind it has too.

    Only what does not lie with the index behind is looked up, so that a private package costs two requests.
    """
    sources = plan.sources
    if offline or sources.no_index or sources.offline or not sources.extra_index_urls:
        return plan
    behind = sources.index_url or default_index(environ)
    if behind is None or not is_remote(behind):
        return plan
    mirrors = load_mirrors(environ).all
    extras = tuple(
        url
        for url in sources.extra_index_urls
        if is_remote(url) and not same_index(url, behind) and not _are_copies(url, behind, mirrors)
    )
    names = tuple(
        canonicalize_name(item.name)
        for item in plan.packages[len(plan.pins) :]
        if item.url and is_remote(item.url) and not _lies_with(item.url, behind, mirrors)
    )
    if not names or not extras:
        return plan
    index_sources = tuple(guess_source(url, tr("configuration")) for url in (*extras, behind))
    with HttpClient(environ, access=sources.access) as client:
        there = read_names(index_sources, names, client)
    first = {
        name: next((source.url for source in index_sources[:-1] if (source.url, name) in there), None)
        for name in names
    }
    shadows = (
        Shadow(name, location, behind)
        for name, location in first.items()
        if location is not None and (index_sources[-1].url, name) in there
    )
    return replace(plan, warnings=(*plan.warnings, *warn_of_shadows(shadows)))


def _lies_with(url: str, index: str, mirrors: tuple[Mirror, ...]) -> bool:
    """Whether a file is on the server of an index, or on the same known mirror."""
    if _server(url) == _server(index):
        return True
    mirror = mirror_at(index, mirrors)
    return mirror is not None and mirror_at(url, mirrors) == mirror


def _server(url: str) -> str:
    return urlsplit(without_userinfo(url)).netloc.lower()


def warn_of_indexes(
    plan: Plan,
    listings: tuple[Listing, ...],
    configured: IndexConfiguration,
    environ: Mapping[str, str],
    *,
    offline: bool = False,
) -> tuple[PlanWarning, ...]:
    """Warn of what the user's configured indexes and folders could put in the place of the torch stack."""
    stack = plan.packages[: len(plan.pins)]
    read = {listing.source.url for listing in listings}
    unread = tuple(
        source for source in configured.extra_index_urls if source.url not in read and is_remote(source.url)
    )
    if unread and not offline:  # with --mirror torch is not looked for there, but the installer looks
        projects = tuple(canonicalize_name(item.name) for item in stack)
        with HttpClient(environ, access=plan.sources.access) as client:
            listings = (*listings, *read_listings(unread, projects, client))
    is_configured = configured != IndexConfiguration(None, (), ())
    return (
        *warn_of_stack_shadows(stack, listings, configured),
        *warn_of_strategy(configured),
        # without a configuration the shipped listing need not be read
        *(warn_of_lone_hashes(plan, listings, configured, known_digests()) if is_configured else ()),
    )


def _are_copies(url: str, other: str, mirrors: tuple[Mirror, ...]) -> bool:
    """Whether both are known public mirrors, which have the same packages."""
    return all(mirror_of_url(item, mirrors) is not None for item in (url, other))


def with_mirror_notes(
    plan: Plan, question: ResolutionInput, decision: Decision, listed: PlanListings
) -> Plan:
    """Explain the source of torch, and what the official index would have given."""
    # the choice that a plan was made from: another than the first where other requirements forced it
    torch = plan.packages[0]
    solution = next(
        (item for item in decision.choices if (item.torch.file.url or None) == torch.url), decision.choices[0]
    )
    official = _from_official(question, listed)
    return replace(
        plan,
        why=(*why_no_torch_wheels(solution, listed.named), *plan.why),
        advice=(*plan.advice, *what_official_has(solution, official)),
        warnings=(
            *warn_of_stand_ins(solution, listed.listings, listed.stood_in, listed.silent),
            *plan.warnings,
        ),
    )


def _from_official(question: ResolutionInput, listed: PlanListings) -> Solution | None:
    if not listed.official:
        return None
    beside = tuple(listing for listing in question.listings if listing.project in question.request.extensions)
    listings = (*listed.official, *beside)
    inputs = build_input(question.request, question.target, question.knowledge, listings, question.pythons)
    solutions = decide(inputs).choices
    return solutions[0] if solutions else None


_DECIDING = (
    "index", "index-url", "extra-index-url", "find-links", "no-index", "index-strategy", "pip",
    "override-dependencies", "constraint-dependencies", "exclude-dependencies", "exclude-newer",
)  # fmt: skip


def warn_of_settings(environ: Mapping[str, str]) -> tuple[PlanWarning, ...]:
    """Warn of the nearest uv.toml or `[tool.uv]` with settings that would change a plan, were they obeyed."""
    if environ.get("UV_NO_CONFIG") or environ.get("UV_CONFIG_FILE"):
        return ()  # uv itself would not look there
    here = Path(os.path.abspath("."))  # noqa: PTH100 - as it was entered
    file = next((path for folder in (here, *here.parents) if (path := _settings_in(folder))), None)
    if file is None:
        return ()
    text = tr(
        "{file} is ignored: the current directory does not configure gpuenv; to use its indexes "
        "give them with --mirror or GPUENV_MIRROR, to use all of it set UV_CONFIG_FILE to a "
        "uv.toml",
        file=file,
    )
    return (PlanWarning("folder-configuration-ignored", text),)


def _settings_in(folder: Path) -> Path | None:
    for name in ("uv.toml", "pyproject.toml"):
        text = read_text(folder / name, limit=1 << 20)
        if text is not None and _parse_deciding(name, text):
            return folder / name
    return None


def _parse_deciding(name: str, text: str) -> tuple[str, ...]:
    """Return the keys of a file that would change what uv resolves; none if it is not TOML."""
    try:
        table: Any = load_toml(text)
        if name == "pyproject.toml":
            table = table.get("tool", {}).get("uv", {})
        return tuple(key for key in _DECIDING if key in table)
    except (ValueError, AttributeError, TypeError):
        return ()


def channel_not_read(channel: str) -> PlanWarning:
    """Say that torch is not from the channel that was asked for."""
    text = tr(
        "torch comes as a wheel, not from {channel}: conda channels are read for CUDA and the CPU alone",
        channel=channel,
    )
    return PlanWarning("channel-not-read", text)
