"""Rule `reach`: the very file is listed on an index that answers, and is not yanked."""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.model.index import Listing
from gpuenv.resolution.candidate import Candidate, Failure, release_of
from gpuenv.resolution.rules.phrases import builds, pages


def check(candidate: Candidate, listings: tuple[Listing, ...]) -> tuple[Failure, ...]:
    """Return a failure where no index lists a file of the build (yanked files are none)."""
    if candidate.files:
        return ()
    down = [listing for listing in listings if listing.problem and _may_hold(listing, candidate)]
    if down:
        facts = {"page": down[0].page, "problem": down[0].problem or ""}
        return (_failure(candidate, "down", down[0].page, facts),)
    yanked = tuple(listing.page for listing in listings if _has_yanked(listing, candidate))
    if yanked:
        return (_failure(candidate, "yanked", pages(yanked), {"page": pages(yanked), "problem": ""}),)
    read = pages(tuple(listing.page for listing in listings if not listing.problem))
    return (_failure(candidate, "absent", f"{candidate.source}; {read}", {"page": read, "problem": ""}),)


def _has_yanked(listing: Listing, candidate: Candidate) -> bool:
    """Whether a page lists files of the build that were withdrawn: no installer takes them unasked."""
    return any(
        file.yanked
        and release_of(file.version) == candidate.torch
        and (file.variant == candidate.variant if file.variant else candidate.kind == "pypi")
        for file in listing.files
    )


def _may_hold(listing: Listing, candidate: Candidate) -> bool:
    """A wheelhouse or a flat page may hold builds of either kind."""
    return listing.source.kind in (candidate.kind, "flat", "directory")


def _failure(candidate: Candidate, what: str, source: str, facts: dict[str, str]) -> Failure:
    answer = {"build": candidate.label, **facts}
    return Failure("reach", ("reach", facts["page"], what), _say(what, answer), source, tuple(answer.items()))


def _say(what: str, facts: dict[str, str]) -> str:
    if what == "down":
        return tr("{build}: {page}, where it may be, could not be read ({problem})", **facts)
    if what == "yanked":
        return tr("{build} was yanked from {page}", **facts)
    if not facts["page"]:
        return tr("{build} is known to the matrix, but no index was read", **facts)
    return tr("{build} is known to the matrix, but not listed on {page}", **facts)


def summarize(failures: tuple[Failure, ...]) -> str:
    """Say which builds are out of reach, and why."""
    if len(failures) == 1:
        return failures[0].detail
    first = failures[0]
    facts = {"builds": builds(failures), "page": first.fact("page"), "problem": first.fact("problem")}
    if first.key[2] == "down":
        return tr("{builds}: {page}, where they may be, could not be read ({problem})", **facts)
    if first.key[2] == "yanked":
        return tr("{builds} were yanked from {page}", **facts)
    if not facts["page"]:
        return tr("{builds} are known to the matrix, but no index was read", **facts)
    return tr("{builds} are known to the matrix, but not listed on {page}", **facts)
