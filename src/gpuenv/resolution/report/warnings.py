"""What the reader of a plan should know although the plan holds."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gpuenv.i18n.messages import N_, clauses, series, tr
from gpuenv.model.plan import CPU_BUILD, CUDA_ON_CPU, PlanWarning
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.report.environment_fixes import may_ask_mirrors
from gpuenv.resolution.request import NUMPY, Request
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules import companion_failures
from gpuenv.resolution.rules.companion import companion_variant


def collect_warnings(question: ResolutionInput, solution: Solution) -> tuple[PlanWarning, ...]:
    """Return the warnings of a plan, each with a stable code."""
    if question.target.is_accelerated or question.target.unused:
        from gpuenv.resolution.report import accelerators  # noqa: PLC0415

        own = (
            *accelerators.warn_of_unused(question.target, solution),
            *(
                accelerators.accelerated_warnings(question, solution)
                if question.target.is_accelerated
                else ()
            ),
        )
    else:
        own = ()
    return (
        *_cpu(question, solution),
        *own,
        *warn_of_left_out(question, solution),
        *_ptx(solution),
        *_companions_through_ptx(question, solution),
        *_companions_of_another_cuda(question, solution),
        *_assumed(solution),
        *_system(question),
        *_indexes(question),
        *_python(solution),
    )


def _cpu(question: ResolutionInput, solution: Solution) -> list[PlanWarning]:
    if solution.candidate.variant.is_cpu:
        reason = tr("as requested") if question.request.accelerator is not None else _why_cpu(question)
        return [PlanWarning(CPU_BUILD, tr("this is a CPU build: {reason}", reason=reason))]
    if question.target.is_accelerated:
        return []
    if not question.target.gpus and question.request.accelerator is None:
        return [warn_of_cuda_on_cpu(question, solution)]
    if not question.target.gpus:
        return [
            PlanWarning(
                "no-gpu-here",
                tr("this is a CUDA build, as requested, but there is no NVIDIA GPU here to verify it"),
            )
        ]
    return []


def _why_cpu(question: ResolutionInput) -> str:
    if question.target.unused:
        from gpuenv.resolution.report.accelerators import why_unused  # noqa: PLC0415

        return clauses(dict.fromkeys(reason.text for reason in why_unused(question.target)))
    return tr("there is no NVIDIA GPU on this machine")


def _ptx(solution: Solution) -> list[PlanWarning]:
    template = N_(
        "{gpu} runs this build through PTX, which the driver compiles: the first start takes minutes"
    )
    labels = dict.fromkeys(gpu.label for gpu in solution.through_ptx)
    return [PlanWarning("ptx", tr(template, gpu=label)) for label in labels]


def _companions_through_ptx(question: ResolutionInput, solution: Solution) -> list[PlanWarning]:
    template = N_(
        "{gpu} runs {companion} through PTX, which the driver compiles: the first start takes minutes"
    )
    fields: dict[str, None] = {}
    for item in solution.companions:
        project, target = str(item.file.name), question.target
        codes = companion_failures.code_for(
            project, item.release, solution.candidate, target, question.knowledge
        )
        named = f"{project} {item.release}"
        fields |= {tr(template, gpu=gpu.label, companion=named): None for gpu, code in codes if code == "ptx"}
    return [PlanWarning("ptx", text) for text in fields]


def _companions_of_another_cuda(question: ResolutionInput, solution: Solution) -> list[PlanWarning]:
    """Tell of companions that work with torch's CUDA, but were built for another release of it."""
    candidate, knowledge = solution.candidate, question.knowledge
    warnings = []
    for item in solution.companions if candidate.cuda and candidate.kind != "conda" else ():
        variant = item.file.variant or companion_variant(item, question.target, knowledge)
        if variant is None or variant.cuda in (None, candidate.cuda):
            continue
        facts = {"package": f"{item.file.name} {item.release}", "cuda": variant.cuda}
        template = N_("{package} is built for CUDA {cuda}, torch for {torch}: no page lists it for {variant}")
        text = tr(template, torch=candidate.cuda, variant=candidate.variant, **facts)
        warnings.append(PlanWarning("companion-cuda", text))
    return warnings


def _assumed(solution: Solution) -> list[PlanWarning]:
    names = [item.file.filename for item in solution.files if item.file.assumed]
    if not names:
        return []
    return [
        PlanWarning(
            "assumed",
            tr(
                "{names} are derived from the release matrix: no page that was read lists them",
                names=series(names),
            ),
        )
    ]


