"""Notes on mirrors: pages that lead to other hosts, and what the official index has."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Because
from gpuenv.model.index import IndexSource, Listing
from gpuenv.model.mirror import Mirror
from gpuenv.model.plan import Advice, PlanWarning
from gpuenv.resolution.decision import Solution


def hosts_elsewhere(listing: Listing) -> tuple[str, ...]:
    """Return the foreign hosts that a mirror's page is on or links to."""
    own = listing.source.hosts
    if not own:
        return ()
    urls = (listing.read_at or "", *(file.url for file in listing.files[:1] + listing.files[-1:]))
    hosts = (urlsplit(url).hostname for url in urls if "://" in url and not url.startswith("file:"))
    return tuple(dict.fromkeys(host for host in hosts if host and host not in own))


def strayed_last(listings: tuple[Listing, ...]) -> tuple[Listing, ...]:
    """Return the listings, those with foreign hosts last."""
    return tuple(sorted(listings, key=lambda listing: bool(hosts_elsewhere(listing))))


def warn_of_strays(listings: tuple[Listing, ...]) -> tuple[PlanWarning, ...]:
    """Warn of mirrors whose pages lead to foreign hosts."""
    sources: dict[tuple[str, str], IndexSource] = {}
    for listing in listings:
        for host in hosts_elsewhere(listing):
            kind = "mirror-redirects" if listing.read_at and host in listing.read_at else "mirror-leaks"
            sources.setdefault((kind, host), listing.source)
    texts = {
        "mirror-redirects": N_("the mirror `{mirror}` sends its index pages to {host}"),
        "mirror-leaks": N_("the mirror `{mirror}` links to files on {host}, which is not its own"),
    }
    return tuple(
        PlanWarning(kind, tr(texts[kind], mirror=source.name or source.url, host=host))
        for (kind, host), source in sources.items()
    )


def warn_of_stand_ins(
    solution: Solution, listings: Iterable[Listing], stood_in: tuple[str, ...], silent: tuple[str, ...]
) -> tuple[PlanWarning, ...]:
    """Say which mirror serves torch instead of an index that is down, or that none does."""
    failed = (listing for listing in listings if listing.problem)
    down = [listing.page for listing in failed if listing.source.kind in ("pytorch", "pypi")]
    hosts = series(dict.fromkeys(urlsplit(page).hostname or page for page in down))
    if silent:
        text = tr("{hosts} could not be reached, and no mirror either", hosts=hosts)
        return (PlanWarning("mirrors-silent", text),)
    mirror = solution.torch.listing.source.name
    if mirror is None or mirror not in stood_in:
        return ()
    facts = {"hosts": hosts, "mirror": mirror}
    text = tr("{hosts} could not be reached; torch comes from the mirror {mirror}", **facts)
    return (PlanWarning("mirror-stands-in", text),)


def none_answered(silent: tuple[str, ...]) -> tuple[Because, ...]:
    """Say that no mirror responded."""
    if not silent:
        return ()
    text = tr("none of the mirrors responded either: {mirrors}", mirrors=series(silent))
    return (Because(text, "matrix mirrors.json"),)


def why_no_torch_wheels(solution: Solution, mirrors: Iterable[Mirror]) -> tuple[Because, ...]:
    """Say that the build is PyPI's own because no mirror carries torch's wheels."""
    named = tuple(mirrors)
    if solution.candidate.kind != "pypi" or not named or any(mirror.torch for mirror in named):
        return ()
    names = series(f"`{mirror.name}`" for mirror in named)
    text = tr(
        "{mirrors} has no torch wheels except PyPI's own, and PyPI's torch {torch} is for "
        "{variant}",
        mirrors=names, torch=solution.candidate.torch, variant=solution.candidate.variant,
    )  # fmt: skip
    return (Because(text, "; ".join(dict.fromkeys(mirror.source for mirror in named))),)


def what_official_has(solution: Solution, official: Solution | None) -> tuple[Advice, ...]:
    """Name the build of the official index, if it is another."""
    if official is None:
        return ()
    ours, theirs = solution.candidate, official.candidate
    if theirs.torch < ours.torch or (theirs.torch, theirs.variant) == (ours.torch, ours.variant):
        return ()
    text = tr("the official index has {build} for this machine", build=official.candidate.label)
    return (Advice(text, "--mirror official"),)
