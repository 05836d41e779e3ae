"""Which indexes a plan reads: those that --mirror names, else what is configured and the official ones."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.installer_default import default_index
from gpuenv.indexes.mirrors.load import unknown_mirror
from gpuenv.indexes.mirrors.lookup import correction, find_mirror, host_of, is_bogus, mirror_of_url
from gpuenv.indexes.urls import Role, guess_source, is_remote
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.index import IndexSource
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.mirrors.sources import (
    AUTO,
    OFFICIAL,
    VARIANT,
    SourceContext,
    known_source,
    parts_of,
    pypi_source,
    torch_sources,
)


class Chosen(Struct, frozen=True):
    """The indexes to read, in order. `general` are those that can serve everything, the best first.

    `later` are mirrors to use where these do not answer: with `auto`, and by default where the user's
    configuration allows it. `named` are the mirrors that were named, and
    `forced` tells that the user's own configuration is ignored for them.
    """

    sources: tuple[IndexSource, ...]
    general: tuple[IndexSource, ...]
    later: tuple[Mirror, ...] = ()
    named: tuple[Mirror, ...] = ()
    forced: bool = False
    unasked: bool = False  # whether `later` was not requested
    warnings: tuple[PlanWarning, ...] = ()


def choose(words: tuple[str, ...], context: SourceContext, *, by_itself: bool = False) -> Chosen:
    """Return what to read for the words of --mirror; raise UsageError for one that names nothing.

    `by_itself`: without any word, mirrors are used as with `auto`, unless the user's configuration names
    indexes of their own, who may not want others to be contacted.
    """
    words = tuple(AUTO if word.strip().lower() == AUTO else word for word in words)
    chosen = _named(words, context) if any(word != AUTO for word in words) else _usual(context)
    if AUTO in words:
        names = {mirror.name for mirror in chosen.named}
        chosen = replace(
            chosen, later=tuple(mirror for mirror in _standing_in(context) if mirror.name not in names)
        )
    elif by_itself and not words and _may_stand_in(context):
        chosen = replace(chosen, later=_standing_in(context), unasked=True)
    return _without(chosen, context)


def _may_stand_in(context: SourceContext) -> bool:
    """Whether all that is configured is public: nothing, the official indexes, or mirrors that are known."""
    configured = context.configuration
    named = (*((configured.index_url,) if configured.index_url else ()), *configured.extra_index_urls)
    return not configured.no_index and all(_is_public(source.url, context) for source in named)


def _is_public(url: str, context: SourceContext) -> bool:
    default = default_index(context.environ)
    if default and is_remote(url) and host_of(url) == host_of(default):
        return True
    mirror = _mirror_of(url, context.mirrors.all)
    return mirror is not None and mirror.status != "retired" and not mirror.intranet


def _named(words: tuple[str, ...], context: SourceContext) -> Chosen:
    """The torch parts in the order given, then the copies of PyPI: a mirror of PyPI alone serves the rest."""
    chosen = [_one(word, context) for word in dict.fromkeys(words) if word != AUTO]
    usual = _usual(context) if AUTO in words else None
    sources = [source for choice in chosen for source in choice.sources]
    general = [source for choice in chosen for source in choice.general]
    both = {source.name or source.url for source in sources if source.kind != "pypi"}
    general.sort(key=lambda source: (source.name or source.url) in both)
    rest = (usual or _usual(context)).general if not general or usual else ()
    extra = () if general else context.configuration.extra_index_urls
    torch = [source for source in sources if source not in general]
    official = usual.sources if usual else ()
    return Chosen(
        sources=tuple(dict.fromkeys((*torch, *general, *rest, *extra, *official))),
        general=tuple(dict.fromkeys((*general, *rest))),
        named=tuple(mirror for choice in chosen for mirror in choice.named),
        forced=bool(general),
        warnings=tuple(warn for choice in chosen for warn in choice.warnings),
    )


def _one(word: str, context: SourceContext) -> Chosen:
    """What one word of --mirror means."""
    everything = context.mirrors.all
    mirror = find_mirror(word, everything)  # a folder of the same name is `./NAME`
    if mirror is not None:
        return _of_mirror(mirror, context, tr("option {option}", option="--mirror"))
    if is_remote(word) or word.lower().startswith("file:") or os.path.isdir(word):  # noqa: PTH112
        return _of_address(word, context)
    raise unknown_mirror(word, everything)


def _of_mirror(mirror: Mirror, context: SourceContext, origin: str) -> Chosen:
    if mirror.status == "retired":
        return Chosen((), (), named=(mirror,), warnings=(_retired(mirror, mirror.name),))
    general = pypi_source(mirror, context, origin)
    if general is None and mirror.torch is None and context.conda and mirror.conda:
        return Chosen((), (), named=(mirror,))
    if general is None and mirror.torch is None:
        raise UsageError(
            tr("the mirror `{name}` has neither torch wheels nor a copy of PyPI", name=mirror.name),
            code="mirror-without-part",
            fixes=(Fix(tr("see what each carries"), "gpuenv mirrors list"),),
        )
    sources = parts_of(mirror, context, origin)
    return Chosen(sources, (general,) if general else (), named=(mirror,))


def _of_address(word: str, context: SourceContext) -> Chosen:
    """An address: put right where it is known to be wrong, and with what is known of its mirror."""
    origin = tr("option {option}", option="--mirror")
    everything = context.mirrors.all
    never = is_bogus(word, everything)
    if never is not None:
        text = tr("`{url}` never had torch wheels: `{mirror}` is used directly", url=word, mirror=never.name)
        chosen = _of_mirror(never, context, origin)
        return replace(chosen, warnings=(*chosen.warnings, PlanWarning("mirror-address", text)))
    right = correction(word, everything)
    warnings: tuple[PlanWarning, ...] = ()
    if right is not None:
        warnings = (
            PlanWarning("mirror-address", tr("`{url}` is wrong: {right} is used", url=word, right=right)),
        )
    source = named_source(right or word, "--mirror", "mirror")
    mirror = _mirror_of(source.url, everything)
    if mirror is None:
        return _of_source(source, warnings)
    if mirror.status == "retired":
        return Chosen((), (), named=(mirror,), warnings=(_retired(mirror, source.url),))
    source, more = _encrypted(source, mirror)
    root = mirror.torch.address.partition(f"/{VARIANT}")[0] if mirror.torch else None
    if mirror.torch and root == source.url and VARIANT in mirror.torch.address:
        return Chosen(
            torch_sources(mirror, context, origin), (), named=(mirror,), warnings=(*warnings, *more)
        )
    return _of_source(known_source(source, mirror), (*warnings, *more), (mirror,))


def _of_source(
    source: IndexSource, warnings: tuple[PlanWarning, ...], named: tuple[Mirror, ...] = ()
) -> Chosen:
    """An index that is not a copy of the PyTorch index may serve everything; its pages show whether."""
    general = (source,) if source.kind == "pypi" else ()
    return Chosen((source,), general, named=named, warnings=warnings)


def _encrypted(source: IndexSource, mirror: Mirror) -> tuple[IndexSource, tuple[PlanWarning, ...]]:
    """The https address of a mirror that has one."""
    own = (mirror.pypi.simple if mirror.pypi else None, mirror.torch.address if mirror.torch else None)
    if not source.url.lower().startswith("http:") or not any(
        item and item.startswith("https:") for item in own
    ):
        return source, ()
    url = f"https{source.url[4:]}"
    return replace(source, url=url), (
        PlanWarning("mirror-address", tr("{url} is used instead of its unencrypted form", url=url)),
    )


def named_source(location: str, option: str, role: Role) -> IndexSource:
    """Return the source that an option names; raise UsageError for an address that can't be read.

    A folder is named absolutely: installers run elsewhere.
    """
    try:
        if is_remote(location.strip()) and not urlsplit(location.strip()).hostname:
            raise ValueError(tr("it has no host"))  # noqa: TRY301 - reported with the others
        if not is_remote(location) and not location.lower().startswith("file:"):
            location = os.path.abspath(location)  # noqa: PTH100 - a link must stay one
        return guess_source(location, tr("option {option}", option=option), role=role)
    except ValueError as error:
        raise UsageError(
            tr("`{place}` is not a valid URL: {error}", place=location, error=reason_of(error)),
            code="bad-address",
            fixes=(Fix(tr("write it as https://mirror.example/simple")),),
        ) from None


def _usual(context: SourceContext) -> Chosen:
    """What is configured, then PyPI's default if nothing is, then the official PyTorch index."""
    official = next(mirror for mirror in context.mirrors.all if mirror.name == OFFICIAL)
    configured, warnings = _configured(context)
    index = context.configuration.index_url
    own = tuple(source for source in configured[:1] if index and source.url == index.url)
    default = () if own else (pypi_source(official, context, tr("the installer's default")),)
    general = (*own, *(source for source in default if source))
    extra = tuple(source for source in configured if source not in own)
    torch = torch_sources(official, context, "matrix mirrors.json")
    sources = () if context.configuration.no_index else tuple(dict.fromkeys((*general, *extra, *torch)))
    return Chosen(sources, general, warnings=warnings)


