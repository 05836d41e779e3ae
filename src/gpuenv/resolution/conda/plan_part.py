"""The conda part of a plan: channels, specs, and what a solve must give."""

from __future__ import annotations

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.version import Version

from gpuenv.model.conda import CondaChannel, CondaPin, CondaPlan
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.plan import Plan, PlannedPackage
from gpuenv.resolution.conda.builds import CondaBuild
from gpuenv.resolution.conda.cudnn import assumed_limit, cudnn_limit
from gpuenv.resolution.conda.records import conda_name, pattern_of
from gpuenv.resolution.constraints import constraints_of
from gpuenv.resolution.decision import Decision, Solution
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.resolve import ResolutionInput
from gpuenv.resolution.target import Target

_BASE = "conda-forge"  # where Python and all else comes from


def with_conda_python(plan: Plan, target: Target, more: tuple[str, ...] = ()) -> Plan:
    """Return a plan of wheels whose Python, and packages asked for by their specs, conda brings."""
    specs = (_python(plan.python), "pip", *more)
    part = CondaPlan((CondaChannel(_BASE, ()),), specs, (), target.platform, cuda_of(target), mixed=True)
    return replace(plan, conda=part, python_path=None)


def assemble_from_channel(
    question: ResolutionInput,
    decision: Decision,
    solution: Solution,
    configuration: IndexConfiguration,
    builds: tuple[CondaBuild, ...],
    more: tuple[str, ...] = (),
) -> Plan:
    """Return the plan for a choice of conda packages, without steps; `more` are specs of the user's."""
    plan = build_plan(question, decision, solution, configuration)
    known = known_build(solution, builds)
    pins = pins_of(solution)
    limits = tuple(_as_spec(text) for text, _ in constraints_of(question, solution))
    cudnn = cudnn_limit(question, solution)
    if cudnn:
        limits, plan = (*limits, cudnn[0]), replace(plan, why=(*plan.why, cudnn[1]))
        assumed = assumed_limit(solution, cudnn[0])
        plan = replace(plan, warnings=(*plan.warnings, assumed)) if assumed else plan
    requires = known.requires if known else ()
    part = CondaPlan(
        channels=tuple(CondaChannel(name, ()) for name in (known.channels if known else (_BASE,))),
        specs=(_python(plan.python), "pip", *(pin.spec for pin in pins), *requires, *limits, *more),
        pins=pins,
        subdir=question.target.platform,
        cuda=cuda_of(question.target) or (str(solution.candidate.cuda) if solution.candidate.cuda else None),
    )
    packages = tuple(_packaged(item, solution, question) for item in plan.packages)
    wheelhouses = tuple(source.url for source in configuration.find_links)
    sources = replace(plan.sources, find_links=wheelhouses)
    return replace(
        plan,
        conda=part,
        packages=packages,
        pins=tuple(_loosely(pin) for pin in plan.pins),
        sources=sources,
        constraints=(),
        stack=(),
        python_path=None,
    )


def _loosely(pin: str) -> str:
    """Return a pin that conda's package holds to: `torch==2.4.1.*`.

    Builds of conda-forge before 2.5 call themselves 2.4.1.post303 to pip, which would put a wheel in their
    place for `torch==2.4.1`: their recipe sets PYTORCH_BUILD_NUMBER to the build number.
    """
    requirement = Requirement(pin)
    version = next(iter(requirement.specifier)).version
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}=={Version(version).base_version}.*"


def wheels_beside(plan: Plan) -> tuple[str, ...]:
    """Return what is asked of PyPI in a conda environment, the pins first; nothing where conda has it all.

    An extra of a package of conda's is PyPI's alone.
    """
    conda_has_it = plan.is_condas and not any("[" in pin for pin in plan.pins)
    if conda_has_it and not plan.requirements:
        return ()
    return (*plan.pins, *plan.requirements, *plan.constraints)


def pins_of(solution: Solution) -> tuple[CondaPin, ...]:
    """Return what the solve must give: torch by its build, the companions by their versions.

    A companion's build follows torch's by its own dependencies, and its build strings follow no one rule.
    """
    torch, *companions = solution.files
    build = torch.file.build or "*"
    pattern = build if build.endswith("*") else pattern_of(build)
    return (
        CondaPin(conda_name(str(torch.file.name)), str(torch.file.version), pattern),
        *(CondaPin(conda_name(str(item.file.name)), str(item.file.version)) for item in companions),
    )


def cuda_of(target: Target) -> str | None:
    """Return the oldest CUDA that the drivers of the machines support, as conda's `__cuda`; None without."""
    cudas = [gpu.machine.driver.cuda for gpu in target.gpus if gpu.machine.driver]
    known = [cuda for cuda in cudas if cuda is not None]
    return str(min(known)) if known else None


def known_build(solution: Solution, builds: tuple[CondaBuild, ...]) -> CondaBuild | None:
    """Return the row of matrices/conda.json that a choice is of, None where it is not known."""
    key = (solution.candidate.torch, solution.candidate.variant)
    return next((build for build in builds if (build.build.torch, build.build.variant) == key), None)


def _python(short: str) -> str:
    return f"python {short}.*"


def _as_spec(text: str) -> str:
    """`numpy<2` as conda writes it: `numpy <2`."""
    requirement = Requirement(text)
    return f"{requirement.name} {requirement.specifier}".strip()


def _packaged(package: PlannedPackage, solution: Solution, question: ResolutionInput) -> PlannedPackage:
    item = next((indexed for indexed in solution.files if str(indexed.file.name) == package.name), None)
    if item is None:
        return package
    return replace(
        package,
        channel=item.listing.source.name,
        build=item.file.build,
        subdir=question.target.platform,
        filename=None if item.file.assumed else package.filename,
    )
