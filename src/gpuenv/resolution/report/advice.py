"""Advice: what a newer driver or glibc, another Python, another index or fewer GPUs would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec.structs import replace

from gpuenv.i18n.messages import N_, tr
from gpuenv.model.plan import Advice
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.report.environment_fixes import (
    glibc_of,
    least_driver_for,
    least_driver_of,
    may_ask_mirrors,
    with_any_glibc,
)
from gpuenv.resolution.report.torch_bound_fixes import newer_without_wheel
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.platform_tags import fitting
from gpuenv.resolution.rules.python import in_words, pythons_of


def give_advice(question: ResolutionInput, decision: Decision, solution: Solution) -> tuple[Advice, ...]:
    """Return what would bring a newer torch than `solution`, each tried and true."""
    advice = (
        _driver(question, solution),
        _python(question, decision, solution),
        _glibc(question, decision, solution),
        _fewer_gpus(question, solution),
        _index(question, decision, solution),
        _stated_driver(question, solution),
    )
    offered: tuple[Advice, ...] = ()
    if question.target.is_accelerated:
        from gpuenv.resolution.report.accelerators import accelerated_advice  # noqa: PLC0415

        offered = accelerated_advice(decision, solution)
    found = (item for item in advice if item is not None)
    return (*found, *offered, *newer_without_wheel(question, solution))


def _newer(question: ResolutionInput, solution: Solution) -> Solution | None:
    return next(iter(_all_newer(question, solution)), None)


def _all_newer(question: ResolutionInput, solution: Solution) -> Sequence[Solution]:
    newer = tuple(
        candidate for candidate in question.candidates if candidate.torch > solution.candidate.torch
    )
    return decide(replace(question, candidates=newer)).choices if newer else ()


def _driver(question: ResolutionInput, solution: Solution) -> Advice | None:
    if not any(gpu.machine.driver for gpu in question.target.gpus):
        return None
    better = _newer(question.with_target(question.target.with_driver_assumed()), solution)
    if better is None:
        return None
    pinned = question.with_request(question.request.with_requirement(f"torch=={better.candidate.torch}"))
    floor = least_driver_for(pinned)
    if floor is None:
        return None
    text = tr("torch {version} needs driver {floor} or newer", version=better.candidate.torch, floor=floor)
    return Advice(text, tr("driver {floor} or newer", floor=floor))


def _python(question: ResolutionInput, decision: Decision, solution: Solution) -> Advice | None:
    """Name the Python of the newest torch: where another was asked for, or where it is not on offer."""
    if question.request.python is None:
        return _python_not_on_offer(question, decision, solution)
    with_any = _all_newer(question.with_request(replace(question.request, python=None)), solution)
    with_asked = {item.candidate.torch for item in decision.choices}
    newest = next((item.candidate.torch for item in with_any if item.candidate.torch not in with_asked), None)
    if newest is None:
        return None
    solutions = tuple(item for item in with_any if item.candidate.torch == newest)
    usable, own = {item.python.minor for item in solutions}, _pythons_of_torch(question, solutions)
    if usable == {offer.minor for offer in own} & {offer.minor for offer in question.pythons}:
        python = in_words(own)  # those that are not here, too: it is torch that needs one of them
        return Advice(
            tr("torch {version} needs Python {python}", version=newest, python=python), f"Python {python}"
        )
    python = in_words(tuple(item.python for item in solutions))
    template = N_("torch {version} needs Python {python} here, with the other requirements")
    return Advice(tr(template, version=newest, python=python), f"Python {python}")


def _pythons_of_torch(question: ResolutionInput, solutions: Iterable[Solution]) -> tuple[PythonOffer, ...]:
    """Return the Pythons that the files of builds are for, whatever else is asked for, here or not."""
    files = (fitting(item.candidate.files, question.target) for item in solutions)
    names = pythons_of(tuple(chain.from_iterable(files)))
    return tuple(PythonOffer(name) for name in names if "." in name)


def _python_not_on_offer(question: ResolutionInput, decision: Decision, solution: Solution) -> Advice | None:
    """Name the oldest Python for the newest torch, of the Pythons that are all that it lacks."""
    held_back = tuple(
        rejected.candidate
        for rejected in decision.rejected_above(solution.candidate.torch)
        if all(failure.rule == "python" for failure in rejected.failures)
    )
    versions = pythons_of(tuple(item for candidate in held_back for item in candidate.files))
    more = tuple(PythonOffer(version) for version in versions if "." in version)
    solutions = tuple(decide(replace(question, candidates=held_back, pythons=more)).choices) if more else ()
    if not solutions:
        return None
    torch = solutions[0].candidate.torch
    solutions = tuple(item for item in solutions if item.candidate.torch == torch)
    oldest = min((item.python for item in solutions), key=lambda offer: offer.minor)
    own = _pythons_of_torch(question, solutions)
    template = N_("torch {version} needs Python {python} or newer")
    if any(offer.minor < oldest.minor for offer in own):
        template = N_("torch {version} needs Python {python} or newer here, with the other requirements")
    text = tr(template, version=torch, python=oldest.short)
    return Advice(text, tr("Python {python} or newer", python=oldest.short))


def _glibc(question: ResolutionInput, decision: Decision, solution: Solution) -> Advice | None:
    """Name the glibc of the newest torch, where the machine's is what it lacks."""
    if not any(
        all(failure.rule == "platform" for failure in rejected.failures)
        for rejected in decision.rejected_above(solution.candidate.torch)
    ):
        return None
    better = _newer(with_any_glibc(question), solution)
    if better is None:
        return None
    needed = glibc_of(better)
    text = tr("torch {version} needs glibc {needed} or newer", version=better.candidate.torch, needed=needed)
    return Advice(text, tr("glibc {needed} or newer", needed=needed))


