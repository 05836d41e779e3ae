"""What would make a refused request work: each fix is a changed question that was decided and holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from msgspec.structs import replace
from packaging.version import Version

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Fix
from gpuenv.resolution.candidate import IndexedFile
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.release_distance import distance, named_releases
from gpuenv.resolution.report.environment_fixes import another_index, newer_driver, newer_glibc, newer_gpuenv
from gpuenv.resolution.report.family_fixes import another_member
from gpuenv.resolution.report.torch_bound_fixes import build_or_trust
from gpuenv.resolution.report.workarounds import apply_workaround
from gpuenv.resolution.request import Request
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.target import TargetGpu


def find_fixes(question: ResolutionInput, decision: Decision) -> tuple[Fix, ...]:
    """Return fixes, the cheapest first: another torch, variant, Python, fewer packages, a driver, a split."""
    others = (
        *another_member(question, decision),
        *apply_workaround(question, decision),
        newer_driver(question),
        newer_glibc(question, decision),
        newer_gpuenv(decision),
        *_split(question),
        *build_or_trust(question),
        _first_with_code(question, decision),
        another_index(question, decision),
        _on_the_cpu(question),
    )
    return (*_loosening(question, decision), *(fix for fix in others if fix is not None))


def _on_the_cpu(question: ResolutionInput) -> Fix | None:
    """Offer a CPU build where an accelerator was asked for that no build runs on."""
    if not question.target.is_accelerated or question.request.accelerator in (None, "cpu"):
        return None
    request = replace(question.request, variant=None, kind=None).with_option("--accelerator")
    return Fix(tr("or request a CPU build"), request.with_option("--cuda", "cpu").command())


def _split(question: ResolutionInput) -> tuple[Fix, ...]:
    free = question.with_request(_free_torch(question.request))
    if question.target.devices:
        from gpuenv.resolution.report.device_split import find_device_split  # noqa: PLC0415

        return find_device_split(question) or find_device_split(free)
    return find_split(question) or find_split(free)


def _loosening(question: ResolutionInput, decision: Decision) -> tuple[Fix, ...]:
    """Give up as few wishes as do: every single one that helps, else pairs, and so on."""
    wishes = _wishes(question)
    for count in range(1, len(wishes) + 1):
        tried = (_try(question, decision, given_up) for given_up in combinations(wishes, count))
        fixes = tuple(fix for fix in tried if fix is not None)
        if fixes:
            return fixes
    return ()


def _wishes(question: ResolutionInput) -> tuple[str, ...]:
    """The wishes that can be given up, the cheapest first; `--cuda cpu` only where there is no GPU."""
    request = question.request
    pinned = any(request.specifier(project) for project in _stack_of(request))
    has_gpu = not all(machine.without_gpu for machine in question.target.machines)
    kept = request.variant is None or (request.variant.is_cpu and has_gpu)
    return (
        *(("torch",) if pinned else ()),
        *(() if kept else ("variant",)),
        *(("python",) if request.python is not None else ()),
        *(project for project in request.companions if project not in request.optional),
        *request.requested_extensions,
    )


def _stack_of(request: Request) -> tuple[str, ...]:
    """Return torch and what must move with it."""
    return ("torch", *request.companions, *request.requested_extensions)


def _try(question: ResolutionInput, decision: Decision, given_up: tuple[str, ...]) -> Fix | None:
    loosened = _loosen(question.request, given_up)
    solutions = decide(question.with_request(loosened)).choices
    solution = nearest(question, solutions) if "torch" in given_up else next(iter(solutions), None)
    if solution is None or (solution.candidate.variant.is_cpu and question.target.gpus):
        return None
    text = _say(given_up, solution, question.request)
    if given_up == ("torch",) and solution.candidate.torch == _first_release_with_code(question, decision):
        text = tr(
            "torch {torch}, the first release with code for this GPU, works here",
            torch=solution.candidate.torch,
        )
    return Fix(text, _pinned(question.request, loosened, given_up, solution).command())


def _loosen(request: Request, given_up: tuple[str, ...]) -> Request:
    for wish in given_up:
        match wish:
            case "torch":
                request = _free_torch(request)
            case "variant":
                request = replace(request, variant=None).with_option("--cuda")
            case "python":
                request = replace(request, python=None).with_option("--python")
            case project:
                request = request.without_project(project)
    return request


def _free_torch(request: Request) -> Request:
    """Return the request with torch, and what must move with it, left open."""
    for project in _stack_of(request):
        if request.specifier(project):
            request = request.with_requirement(project)
    return request


def _pinned(request: Request, loosened: Request, given_up: tuple[str, ...], solution: Solution) -> Request:
    """Return the loosened request with what was chosen in place of what was given up."""
    if "torch" in given_up:
        loosened = loosened.with_requirement(f"torch=={solution.candidate.torch}")
        for failure in solution.left_out:  # what stands in a command is required
            loosened = loosened.without_project(failure.subject)
    for item in _moved(given_up, solution, request):
        loosened = loosened.with_requirement(f"{item.file.name}=={item.release}")
    if "python" in given_up:
        loosened = loosened.with_option("--python", solution.python.short)
    return loosened


def _moved(given_up: tuple[str, ...], solution: Solution, request: Request) -> tuple[IndexedFile, ...]:
    """The companions whose asked versions were given up with torch's."""
    if "torch" not in given_up:
        return ()
    return tuple(item for item in solution.companions if request.specifier(item.file.name))


