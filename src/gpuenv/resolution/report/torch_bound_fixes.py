"""What is left where a project has no wheel for a torch: its source, wheels of others, another torch."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.ecosystem import KnownWheels
from gpuenv.model.errors import Because, Fix
from gpuenv.model.plan import Advice
from gpuenv.model.python import PythonOffer, parse_python_tag
from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.request import admits
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import torch_bound
from gpuenv.resolution.torch_bound_pages import is_for, unbound


def build_or_trust(question: ResolutionInput) -> Iterator[Fix]:
    """Yield, for each project without a wheel, how to build it, and where others have built it.

    The torch beside it was decided: it runs here, with all else that is asked for.
    """
    for name in question.request.requested_extensions:
        without = question.with_request(question.request.without_project(name))
        solution = next(iter(decide(without).choices), None)
        if solution is None or not _has_no_wheel(name, solution, question):
            continue
        text = tr("or build {project} from source beside it: {needs}", project=name, needs=_needs(solution))
        yield Fix(text, without.request.command())
        yield from _by_others(name, question)


def _has_no_wheel(name: str, solution: Solution, question: ResolutionInput) -> bool:
    """Whether a wheel is all that the project lacks: no source helps a GPU that is too old."""
    failure = torch_bound.match(
        solution.candidate, question.request, question.target, question.knowledge, question.available
    )
    if isinstance(failure, tuple):
        return question.knowledge.ecosystem.set_of(name) is not None
    return failure.subject == name and failure.kind not in ("gpu", "cpu", "down")


def _needs(solution: Solution) -> str:
    cuda = solution.candidate.cuda
    if cuda is None:
        return tr("that requires a C++ compiler, and `--no-build-isolation` after torch is installed")
    return tr(
        "that requires `nvcc` of CUDA {cuda} (conda-forge's `cuda-nvcc`, or NVIDIA's toolkit), a "
        "C++ compiler, and `--no-build-isolation` after torch is installed",
        cuda=cuda,
    )


def _by_others(name: str, question: ResolutionInput) -> Iterator[Fix]:
    result = _newest_by_others(name, question)
    if result is None:
        return
    solution, known = result
    pages = tuple(value for option, value in question.request.options if option == "--find-links")
    text = tr(
        "or trust the wheels of {project} {version} for {build} built by {by}",
        project=name,
        version=known.versions[0],
        build=solution.candidate.label,
        by=known.by,
    )
    yield Fix(text, question.request.with_option("--find-links", *pages, *known.pages).command())


def _newest_by_others(name: str, question: ResolutionInput) -> tuple[Solution, KnownWheels] | None:
    """Return the best choice for which others built wheels of a project, and what is known of them."""
    wheels = question.knowledge.ecosystem.set_of(name)
    if wheels is None:
        return None
    wanted = question.request.specifier(name)
    of_others = tuple(
        project
        for project in question.knowledge.ecosystem.wheels(
            wheels.name, question.target.platform, by_others=True
        )
        if project.versions and admits(wanted, project.versions[0])
    )
    without = question.with_request(question.request.without_project(name))
    for solution in decide(without).choices if of_others else ():
        for known in of_others:
            if is_for(known, wheels, solution.candidate) and _has_python(known, solution.python):
                return solution, known
    return None


def _has_python(known: KnownWheels, python: PythonOffer) -> bool:
    return any(
        (tag.minor, tag.free_threaded) == (python.minor, python.free_threaded)
        for tag in map(parse_python_tag, known.pythons)
    )


def why_not_newer(question: ResolutionInput, solution: Solution) -> tuple[Because, ...]:
    """Say which build would have been chosen without the extensions, and what it lacks."""
    best = _without_bound(question, solution)
    failure = _failure(best, question) if best else None
    if best is None or failure is None:
        return ()
    text = tr(
        "{build} is used, not {other}: {detail}",
        build=solution.candidate.label,
        other=best.candidate.label,
        detail=failure.detail,
    )
    return (Because(text, failure.source),)


def newer_without_wheel(question: ResolutionInput, solution: Solution) -> tuple[Advice, ...]:
    """Return what a newer torch would take: the project built from source, or by others."""
    best = _without_bound(question, solution)
    failure = _failure(best, question) if best else None
    if best is None or failure is None or best.candidate.torch <= solution.candidate.torch:
        return ()
    name = failure.subject
    facts = {"torch": best.candidate.torch, "project": name}
    built = Advice(
        tr("torch {torch} works with {project} built from source: {needs}", needs=_needs(best), **facts),
        tr("{project} built from source", project=name),
    )
    others = (_advice(name, newer, known) for newer, known in _newer_by_others(name, question, solution))
    return (built, *others)


def _newer_by_others(
    name: str, question: ResolutionInput, solution: Solution
) -> Iterator[tuple[Solution, KnownWheels]]:
    result = _newest_by_others(name, question)
    if result is not None and result[0].candidate.torch > solution.candidate.torch:
        yield result


def _advice(name: str, solution: Solution, known: KnownWheels) -> Advice:
    text = tr(
        "{build} works with wheels of {project} {version} built by {by}, if you trust them: {option}",
        build=solution.candidate.label,
        project=name,
        version=known.versions[0],
        by=known.by,
        option=" ".join(f"`--find-links {page}`" for page in known.pages),
    )
    return Advice(text, tr("wheels built by {by}", by=known.by))


def _without_bound(question: ResolutionInput, solution: Solution) -> Solution | None:
    """Return the choice that would have been made without them, where it is another build."""
    if not question.request.requested_extensions:
        return None
    best = next(iter(decide(unbound(question)).choices), None)
    return best if best is not None and _build(best) != _build(solution) else None


def _build(solution: Solution) -> tuple[Version, str]:
    return solution.candidate.torch, str(solution.candidate.variant)


def _failure(best: Solution, question: ResolutionInput) -> Failure | None:
    result = torch_bound.match(
        best.candidate, question.request, question.target, question.knowledge, question.available
    )
    return None if isinstance(result, tuple) else result
