"""What an extra index or a folder of wheels serves, or could serve, in another's place: said by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.index import IndexConfiguration, IndexSource, Listing
from gpuenv.model.plan import Plan, PlannedPackage, PlanWarning
from gpuenv.secrets.url_credentials import redact_credentials, without_userinfo

SHADOWED = "index-shadowed"
FREE_STRATEGIES = ("unsafe-best-match", "unsafe-first-match")


class Shadow(Struct, frozen=True):
    """A package that `first` serves, although `second` has it too."""

    package: str
    first: str
    second: str


def same_index(url: str | None, other: str | None) -> bool:
    """Whether two addresses are one index's, with or without a password."""
    return url is not None and other is not None and _plain(url) == _plain(other)


def _plain(url: str) -> str:
    return without_userinfo(url).rstrip("/")


def warn_of_shadows(shadows: Iterable[Shadow]) -> tuple[PlanWarning, ...]:
    """Name the packages for each pair of indexes, and say which serves them."""
    text = N_(
        "{packages}: installed from the extra index {first}, although {second} lists the same "
        "names: the first index that lists a name is used, and extra indexes come first; if that "
        "is not intended, remove the extra index"
    )
    return _one_a_pair(shadows, text)


def _one_a_pair(shadows: Iterable[Shadow], text: str) -> tuple[PlanWarning, ...]:
    """Return a warning for each pair of indexes, without the passwords in their addresses."""
    packages: dict[tuple[str, str], dict[str, None]] = {}
    for shadow in shadows:
        pair = redact_credentials(shadow.first), redact_credentials(shadow.second)
        packages.setdefault(pair, {})[shadow.package] = None
    return tuple(
        PlanWarning(SHADOWED, tr(text, packages=series(names), first=first, second=second))
        for (first, second), names in packages.items()
    )


def warn_of_stack_shadows(
    packages: Iterable[PlannedPackage], listings: Iterable[Listing], configuration: IndexConfiguration
) -> tuple[PlanWarning, ...]:
    """Name the user's own indexes and folders that list the torch stack too, which comes from elsewhere."""
    own = {_plain(source.url) for source in (*configuration.extra_index_urls, *configuration.find_links)}
    planned = {package.name: package for package in packages if package.index is not None}
    text = N_(
        "{packages}: also listed by {first}; installed from {second} by URL and hash, so that no "
        "other index can replace them"
    )
    shadows = (
        Shadow(item.name, listing.source.url, item.index)
        for listing in listings
        if (item := planned.get(listing.project))
        and item.index
        and not same_index(item.index, listing.source.url)
        if _plain(listing.source.url) in own and _could_replace(listing, item)
    )
    return _one_a_pair(shadows, text)


def _could_replace(listing: Listing, item: PlannedPackage) -> bool:
    """Whether a page lists the planned release or a newer one: older ones never outbid it."""
    return any(str(file.version) == item.version or file.filename == item.filename for file in listing.files)


def warn_of_strategy(configuration: IndexConfiguration) -> tuple[PlanWarning, ...]:
    """Say that the user's own configuration lets any index replace a package of another."""
    strategy, origin = configuration.index_strategy or ("", "")
    if strategy not in FREE_STRATEGIES or not configuration.extra_index_urls:
        return ()
    text = tr(
        "{origin} has `index-strategy = {strategy}`: any of the indexes may replace a package of "
        "another; the torch stack is still installed by hash",
        origin=origin,
        strategy=strategy,
    )
    return (PlanWarning("index-strategy", text),)


def warn_of_lone_hashes(
    plan: Plan, listings: Iterable[Listing], configuration: IndexConfiguration, known: Mapping[str, str]
) -> tuple[PlanWarning, ...]:
    """Name the files of the torch stack whose hash only the user's own configured index or folder tells."""
    own = {_plain(source.url): source for source in _configured(configuration)}
    listed = {
        file.filename
        for listing in listings
        if _plain(listing.source.url) not in own
        for file in listing.files
    }
    lone = (
        (item.filename, own[_plain(item.index)])
        for item in plan.packages[: len(plan.pins)]
        if item.filename and item.index and _plain(item.index) in own
        if item.filename not in known and item.filename not in listed
    )
    return tuple(
        PlanWarning(
            "hash-known-from-one",
            tr(
                "{file}: known only from {place} ({origin}): no other source has its hash, so it is "
                "installed without that check",
                file=filename,
                place=redact_credentials(source.url),
                origin=source.origin,
            ),
        )
        for filename, source in lone
    )


def _configured(configuration: IndexConfiguration) -> tuple[IndexSource, ...]:
    index = (configuration.index_url,) if configuration.index_url else ()
    return (*index, *configuration.extra_index_urls, *configuration.find_links)
