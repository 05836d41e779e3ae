"""Refusals: the fewest sentences that are true, and what would change them, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import to_builtins
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Because, Fix, Unreachable, Unsatisfiable
from gpuenv.model.index import Listing
from gpuenv.model.plan import Rejection
from gpuenv.model.variant import Variant
from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.decision import Decision, RejectedCandidate
from gpuenv.resolution.release_distance import named_releases
from gpuenv.resolution.report.environment_fixes import may_ask_mirrors
from gpuenv.resolution.report.family_fixes import unfit_family
from gpuenv.resolution.report.fixes import find_fixes
from gpuenv.resolution.report.minimal_reasons import conflict_sets
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import torch_bound
from gpuenv.resolution.torch_bound_pages import unbound

_OF_THE_MACHINE = ("driver", "kernels", "library")


def refuse(question: ResolutionInput, decision: Decision) -> Unsatisfiable | Unreachable:
    """Return the error that says why no build is left, with fixes that were tried and hold."""
    rejected = asked_for(decision.rejected)
    pages = [
        listing
        for listing in question.listings
        if listing.project == "torch" and listing.source.kind != "directory"
    ]
    if pages and all(page.problem for page in pages) and not _is_certain(rejected):
        return _nothing_read(question, pages, tuple(item for item in rejected if item.candidate.files))
    ruled_out = _ruled_out(question)
    because = ruled_out or (explain_failures(rejected) if rejected else no_such_release(question))
    unread = () if ruled_out else unread_pages(question, rejected)
    if unread:
        return _undecided(question, decision, unread, because)
    place, unfit = _machines_label(question), unfit_family(question, decision)
    text = (
        tr("`{name}` does not run on {place}", name=unfit, place=place)
        if unfit
        else tr("no build of {wanted} runs on {place}", wanted=_wanted(question), place=place)
    )
    return Unsatisfiable(
        text,
        code="package-cuda" if unfit else "no-build",
        because=because,
        fixes=find_fixes(question, decision),
        data={"rejected": [to_builtins(item) for item in rejections(rejected)]},
    )


def unread_pages(question: ResolutionInput, rejected: tuple[RejectedCandidate, ...]) -> tuple[str, ...]:
    """Return the pages without which it is not known whether a build runs; none where all is ruled out.

    They are those that alone stand before a build which would run, and, for a release that neither the matrix
    nor a page of PyPI knows, those that may list it.
    """
    if not rejected:
        return _may_list_it(question)
    pages = (
        failure.unread_page
        for item in rejected
        if all(failure.unread_page for failure in item.failures)
        for failure in item.failures
    )
    return tuple(dict.fromkeys(page for page in pages if page))


def _is_certain(rejected: tuple[RejectedCandidate, ...]) -> bool:
    """Whether the machine itself rules out every build that is known, whatever the pages list."""
    return bool(rejected) and all(
        any(failure.rule in _OF_THE_MACHINE and failure.kind != "unknown" for failure in item.failures)
        for item in rejected
    )


def _may_list_it(question: ResolutionInput) -> tuple[str, ...]:
    """Return the unread pages of torch where no page of all its releases was read."""
    listings = [listing for listing in question.listings if listing.project == "torch"]
    if any(listing.source.kind in ("pypi", "snapshot") and listing.files for listing in listings):
        return ()
    return tuple(dict.fromkeys(listing.page for listing in listings if listing.problem))


def _undecided(
    question: ResolutionInput, decision: Decision, unread: tuple[str, ...], because: tuple[Because, ...]
) -> Unreachable:
    """Say which hosts did not answer, so that what runs is not known: that is not a refusal."""
    hosts = dict.fromkeys(urlsplit(page).hostname or page for page in unread)
    facts = {"hosts": series(hosts), "wanted": _wanted(question), "place": _machines_label(question)}
    text = (
        tr(
            "offline mode: {hosts} is not read, so it is not known whether a build of {wanted} runs "
            "on {place}",
            **facts,
        )
        if question.request.offline
        else tr(
            "{hosts} could not be reached, so it is not known whether a build of {wanted} runs on {place}",
            **facts,
        )
    )
    return Unreachable(
        text,
        code="index-unread",
        because=because,
        fixes=find_fixes(question, decision),
        data={"rejected": [to_builtins(item) for item in rejections(asked_for(decision.rejected))]},
    )


def _ruled_out(question: ResolutionInput) -> tuple[Because, ...]:
    """Say which project runs on none of the GPUs, where nothing else stands in the way."""
    unfit = torch_bound.unfit(question.request, question.target, question.knowledge)
    if not unfit or not decide(unbound(question)).choices:
        return ()
    return unfit


def asked_for(rejected: Iterable[RejectedCandidate]) -> tuple[RejectedCandidate, ...]:
    """Return the rejected builds that are what the user asked for."""
    return tuple(
        judged for judged in rejected if not any(failure.rule == "request" for failure in judged.failures)
    )


def explain_failures(rejected: tuple[RejectedCandidate, ...]) -> tuple[Because, ...]:
    """Return the fewest sentences that say all that has to change before one of the builds runs."""
    return tuple(_because(failures) for failures in conflict_sets(rejected))


def _because(failures: tuple[Failure, ...]) -> Because:
    return Because(failures[0].summarize(failures), failures[0].source)


def rejections(rejected: tuple[RejectedCandidate, ...]) -> tuple[Rejection, ...]:
    """Return a rejection for each failure of each build; what PyPI's and PyTorch's share is listed once."""
    result = (
        Rejection(
            "torch",
            str(item.candidate.torch),
            str(item.candidate.variant),
            failure.rule,
            failure.detail,
            failure.source,
        )
        for item in rejected
        for failure in item.failures
    )
    return tuple(dict.fromkeys(result))


def _machines_label(question: ResolutionInput) -> str:
    return tr("these machines") if len(question.target.machines) > 1 else tr("this machine")


def _wanted(question: ResolutionInput) -> str:
    """What was asked for, in words."""
    request = question.request
    specifier = request.specifier("torch")
    exact = [item.version for item in specifier if item.operator in ("==", "===")]
    wanted = f"torch {exact[0]}" if len(exact) == 1 else f"torch{specifier}"
    if request.variant is not None:
        wanted = tr("{torch} for {variant}", torch=wanted, variant=request.variant)
    if request.requested_extensions:
        wanted = tr("{torch} and {projects}", torch=wanted, projects=series(request.requested_extensions))
    if request.python is not None:
        wanted = tr("{torch} with Python {python}", torch=wanted, python=request.requested_python)
    return wanted


def no_such_release(question: ResolutionInput) -> tuple[Because, ...]:
    """Say that no build is known that is what the user asked for."""
    known = sorted({candidate.torch for candidate in question.candidates})
    matching = [version for version in known if question.request.admits("torch", version)]
    if question.request.variant is not None and matching:
        return (_no_such_variant(question, matching),)
    if not known:
        text = tr("no release of torch is known for {platform}", platform=question.target.platform)
        return (Because(text, "matrix torch.json"),)
    specifier = question.request.specifier("torch")
    channels = all(candidate.kind == "conda" for candidate in question.candidates)
    where = f"{question.target.platform}, conda" if channels else str(question.target.platform)
    return (Because(_beside(specifier, known, where), "matrix torch.json"),)


def _beside(specifier: SpecifierSet, known: list[Version], where: str) -> str:
    """Say where what is asked for lies among the known releases, oldest first, that it admits none of."""
    named = named_releases(specifier)
    lower = [item for item in known if all(item < release for release in named)]
    higher = [item for item in known if all(item > release for release in named)]
    facts = {"wanted": f"torch{specifier}", "oldest": known[0], "newest": known[-1], "where": where}
    if not named or len(lower) + len(higher) < len(known):  # a range with known releases at its ends
        return tr("no known release of torch is `{wanted}`; they are {oldest} to {newest} ({where})", **facts)
    if not lower:
        return tr("`{wanted}` is older than all known builds, from torch {oldest} on ({where})", **facts)
    if not higher:
        return tr("`{wanted}` is newer than all known builds, up to torch {newest} ({where})", **facts)
    facts |= {"before": lower[-1], "after": higher[0]}
    template = N_("there is no build of `{wanted}`; those beside it are torch {before} and {after} ({where})")
    return tr(template, **facts)


def _no_such_variant(question: ResolutionInput, matching: list[Version]) -> Because:
    specifier = question.request.specifier("torch")
    variants = {
        candidate.variant
        for candidate in question.candidates
        if candidate.torch in matching and candidate.variant.is_cuda_or_cpu
    }
    facts = {
        "torch": f"torch{specifier}",
        "variant": question.request.variant,
        "platform": question.target.platform,
        "variants": series(str(variant) for variant in sorted(variants, key=_cuda_key)),
    }
    text = (
        tr("{torch} has no build for {variant} on {platform}; it has {variants}", **facts)
        if specifier
        else tr("no torch has a build for {variant} on {platform}; available: {variants}", **facts)
    )
    return Because(text, "matrix torch.json")


def _cuda_key(variant: Variant) -> tuple[int, int]:
    return (variant.cuda.major, variant.cuda.minor) if variant.cuda else (0, 0)


def _nothing_read(
    question: ResolutionInput, pages: list[Listing], seen: tuple[RejectedCandidate, ...]
) -> Unreachable:
    """Say that no index was read, and what is wrong with the builds of a wheelhouse, which need none."""
    fixes = [Fix(tr("check the network, or name a mirror with --mirror or a wheelhouse with --find-links"))]
    if may_ask_mirrors(question.request):
        fixes.append(Fix(tr("or add `--mirror auto` to look for it on mirrors")))
    if not question.request.offline:
        command = question.request.with_option("--offline", "").command()
        fixes.append(Fix(tr("or plan with the data shipped with gpuenv"), command))
    return Unreachable(
        tr("none of the indexes could be read"),
        code="no-index",
        because=(
            *(
                Because(tr("{page}: {problem}", page=page.page, problem=page.problem), page.source.origin)
                for page in pages
            ),
            *(explain_failures(seen) if seen else ()),
        ),
        fixes=tuple(fixes),
    )
