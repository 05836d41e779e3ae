"""One project for several variants, `--for cpu --for cu126`: a plan of each, of one torch release if any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import Because, Fix, GpuenvError, Unsatisfiable, UsageError
from gpuenv.model.machine import HARMLESS_PROBLEMS, Machine
from gpuenv.model.plan import Plan, PlanWarning
from gpuenv.model.variant import parse_variant
from gpuenv.planning.conda.choose import WHEELS
from gpuenv.planning.detect import detect
from gpuenv.planning.make_plan import WheelBasis, choose_installer, read_basis
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.several.shared_release import Meeting, meetings, shared_pythons

_MOST_TRIED = 8  # releases that the other requirements may turn down
_MACOS = ("osx-arm64", "osx-64")
_AS_ASKED = ("cpu", "no-gpu-here")  # warnings of a variant that was not asked for, or of this machine


class VariantPlan(Struct, frozen=True):
    """The plan of one variant: `name` is what it was asked for by, and what its extra is called."""

    name: str
    plan: Plan


class SeveralPlans(Struct, frozen=True):
    """The plans in the order of the variants; `torch` is the release that they share, None where none is."""

    plans: tuple[VariantPlan, ...]
    torch: str | None

    @property
    def warnings(self) -> tuple[PlanWarning, ...]:
        """What the plans warn of, each once, and that they share no release."""
        return tuple(_warnings(self.plans, self.torch))

    def by_name(self) -> dict[str, Plan]:
        """Return the plans by the names of their variants."""
        return {made.name: made.plan for made in self.plans}

    def with_plans(self, plans: Mapping[str, Plan]) -> SeveralPlans:
        """Return them with other plans of the same variants, such as those that were completed."""
        return replace(self, plans=tuple(VariantPlan(name, plan) for name, plan in plans.items()))


def parse_names(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the variants, each once; raise UsageError for what names none."""
    return tuple(dict.fromkeys(map(_parse_name, words)))


def _parse_name(word: str) -> str:
    try:
        return str(parse_variant(word))
    except ValueError as error:
        raise UsageError(
            str(error), code="bad-variant", fixes=(Fix(tr("write it as --for cu126 or --for cpu")),)
        ) from None


def plan_several(
    names: tuple[str, ...],
    options: PlanOptions,
    environ: Mapping[str, str],
    *,
    target: str,
    one_python: bool,
) -> SeveralPlans:
    """Plan each variant: all with the newest torch that all of them have, else each with its own newest.

    Each is planned for the machine that the options describe. Where they describe none, it is for any machine
    that takes the variant. `one_python`: all must have the same Python. Raises UsageError, Unsatisfiable or
    Unreachable.
    """
    if choose_installer(options, environ).channel != WHEELS:
        raise UsageError(
            tr("--for is for wheels: conda's channels have other names for their builds"),
            code="usage",
            fixes=(Fix(tr("add --channel wheels")),),
        )
    options = _for_anybody(options, environ)
    bases = {name: basis for name in names for basis in _bases(name, options, environ)}
    together = meetings([basis.question for basis in bases.values()])
    plans = _planned_alike(bases, together, environ, target)
    if plans is None:
        plans = _planned_apart(bases, environ, target, one_python=one_python)
    releases = {plan.plan.packages[0].version.partition("+")[0] for plan in plans}
    shared = releases.pop() if len(releases) == 1 else None
    return SeveralPlans(plans, shared)


def _for_anybody(options: PlanOptions, environ: Mapping[str, str]) -> PlanOptions:
    """Return the options with this machine as if it had no GPU, unless a machine is described."""
    if options.machines or options.machine_folder or options.gpus or options.driver:
        return options
    return replace(options, here=_without_gpus(options.here or detect(environ)))


def _without_gpus(machine: Machine) -> Machine:
    harmless = tuple(problem for problem in machine.problems if problem.code in HARMLESS_PROBLEMS)
    bare = replace(machine, driver=None, gpus=(), toolkit=None, problems=harmless)
    return replace(bare, accelerators=(), amdgpu=None, cann=None)


