"""What would make a refused request work: each fix is a changed question that was decided and holds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.core.knowledge import Knowledge
from gpuenv.core.request import Request
from gpuenv.core.resolve import Choice, Question, decide
from gpuenv.core.rules import driver
from gpuenv.core.target import Target, TargetGpu, driver_os
from gpuenv.values.errors import Fix
from gpuenv.values.text import tr

_MOST_GROUPS = 4


def find_fixes(question: Question) -> tuple[Fix, ...]:
    """Return fixes, the cheapest first: another torch, variant, Python, fewer packages, a driver, a split."""
    fixes = [
        _another_torch(question),
        _another_variant(question),
        _another_python(question),
        _without_companion(question),
    ]
    if not any(fixes):
        fixes.append(_another_torch_and_python(question))
    fixes += [_newer_driver(question), *_split(question), _first_with_code(question)]
    return tuple(fix for fix in fixes if fix is not None)


def _another_torch(question: Question) -> Fix | None:
    request = question.request
    if not request.specifier("torch"):
        return None
    choices = decide(question.with_request(_free_torch(request))).choices
    choice = nearest(question, choices)
    if choice is None:
        return None
    fix = _torch_fix(request, choice)
    oldest = min(other.case.torch for other in choices)
    if choice.case.torch == oldest and all(oldest > anchor for anchor in _anchors(request.specifier("torch"))):
        return Fix(tr("torch {version}, the first release with code for this GPU, works here", version=oldest), fix.command)
    return fix


def _free_torch(request: Request) -> Request:
    """Return the request with torch, and what must move with it, left open."""
    relaxed = request.with_requirement("torch")
    for project in request.companions:
        relaxed = relaxed.with_requirement(project)
    return relaxed


def _torch_fix(request: Request, choice: Choice) -> Fix:
    changed = request.with_requirement(f"torch=={choice.case.torch}")
    for item in choice.companions:
        if request.specifier(item.file.name):
            changed = changed.with_requirement(f"{item.file.name}=={item.file.version.public}")
    return Fix(tr("torch {version} works here", version=choice.case.torch), changed.command())


def nearest(question: Question, choices: tuple[Choice, ...]) -> Choice | None:
    """Return the choice whose torch is nearest to what was asked, counted in releases."""
    if not choices:
        return None
    known = sorted({case.torch for case in question.cases})
    wanted = [version for version in known if question.request.specifier("torch").contains(version, prereleases=True)]
    anchors = wanted or _anchors(question.request.specifier("torch"))
    return min(choices, key=lambda choice: _distance(choice.case.torch, anchors, known))


def _anchors(specifier: SpecifierSet) -> list[Version]:
    return [Version(item.version.removesuffix(".*")) for item in specifier]


def _distance(version: Version, anchors: list[Version], known: list[Version]) -> int:
    place = sum(other < version for other in known)
    return min((abs(place - sum(other < anchor for other in known)) for anchor in anchors), default=0)


def _another_variant(question: Question) -> Fix | None:
    request = question.request
    if request.variant is None or request.variant.is_cpu:
        return None
    changed = replace(request, variant=None)
    choice = _best(question.with_request(changed))
    if choice is None or choice.case.variant.is_cpu:
        return None
    text = tr("torch {version} for {variant} works here", version=choice.case.torch, variant=choice.case.variant)
    return Fix(text, changed.with_option("--cuda").command())


def _another_python(question: Question) -> Fix | None:
    if question.request.python is None:
        return None
    changed = replace(question.request, python=None)
    choice = _best(question.with_request(changed))
    if choice is None:
        return None
    return Fix(
        tr("Python {python} works here, with torch {version}", python=choice.python.short, version=choice.case.torch),
        changed.with_option("--python", choice.python.short).command(),
    )


def _another_torch_and_python(question: Question) -> Fix | None:
    if question.request.python is None or not question.request.specifier("torch"):
        return None
    changed = replace(question.request, python=None)
    choice = nearest(question, decide(question.with_request(_free_torch(changed))).choices)
    if choice is None:
        return None
    fix = _torch_fix(changed.with_option("--python", choice.python.short), choice)
    return Fix(
        tr("torch {version} with Python {python} works here", version=choice.case.torch, python=choice.python.short),
        fix.command,
    )


def _without_companion(question: Question) -> Fix | None:
    for project in question.request.companions:
        changed = question.request.without_project(project)
        if _best(question.with_request(changed)):
            return Fix(tr("leave {project} out", project=project), changed.command())
    return None


def _newer_driver(question: Question) -> Fix | None:
    """Return the least driver that would do, where the GPUs' last driver branch admits it."""
    floor = least_driver_for(question)
    if floor is None or not any(gpu.machine.driver for gpu in question.target.gpus):
        return None
    return Fix(tr("update the driver to {floor} or newer", floor=floor))