def _fewer_gpus(question: ResolutionInput, solution: Solution) -> Advice | None:
    """Name the oldest kind of GPU where leaving it out would bring a newer torch."""
    capabilities = sorted({gpu.capability for gpu in question.target.gpus})
    if len(capabilities) < 2:  # noqa: PLR2004
        return None
    kept = tuple(gpu for gpu in question.target.gpus if gpu.capability != capabilities[0])
    better = _newer(question.with_target(question.target.only(kept)), solution)
    if better is None:
        return None
    left_out = next(gpu for gpu in question.target.gpus if gpu.capability == capabilities[0])
    text = tr("without {gpu} it would be torch {version}", gpu=left_out.label, version=better.candidate.torch)
    if len(question.target.machines) > 1:  # an index would mean a device of each of them
        return Advice(text, tr("a plan without {gpu}", gpu=left_out.label))
    return Advice(text, " ".join(f"--device {gpu.gpu.index}" for gpu in kept))


def _index(question: ResolutionInput, decision: Decision, solution: Solution) -> Advice | None:
    """Name the newest build that only an index which did not answer stands before."""
    out_of_reach = [
        rejected
        for rejected in decision.rejected_above(solution.candidate.torch)
        if rejected.failures and all(failure.unread_page for failure in rejected.failures)
    ]
    if not out_of_reach:
        return None
    best = out_of_reach[0]
    page = best.failures[0].unread_page or ""
    text = tr("{build} would fit, but {page} could not be read", build=best.candidate.label, page=page)
    if may_ask_mirrors(question.request):
        text += tr("; `--mirror auto` looks for it on mirrors")
    return Advice(text, page)


def _stated_driver(question: ResolutionInput, solution: Solution) -> Advice | None:
    """State the least driver where the machine was described without one."""
    target = question.target
    if not target.gpus or target.board or all(gpu.machine.driver for gpu in target.gpus):
        return None
    floor = least_driver_of(solution, question.target, question.knowledge)
    if floor is None:
        return None
    text = tr("the machine was described without a driver: this plan needs {floor} or newer", floor=floor)
    return Advice(text, tr("driver {floor} or newer", floor=floor))