def _configured(context: SourceContext) -> tuple[tuple[IndexSource, ...], tuple[PlanWarning, ...]]:
    """The indexes that pip's and uv's configuration names, without those that have been shut down."""
    index, extra = context.configuration.index_url, context.configuration.extra_index_urls
    sources: list[IndexSource] = []
    warnings: list[PlanWarning] = []
    for source in (*((index,) if index else ()), *extra):
        mirror = _mirror_of(source.url, context.mirrors.all)
        if mirror is not None and mirror.status == "retired":
            warnings.append(_retired(mirror, tr("{url} ({origin})", url=source.url, origin=source.origin)))
        else:
            sources.append(replace(known_source(source, mirror), hosts=()) if mirror else source)
    return tuple(sources), tuple(warnings)


def _mirror_of(url: str, mirrors: tuple[Mirror, ...]) -> Mirror | None:
    return mirror_of_url(url, mirrors) if is_remote(url) else None


def _retired(mirror: Mirror, location: str) -> PlanWarning:
    text = tr("{place} has been shut down: it is skipped", place=location)
    return PlanWarning("mirror-retired", tr("the mirror `{name}`: {text}", name=mirror.name, text=text))


def _standing_in(context: SourceContext) -> tuple[Mirror, ...]:
    """The mirrors that can be used instead, in the matrix' order: those with torch's wheels first."""
    usable = [
        mirror
        for mirror in context.mirrors.all
        if mirror.status in ("alive", "redirector")
        and mirror.kind != OFFICIAL
        and (mirror.pypi or mirror.torch)
    ]
    return tuple(sorted(usable, key=lambda mirror: mirror.torch is None))


def _without(chosen: Chosen, context: SourceContext) -> Chosen:
    """Leave out what turned out to be broken."""
    bad = context.excluding

    def kept(sources: tuple[IndexSource, ...]) -> tuple[IndexSource, ...]:
        return tuple(source for source in sources if source.url not in bad and source.name not in bad)

    later = tuple(mirror for mirror in chosen.later if mirror.name not in bad)
    return replace(chosen, sources=kept(chosen.sources), general=kept(chosen.general), later=later)
