"""Refusals: the fewest sentences that are true, and what would change them, the cheapest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from packaging.version import Version

from gpuenv.core.case import Failure
from gpuenv.core.fixes import find_fixes
from gpuenv.core.resolve import Decision, Judged, Question
from gpuenv.core.rules import companion, driver, kernels, known_bad, library, platform, python, reach
from gpuenv.core.rules import request as request_rule
from gpuenv.values.errors import Because, Fix, Refused, Unreachable
from gpuenv.values.plan import Rejection
from gpuenv.values.text import tr

_SENTENCES: dict[str, Callable[[tuple[Failure, ...]], str]] = {
    "driver": driver.sentence,
    "kernels": kernels.sentence,
    "library": library.sentence,
    "python": python.sentence,
    "platform": platform.sentence,
    "companion": companion.sentence,
    "known-bad": known_bad.sentence,
    "reach": reach.sentence,
    "request": request_rule.sentence,
}


def refuse(question: Question, decision: Decision) -> Refused | Unreachable:
    """Return the error that says why no build is left, with fixes that were tried and hold."""
    unreadable = tuple(listing for listing in question.listings if listing.problem)
    if question.listings and len(unreadable) == len(question.listings):
        return _nothing_read(question)
    judged = asked_for(decision)
    because = explain_failures(judged) if judged else _no_such_release(question)
    return Refused(
        _headline(question),
        code="no-build",
        because=because,
        fixes=find_fixes(question),
        data={"rejected": [rejection_data(item) for item in rejections(judged)]},
    )


def asked_for(decision: Decision) -> tuple[Judged, ...]:
    """Return the rejected builds that are what the user asked for."""
    return tuple(
        judged
        for judged in decision.rejected
        if not any(failure.rule == "request" for failure in judged.failures)
    )


def explain_failures(judged: tuple[Judged, ...]) -> tuple[Because, ...]:
    """Return the smallest set of sentences, found greedily, such that each build fails by one of them."""
    groups: dict[tuple[str, ...], dict[int, Failure]] = defaultdict(dict)
    for number, item in enumerate(judged):
        for failure in item.failures:
            groups[failure.key].setdefault(number, failure)
    left = set(range(len(judged)))
    chosen = []
    while left:
        key = max(groups, key=lambda key: (len(left & groups[key].keys()), -_rank(key)))
        covered = left & groups[key].keys()
        if not covered:
            break
        chosen.append(_because(tuple(groups[key][number] for number in sorted(covered))))
        left -= covered
    return tuple(chosen)


def _rank(key: tuple[str, ...]) -> int:
    return list(_SENTENCES).index(key[0])


def _because(failures: tuple[Failure, ...]) -> Because:
    return Because(_SENTENCES[failures[0].rule](failures), failures[0].source)


def rejections(judged: tuple[Judged, ...]) -> tuple[Rejection, ...]:
    """Return a rejection for each failure of each build."""
    return tuple(
        Rejection(
            "torch", str(item.case.torch), str(item.case.variant), failure.rule, failure.detail, failure.source
        )
        for item in judged
        for failure in item.failures
    )


def rejection_data(rejection: Rejection) -> dict[str, str | None]:
    """Return the JSON form of a rejection."""
    return {
        "name": rejection.name,
        "version": rejection.version,
        "variant": rejection.variant,
        "rule": rejection.rule,
        "detail": rejection.detail,
        "source": rejection.source,
    }


def _headline(question: Question) -> str:
    request = question.request
    specifier = request.specifier("torch")
    exact = [item.version for item in specifier if item.operator in ("==", "===")]
    wanted = f"torch {exact[0]}" if exact else f"torch {specifier}" if specifier else "torch"
    if request.variant is not None:
        wanted = tr("{torch} for {variant}", torch=wanted, variant=request.variant)
    if request.python is not None:
        short = str(request.python).removeprefix("==").removesuffix(".*")
        wanted = tr("{torch} with Python {python}", torch=wanted, python=short)
    place = tr("these machines") if len(question.target.machines) > 1 else tr("this machine")
    return tr("no build of {wanted} runs on {place}", wanted=wanted, place=place)


def _no_such_release(question: Question) -> tuple[Because, ...]:
    known = sorted({case.torch for case in question.cases})
    specifier = question.request.specifier("torch")
    matching = [version for version in known if specifier.contains(version)]
    if question.request.variant is not None and matching:
        variants = _variants_of(question, matching)
        text = tr(
            "torch {versions} has no build for {variant} on {platform}; it has {variants}",
            versions=", ".join(map(str, matching[-3:])),
            variant=question.request.variant,
            platform=question.target.platform,
            variants=", ".join(variants),
        )
        return (Because(text, "matrix torch.json"),)
    newest = known[-1] if known else tr("none")
    text = tr(
        "no known release of torch matches `{specifier}`; the newest is {newest}",
        specifier=specifier or "torch",
        newest=newest,
    )
    return (Because(text, "matrix torch.json"),)


def _variants_of(question: Question, versions: list[Version]) -> list[str]:
    found = {case.variant for case in question.cases if case.torch in versions and case.variant.is_known}
    ordered = sorted(found, key=lambda variant: (variant.cuda.major, variant.cuda.minor) if variant.cuda else (0, 0))
    return [str(variant) for variant in ordered]


def _nothing_read(question: Question) -> Unreachable:
    return Unreachable(
        tr("none of the indexes could be read"),
        code="no-index",
        because=tuple(
            Because(tr("{page}: {problem}", page=listing.page, problem=listing.problem), listing.source.origin)
            for listing in question.listings
            if listing.project == "torch"
        ),
        fixes=(
            Fix(tr("check the network, or name a mirror with --mirror or a wheelhouse with --find-links")),
            Fix(
                tr("or decide from what is shipped with gpuenv"),
                question.request.with_option("--offline", "").command(),
            ),
        ),
    )
