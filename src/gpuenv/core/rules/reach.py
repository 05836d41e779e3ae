"""Rule `reach`: the very file is listed on an index that answers, and is not yanked."""

from __future__ import annotations

from gpuenv.core.case import Case, Failure
from gpuenv.values.index import Listing
from gpuenv.values.text import tr


def check(case: Case, listings: tuple[Listing, ...]) -> tuple[Failure, ...]:
    """Return a failure where no index lists a file of the build (yanked files are none)."""
    if case.found:
        return ()
    down = [listing for listing in listings if listing.problem and listing.source.kind in (case.kind, "flat")]
    place = case.kind
    facts: tuple[tuple[str, str], ...] = (("build", case.label),)
    if down:
        facts += (("page", down[0].page), ("problem", down[0].problem or ""))
        detail = tr("{build} is not on any index that answers; {page} could not be read: {problem}", **dict(facts))
        return (Failure("reach", ("reach", place, "down"), detail, down[0].page, facts),)
    pages = ", ".join(dict.fromkeys(listing.page for listing in listings)) or tr("no index")
    facts += (("page", pages), ("problem", ""))
    detail = tr("{build} is known to the matrix, but {page} does not list a file of it", **dict(facts))
    return (Failure("reach", ("reach", place, "absent"), detail, f"{case.source}; {pages}", facts),)


def sentence(failures: tuple[Failure, ...]) -> str:
    """Say which builds are out of reach, and why."""
    if len(failures) == 1:
        return failures[0].detail
    first = failures[0]
    builds = list(dict.fromkeys(failure.fact("build") for failure in failures))
    named = ", ".join(builds[:3]) if len(builds) <= 3 else tr("{shown} and {more} more builds", shown=", ".join(builds[:2]), more=len(builds) - 2)  # noqa: PLR2004
    if first.key[2] == "down":
        return tr("{builds} are not on any index that answers; {page} could not be read: {problem}", builds=named, page=first.fact("page"), problem=first.fact("problem"))
    return tr("{builds} are known to the matrix, but {page} does not list files of them", builds=named, page=first.fact("page"))