def _bases(name: str, options: PlanOptions, environ: Mapping[str, str]) -> Iterator[WheelBasis]:
    with _named(name):
        basis = read_basis(_options_of(name, options), environ)
    if isinstance(basis, WheelBasis):
        yield basis


def _options_of(name: str, options: PlanOptions) -> PlanOptions:
    """Return the options for one variant: builds for MPS are for macOS alone, whatever the others are for."""
    options = replace(options, cuda=name)
    if parse_variant(name).kind != "mps" or options.platform in _MACOS:
        return options
    return replace(options, platform=_MACOS[0], gpus=(), driver=None, glibc=None)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say of an error which variant it is about; the commands of its fixes would plan that one alone."""
    try:
        yield
    except GpuenvError as error:
        error.message = tr("--for {name}: {problem}", name=name, problem=error.message)
        error.args = (error.message,)
        if isinstance(error, Unsatisfiable):
            without = Fix(tr("or omit --for {name}", name=name))
            error.fixes = (*(Fix(fix.text) for fix in error.fixes), without)
        raise


def _planned_alike(
    bases: Mapping[str, WheelBasis],
    together: tuple[Meeting, ...],
    environ: Mapping[str, str],
    target: str,
) -> tuple[VariantPlan, ...] | None:
    """Return the plans with the newest release that the other requirements allow with every variant."""
    tried = (_planned_at(meeting, bases, environ, target) for meeting in together[:_MOST_TRIED])
    return next((plans for plans in tried if plans is not None), None)


def _planned_at(
    meeting: Meeting, bases: Mapping[str, WheelBasis], environ: Mapping[str, str], target: str
) -> tuple[VariantPlan, ...] | None:
    try:
        return tuple(
            VariantPlan(name, meeting.met_by(basis).plan(environ, target=target))
            for name, basis in bases.items()
        )
    except Unsatisfiable:
        return None


def _planned_apart(
    bases: Mapping[str, WheelBasis], environ: Mapping[str, str], target: str, *, one_python: bool
) -> tuple[VariantPlan, ...]:
    """Return the plans, each with its own release, as they would be made alone."""
    plans = tuple(_alone(name, basis, environ, target) for name, basis in bases.items())
    if len({made.plan.python for made in plans}) == 1 or not one_python:
        return plans
    pythons = shared_pythons([basis.question for basis in bases.values()])
    tried = (_planned_at(Meeting(None, python), bases, environ, target) for python in pythons)
    if (same := next((plans for plans in tried if plans is not None), None)) is not None:
        return same
    raise Unsatisfiable(
        tr("no Python has torch for all of the variants"),
        code="no-shared-python",
        because=tuple(_python_of(made) for made in plans),
        fixes=(Fix(tr("write a file for each of them: --format pylock.toml -o DIR")),),
    )


def _alone(name: str, basis: WheelBasis, environ: Mapping[str, str], target: str) -> VariantPlan:
    with _named(name):
        return VariantPlan(name, basis.plan(environ, target=target))


def _python_of(made: VariantPlan) -> Because:
    torch = made.plan.packages[0].version
    text = tr("torch {torch} is planned with Python {python}", torch=torch, python=made.plan.python)
    return Because(text, f"--for {made.name}")


def _warnings(plans: tuple[VariantPlan, ...], shared: str | None) -> Iterator[PlanWarning]:
    if shared is None:
        names = series(f"{made.name}: torch {made.plan.packages[0].version}" for made in plans)
        template = N_("no torch release is available for all variants: {names}")
        yield PlanWarning("no-shared-torch", tr(template, names=names))
    warnings = (warning for made in plans for warning in made.plan.warnings)
    yield from (warning for warning in dict.fromkeys(warnings) if warning.code not in _AS_ASKED)