def _system(question: ResolutionInput) -> list[PlanWarning]:
    warnings = [
        PlanWarning(problem.code, problem.message)
        for machine in question.target.machines
        for problem in machine.problems
    ]
    for machine in question.target.machines:
        if machine.system.os == "linux" and machine.system.libc_version is None:
            warnings.append(
                PlanWarning(
                    "glibc-unknown", tr("the machine's glibc is not known; it is assumed to be new enough")
                )
            )
        if question.target.gpus and not machine.gpus:
            warnings.append(PlanWarning("machine-without-gpu", tr("one of the machines has no NVIDIA GPU")))
        if machine.gpus and not machine.visible_gpus:
            warnings.append(
                PlanWarning(
                    "all-devices-hidden",
                    tr("CUDA_VISIBLE_DEVICES hides every GPU: torch does not see any until it is unset"),
                )
            )
    return list(dict.fromkeys(warnings))


def _indexes(question: ResolutionInput) -> list[PlanWarning]:
    warnings = _unreadable(question)
    for listing in question.listings:
        if listing.unparsed:
            warnings.append(
                PlanWarning(
                    "files-unparsed",
                    tr(
                        "{count} files on {page} have names that could not be parsed, such as {name}",
                        count=len(listing.unparsed),
                        page=listing.page,
                        name=listing.unparsed[0],
                    ),
                )
            )
    return warnings


def _unreadable(question: ResolutionInput) -> list[PlanWarning]:
    """Tell of pages that could not be read; of those of one mirror with one problem the first alone."""
    warnings: dict[tuple[str | None, str], PlanWarning] = {}
    for listing in question.listings:
        requested = ("torch", *question.request.companions, *question.request.requested_extensions)
        if listing.problem and listing.project in requested:
            source = listing.source
            facts = {"page": listing.page, "problem": listing.problem, "mirror": source.name}
            text = (
                tr("`{mirror}`: {page} could not be read: {problem}", **facts)
                if source.name and source.hosts
                else tr("{page} could not be read: {problem}", **facts)
            )
            key = (source.name if source.hosts else listing.page, listing.problem)
            warnings.setdefault(key, PlanWarning("index-unreadable", text))
    return list(warnings.values())


def _python(solution: Solution) -> list[PlanWarning]:
    if solution.python.installed:
        return []
    return [
        PlanWarning(
            "python-download",
            tr(
                "Python {version} was not found on the machine; the manager installs it",
                version=solution.python.version,
            ),
        )
    ]


def warn_of_left_out(question: ResolutionInput, solution: Solution) -> tuple[PlanWarning, ...]:
    """Say in one line what is left out, why, and which command brings it."""
    reasons = {failure.subject: failure.detail for failure in solution.left_out}
    if question.no_numpy is not None:
        reasons[NUMPY] = question.no_numpy
    if not reasons:
        return ()
    facts = {
        "projects": tr(" and ").join(reasons),
        "reasons": clauses(dict.fromkeys(reasons.values())),
        "command": _bringing(question, solution, tuple(reasons)).command(),
    }
    text = (
        tr("{projects} was omitted: {reasons}; to require it: `{command}`", **facts)
        if len(reasons) == 1
        else tr("{projects} were omitted: {reasons}; to require them: `{command}`", **facts)
    )
    return (PlanWarning("left-out", text),)


def _bringing(question: ResolutionInput, solution: Solution, projects: Sequence[str]) -> Request:
    """Return the request with which what is left out would come, as far as that is known here."""
    typed = question.request.typed(*projects, "torchvision")
    free = replace(typed, python=None).with_option("--python")
    from_folder = solution.torch.listing.source.kind == "directory"
    is_elsewhere = NUMPY in projects or (typed.offline and from_folder)
    for request in () if is_elsewhere else (typed, free):
        if decide(question.with_request(request)).choices:
            return request
    if typed.offline:
        return typed.with_option("--offline")
    return typed.with_option("--mirror", "auto") if may_ask_mirrors(typed) else typed


def warn_of_cuda_on_cpu(question: ResolutionInput, solution: Solution) -> PlanWarning:
    """Say that a build for CUDA stands in for a CPU build, and where that would be."""
    facts = {"build": solution.candidate.label, "page": question.cpu_index}
    text = tr(
        "no CPU build can be reached: {build} runs on the CPU too, but is far larger with its dependencies",
        **facts,
    )
    if question.cpu_index:
        text += tr(
            "; the CPU build is on {page}: make that reachable, or give a mirror or a wheelhouse "
            "with it (--mirror, --find-links)",
            **facts,
        )
    return PlanWarning(CUDA_ON_CPU, text)
