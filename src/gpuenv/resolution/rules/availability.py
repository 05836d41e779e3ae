"""Rule `reach`: the very file is listed on an index that answers, and is not yanked."""

from __future__ import annotations

from gpuenv.i18n.messages import tr
from gpuenv.model.index import Listing
from gpuenv.resolution.candidate import Candidate, Failure, release_of
from gpuenv.resolution.rules.phrases import join_pages, list_builds


class AvailabilityFailure(Failure, frozen=True, kw_only=True):
    """A build without a file: its page (`subject`) is "down", has it "yanked", or has it not ("absent")."""

    rule: str = "reach"
    build: str
    problem: str = ""

    def _summarize_several(self, alike: tuple[AvailabilityFailure, ...]) -> str:
        facts = {"builds": list_builds(failure.build for failure in alike), "page": self.subject}
        if self.kind == "down":
            return tr(
                "{builds}: {page}, where they may be, could not be read ({problem})",
                problem=self.problem,
                **facts,
            )
        if self.kind == "yanked":
            return tr("{builds} were yanked from {page}", **facts)
        if not self.subject:
            return tr("{builds} are known to the matrix, but no index was read", **facts)
        return tr("{builds} are known to the matrix, but not listed on {page}", **facts)


def check(candidate: Candidate, listings: tuple[Listing, ...]) -> tuple[AvailabilityFailure, ...]:
    """Return a failure where no index lists a file of the build (yanked files do not count)."""
    if candidate.files:
        return ()
    listings = tuple(listing for listing in listings if listing.project == "torch")
    for listing in listings:
        if listing.problem and _may_hold(listing, candidate):
            return (_unread(candidate, listing.page, listing.problem),)
    build = candidate.label
    yanked = join_pages(tuple(listing.page for listing in listings if _has_yanked(listing, candidate)))
    if yanked:
        detail = tr("{build} was yanked from {page}", build=build, page=yanked)
        return (
            AvailabilityFailure(kind="yanked", subject=yanked, detail=detail, source=yanked, build=build),
        )
    read = join_pages(tuple(listing.page for listing in listings if not listing.problem))
    detail = (
        tr("{build} is known to the matrix, but not listed on {page}", build=build, page=read)
        if read
        else tr("{build} is known to the matrix, but no index was read", build=build)
    )
    source = f"{candidate.source}; {read}"
    return (AvailabilityFailure(kind="absent", subject=read, detail=detail, source=source, build=build),)


def _unread(candidate: Candidate, page: str, problem: str) -> AvailabilityFailure:
    build = candidate.label
    return AvailabilityFailure(
        kind="down",
        subject=page,
        detail=tr(
            "{build}: {page}, where it may be, could not be read ({problem})",
            build=build,
            page=page,
            problem=problem,
        ),
        source=page,
        unread_page=page,
        build=build,
        problem=problem,
    )


def _has_yanked(listing: Listing, candidate: Candidate) -> bool:
    """Whether a page lists files of the build that were withdrawn: no installer takes them unasked."""
    return any(
        file.yanked
        and release_of(file.version) == candidate.torch
        and (file.variant == candidate.variant if file.variant else candidate.kind == "pypi")
        for file in listing.files
    )


def _may_hold(listing: Listing, candidate: Candidate) -> bool:
    """Whether a page could list the build: a wheelhouse or a flat page may hold builds of either kind."""
    return listing.source.kind in (candidate.kind, "flat", "directory")