def least_driver_for(question: Question) -> Version | None:
    """Return the least driver with which the request can be served, None where no driver helps."""
    target = question.target
    if not target.gpus:
        return None
    choices = decide(question.with_target(target.with_driver_assumed())).choices
    floors = [floor for choice in choices if (floor := _floor_of(choice, target, question.knowledge))]
    possible = [floor for floor in floors if _admitted(floor, target, question.knowledge)]
    return min(possible, default=None)


def _floor_of(choice: Choice, target: Target, knowledge: Knowledge) -> Version | None:
    cuda = choice.case.cuda
    if cuda is None:
        return None
    systems = {driver_os(gpu.machine) for gpu in target.gpus}
    if choice.through_ptx:
        found = [knowledge.release_floor(cuda, system) for system in systems]
    else:
        found = [driver.least_driver(cuda, system, knowledge) for system in systems]
    versions = [floor.version for floor in found if floor]
    return max(versions, default=None)


def _admitted(floor: Version, target: Target, knowledge: Knowledge) -> bool:
    """Whether the GPUs still have drivers of that branch: old generations were left behind."""
    supports = (knowledge.architecture_of(gpu.capability) for gpu in target.gpus)
    return all(
        support is None or support.last_driver_branch is None or floor.major <= support.last_driver_branch
        for support in supports
    )


def _best(question: Question) -> Choice | None:
    choices = decide(question).choices
    return choices[0] if choices else None


def _split(question: Question) -> tuple[Fix, ...]:
    """Return the smallest split of unlike GPUs such that each part has a build, one fix a part."""
    capabilities = sorted({gpu.capability for gpu in question.target.gpus})
    for count in range(2, min(len(capabilities), _MOST_GROUPS) + 1):
        for cuts in combinations(range(1, len(capabilities)), count - 1):
            bounds = (0, *cuts, len(capabilities))
            parts = [capabilities[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]
            groups = [tuple(gpu for gpu in question.target.gpus if gpu.capability in part) for part in parts]
            bests = [_best(question.with_target(question.target.only(group))) for group in groups]
            if all(bests):
                pairs = zip(groups, bests, strict=True)
                return tuple(_split_fix(question, group, best) for group, best in pairs if best)
    return ()


def _split_fix(question: Question, group: tuple[TargetGpu, ...], best: Choice) -> Fix:
    devices = tuple(str(gpu.gpu.index) for gpu in group)
    text = tr(
        "one environment for each kind of GPU: {gpus} with torch {version}+{variant}",
        gpus=", ".join(dict.fromkeys(gpu.label for gpu in group)),
        version=best.case.torch,
        variant=best.case.variant,
    )
    return Fix(text, question.request.with_option("--device", *devices).command())


def _first_with_code(question: Question) -> Fix | None:
    """Name the first release with code for a GPU that the asked releases are too old for."""
    if not question.request.specifier("torch"):
        return None
    relaxed = _free_torch(question.request)
    if decide(question.with_request(relaxed)).choices:
        return None
    fitting = decide(replace(question, request=relaxed, target=question.target.with_driver_assumed())).choices
    if not fitting:
        return None
    first = min(fitting, key=lambda choice: choice.case.torch)
    return Fix(tr("the first release with code for these GPUs is torch {version}", version=first.case.torch))
