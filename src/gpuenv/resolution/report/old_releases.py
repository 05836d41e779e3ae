"""The refusal to go back more than a year in a project that pins torch, unless the user says so."""

from __future__ import annotations

from msgspec.structs import replace

from gpuenv.i18n.messages import series, tr
from gpuenv.model.errors import Because, Fix, Unsatisfiable
from gpuenv.resolution.pinning.search import JointSearch, Narrowed, ReleaseSearch
from gpuenv.resolution.report.fixes import find_fixes
from gpuenv.resolution.report.refusal import asked_for, explain_failures
from gpuenv.resolution.resolve import ResolutionInput, decide


def refuse_old(search: JointSearch, oldest: Narrowed | None) -> Unsatisfiable:
    """Return the error that names what the newest releases require, and what runs here all the same.

    `oldest` is what the search came to, None where no release that could be read goes with what runs here.
    """
    question = search.question
    names = series(item.project for item in search.searches)
    because: tuple[Because, ...] = ()
    fixes: tuple[Fix, ...] = ()
    for one in search.searches:
        because += _because(one, question)
        fixes += _without_command(one, question)
    place = question.target.machine_label
    if oldest is None:
        message = tr(
            "no release of {project} goes with a torch that runs on {place}", project=names, place=place
        )
        free = search.without_pin()
        fixes = (*(_as_pinned(free, question, torch_too=True) if free else ()), *fixes)
        return Unsatisfiable(message, code="no-release", because=because, fixes=fixes)
    message = tr(
        "of the last year no release of {project} runs on {place}; the newest that does is {older}",
        project=series(item.project for item in oldest.too_old),
        place=place,
        older=series(item.label for item in oldest.too_old),
    )
    fixes = (*_as_pinned(oldest, question, torch_too=False), *fixes)
    return Unsatisfiable(message, code="old-release", because=because, fixes=fixes)


def _because(search: ReleaseSearch, question: ResolutionInput) -> tuple[Because, ...]:
    """Say what the newest release requires, and why that does not run here."""
    if search.newest is None:
        return ()
    text = tr("{release} requires {torch}", release=search.newest.label, torch=search.newest.torch)
    rejected = asked_for(decide(search.as_newest_asks(question)).rejected)
    return (Because(text, "METADATA"), *(explain_failures(rejected) if rejected else ()))


def _without_command(search: ReleaseSearch, question: ResolutionInput) -> tuple[Fix, ...]:
    """Return what would let the newest release run, a newer driver say."""
    asked = search.as_newest_asks(question)
    decision = decide(asked)
    return (
        () if decision.choices else tuple(fix for fix in find_fixes(asked, decision) if fix.command is None)
    )


def _as_pinned(narrowed: Narrowed, question: ResolutionInput, *, torch_too: bool) -> tuple[Fix, ...]:
    """Return the command that says yes to an old release, or gives up the pin of torch."""
    request = question.request
    if torch_too:
        request = request.with_requirement("torch")
        text = tr("request another torch")
    else:
        for choice in narrowed.too_old:
            request = request.with_requirement(f"{choice.project}=={choice.release.version}")
        text = tr("or take the old release, if it has what is needed")
    command = replace(request, optional=(), spelled_out=True).command()
    return (Fix(text, command),)