_TEMPLATES: dict[tuple[str, ...], str] = {
    ("torch",): N_("torch {torch} works here"),
    ("variant",): N_("torch {torch} for {variant} works here"),
    ("torch", "variant"): N_("torch {torch} for {variant} works here"),
    ("python",): N_("Python {python} works here, with torch {torch}"),
    ("torch", "python"): N_("torch {torch} with Python {python} works here"),
}
_ALL = N_("torch {torch} for {variant} with Python {python} works here")


def _say(given_up: tuple[str, ...], solution: Solution, request: Request) -> str:
    moved = [f"{item.file.name} {item.release}" for item in _moved(given_up, solution, request)]
    projects = tuple(wish for wish in given_up if wish not in ("torch", "variant", "python"))
    facts = {
        "torch": tr(" with ").join((str(solution.candidate.torch), *moved)),
        "variant": solution.candidate.variant,
        "python": solution.python.short,
        "projects": series(projects),
    }
    if projects:
        alone = N_("without {projects} it works here, with torch {torch}")
        both = N_("torch {torch} for {variant} with Python {python}, without {projects}, works here")
        return tr(alone if projects == given_up else both, **facts)
    return tr(_TEMPLATES.get(given_up, _ALL), **facts)


def nearest(question: ResolutionInput, solutions: Sequence[Solution]) -> Solution | None:
    """Return the choice whose torch is nearest to what was asked, counted in releases; of equals the best."""
    if not solutions:
        return None
    known = sorted({candidate.torch for candidate in question.candidates})
    wanted = [version for version in known if question.request.admits("torch", version)]
    anchors = wanted if question.request.specifier("torch") else []
    anchors = anchors or named_releases(question.request.specifier("torch"))
    return min(solutions, key=lambda solution: distance(solution.candidate.torch, anchors, known))


def _first_release_with_code(question: ResolutionInput, decision: Decision) -> Version | None:
    """Return the first release with code for the GPUs, where those asked for are too old to have any."""
    anchors = named_releases(question.request.specifier("torch"))
    if not anchors or not question.target.gpus or not all(map(_lacks_code, _failed_rules(decision))):
        return None
    request = question.request
    given_up = ("torch", "variant", "python", *request.companions, *request.requested_extensions)
    loosened = _loosen(request, given_up)
    able = decide(replace(question, request=loosened, target=question.target.with_driver_assumed())).choices
    first = min((solution.candidate.torch for solution in able), default=None)
    return first if first is not None and all(anchor < first for anchor in anchors) else None


def _failed_rules(decision: Decision) -> list[set[str]]:
    """The rules that each build asked for fails."""
    rules = ({failure.rule for failure in rejected.failures} for rejected in decision.rejected)
    return [failed for failed in rules if "request" not in failed]


def _lacks_code(rules: set[str]) -> bool:
    return bool(rules & {"kernels", "library"})


def _first_with_code(question: ResolutionInput, decision: Decision) -> Fix | None:
    """Name that release where it alone does not help: another driver or Python is needed beside it."""
    first = _first_release_with_code(question, decision)
    if first is None or _try(question, decision, ("torch",)):
        return None
    return Fix(tr("the first release with code for these GPUs is torch {version}", version=first))


_MOST_PARTS = 4
_Group = tuple[TargetGpu, ...]


def find_split(question: ResolutionInput) -> tuple[Fix, ...]:
    """Return one fix a part, nothing where no split helps.

    GPUs are parted by compute capability, neighbours together: builds leave old ones and begin with new ones.
    """
    capabilities = sorted({gpu.capability for gpu in question.target.gpus})
    for count in range(2, min(len(capabilities), _MOST_PARTS) + 1):
        for cuts in combinations(range(1, len(capabilities)), count - 1):
            parts = [capabilities[low:high] for low, high in pairwise((0, *cuts, len(capabilities)))]
            groups = [tuple(gpu for gpu in question.target.gpus if gpu.capability in part) for part in parts]
            bests = [best for group in groups if (best := _best(question, group))]
            if len(bests) == len(groups):
                return tuple(map(_fix, [question] * count, groups, bests))
    return ()


def _best(question: ResolutionInput, group: _Group) -> Solution | None:
    solutions = decide(question.with_target(question.target.only(group))).choices
    return solutions[0] if solutions else None


def _fix(question: ResolutionInput, group: _Group, best: Solution) -> Fix:
    text = tr(
        "one environment for each kind of GPU: {gpus} with torch {version} for {variant}",
        gpus=series(dict.fromkeys(gpu.label for gpu in group)),
        version=best.candidate.torch,
        variant=best.candidate.variant,
    )
    if len(question.target.machines) > 1:  # an index would mean a device of each of them
        return Fix(text)
    devices = tuple(str(gpu.gpu.index) for gpu in group)
    return Fix(text, question.request.with_option("--device", *devices).command())
