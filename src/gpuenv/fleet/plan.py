"""Plan for many saved machines: one environment for all, or the fewest."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from gpuenv.fleet.accelerated import AcceleratedPlanner
from gpuenv.fleet.grouping.advice import PartedMachines, advise, listed
from gpuenv.fleet.grouping.compatibility import GroupResolver
from gpuenv.fleet.grouping.groups import Split, Together, split
from gpuenv.fleet.grouping.machine_classes import MachineClass, Member, equivalence_classes, picked
from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.fleet.saved_machines import read_machines
from gpuenv.i18n.messages import clauses, tr
from gpuenv.knowledge.jetson_boards import with_board_told
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.errors import Because, Fix, GpuenvError, Unreachable, Unsatisfiable, UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.plan import Advice, Plan
from gpuenv.model.python import PythonOffer
from gpuenv.model.wheel import PLATFORMS, Platform
from gpuenv.planning.conda.choose import WHEELS
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import refuse_other_builds
from gpuenv.planning.make_plan import Installer, PlanRequest, choose_installer, plan_of, plan_request
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import PlanListings, list_files
from gpuenv.planning.pythons import offer_pythons
from gpuenv.resolution.decision import Decision
from gpuenv.resolution.report.refusal import explain_failures, no_such_release, refuse
from gpuenv.resolution.resolve import ResolutionInput, build_input, decide
from gpuenv.resolution.rules import requested as request_rule
from gpuenv.resolution.target import Target, choose_target, platform_of

_MOST_REASONS = 2


def plan_fleet(
    options: PlanOptions,
    environ: Mapping[str, str],
    *,
    target: str,
    machines: tuple[FleetMachine, ...] | None = None,
) -> FleetPlan:
    """Return the fewest plans for environments at `target` that serve `machines`, None: the saved ones.

    A file that can't be read, and a machine that nothing works on, stands in the plan with its reason.
    Raises UsageError where no file could be read, and for what is wrong with the options; Unreachable.
    """
    knowledge = load_knowledge(environ)
    installer = choose_installer(options, environ)
    if installer.channel != WHEELS:
        raise _only_wheels(installer)
    machines = read_machines(options, knowledge) if machines is None else _with_boards(machines, knowledge)
    planner = _Planner(options, environ, installer, knowledge, target)
    platforms, problems = _by_platform(machines)
    parts = [planner.part(platform, members) for platform, members in platforms.items()]
    for part in parts:
        problems |= part.problems
    return FleetPlan(
        machines=tuple(
            replace(machine, problem=problems.get(number, machine.problem))
            for number, machine in enumerate(machines)
        ),
        groups=tuple(group for part in parts for group in part.groups),
        together=tuple(advice for part in parts for advice in part.together),
    )


def _with_boards(machines: tuple[FleetMachine, ...], knowledge: Knowledge) -> tuple[FleetMachine, ...]:
    return tuple(
        replace(machine, machine=with_board_told(machine.machine, knowledge)) if machine.machine else machine
        for machine in machines
    )


def may_be_parted(options: PlanOptions, environ: Mapping[str, str]) -> bool:
    """Whether machines can be put into groups; a folder of them is, or it is refused."""
    return options.machine_folder is not None or choose_installer(options, environ).channel == WHEELS


def check_one_group(options: PlanOptions, environ: Mapping[str, str]) -> None:
    """Raise Unsatisfiable where the machines need several environments, or one of them none will do for."""
    if not may_be_parted(options, environ):
        return
    fleet = plan_fleet(options, environ, target="")
    if len(fleet.groups) == 1 and not fleet.unserved:
        return
    raise Unsatisfiable(
        tr("no single environment works on all of these machines"),
        code="several-groups",
        because=(
            *in_words(fleet),
            *(Because(f"{machine.name}: {machine.problem}", machine.file) for machine in fleet.unserved),
        ),
        fixes=(
            *(Fix(advice.text) for advice in fleet.together),
            Fix(tr("name the machines of one group with --machine FILE")),
        ),
    )


def in_words(fleet: FleetPlan) -> tuple[Because, ...]:
    """Name the groups, with the torch of each."""
    return tuple(
        Because(
            tr(
                "group {number}: {names}: torch {torch} for {variant}, Python {python}",
                number=position,
                names=listed(fleet.names(group)),
                torch=group.plan.packages[0].version,
                variant=group.plan.variant,
                python=group.plan.python,
            ),
            tr("the machines"),
        )
        for position, group in enumerate(fleet.groups, 1)
    )


def _only_wheels(installer: Installer) -> UsageError:
    return UsageError(
        tr(
            "machines are grouped for wheels only, not for the channel {name}",
            name=installer.channel,
        ),
        code="groups-of-wheels",
        fixes=(
            Fix(tr("omit --channel: wheels bring their own CUDA")),
            Fix(tr("or name similar machines with --machine")),
        ),
    )


def _by_platform(
    machines: tuple[FleetMachine, ...],
) -> tuple[dict[Platform, dict[int, FleetMachine]], dict[int, str]]:
    """Return the machines platform by platform, as their wheels are not the same, and those of none."""
    parts: dict[Platform, dict[int, FleetMachine]] = {}
    problems: dict[int, str] = {}
    for number, machine in enumerate(machines):
        if machine.machine is None:
            continue
        try:
            parts.setdefault(platform_of(machine.machine), {})[number] = machine
        except GpuenvError as error:
            problems[number] = error.message
    return {name: parts[name] for name in PLATFORMS if name in parts}, problems


class _Part(Struct, frozen=True):
    """The result for the machines of one platform; `problems` by the numbers of those not served."""

    groups: tuple[FleetGroup, ...] = ()
    problems: Mapping[int, str] = field(default_factory=dict)
    together: tuple[Advice, ...] = ()


class _Planner(Struct, frozen=True):
    """All that the plans for the machines of one platform are made with."""

    options: PlanOptions
    environ: Mapping[str, str]
    installer: Installer
    knowledge: Knowledge
    target: str

    def part(self, platform: Platform, machines: Mapping[int, FleetMachine]) -> _Part:
        """Split the machines of one platform; the pages of the indexes are read once for all of them."""
        facts = {number: machine.machine for number, machine in machines.items() if machine.machine}
        wanted = plan_request(self.options, self.installer, next(iter(facts.values())))
        planner = AcceleratedPlanner(wanted, self.knowledge, self.environ, self.target)
        groups, problems, facts = planner.part(platform, facts)
        targets, unusable = _targets(facts, wanted)
        problems |= unusable
        if not targets:
            return _Part(groups, problems)
        question, listed = self._question(targets, wanted)
        classes = equivalence_classes(self._members(targets, wanted), question)
        resolver = GroupResolver.of(question)
        parted = split(classes, resolver)
        made = [self._group(group, classes, resolver, listed, wanted) for group in parted.groups]
        groups += tuple(
            FleetGroup(platform, numbers, replace(plan, machines=tuple(facts[number] for number in numbers)))
            for numbers, plan in made
            if isinstance(plan, Plan)
        )
        for numbers, refused in made:
            if not isinstance(refused, Plan):
                problems |= dict.fromkeys(numbers, refused)
        names = {number: machine.name for number, machine in machines.items()}
        together = advise(PartedMachines(classes, names, resolver, parted))
        return _Part(groups, {**problems, **_why_unserved(classes, parted, resolver)}, together)

    def _group(
        self,
        group: Together,
        classes: tuple[MachineClass, ...],
        resolver: GroupResolver,
        listed: PlanListings,
        wanted: PlanRequest,
    ) -> tuple[tuple[int, ...], Plan | str]:
        """Return the numbers of a group's machines and its plan.

        A reason stands for the plan where no torch that works there goes with the user's other requirements.
        """
        members = picked(classes, group.mask)
        numbers = tuple(sorted(number for machine_class in members for number in machine_class.numbers))
        question = resolver.ask(members)
        if len(numbers) > len(members) == 1:  # texts speak of several machines
            question = question.with_target(replace(question.target, machines=question.target.machines * 2))
        try:
            return numbers, plan_of(question, listed, wanted, self.environ, target=self.target)
        except (Unsatisfiable, Unreachable) as error:
            if isinstance(error, Unreachable) and error.code != "index-unread":
                raise
            return numbers, _in_short(error.message, tuple(because.text for because in error.because))

    def _question(
        self, targets: Mapping[int, Target], wanted: PlanRequest
    ) -> tuple[ResolutionInput, PlanListings]:
        first, *others = _unlike(tuple(targets.values()))
        listed = list_files(
            wanted.options, wanted.request, first, self.knowledge, self.environ, others=tuple(others)
        )
        question = build_input(wanted.request, first, self.knowledge, listed.listings, ())
        if all(listing.problem for listing in listed.listings if listing.project == "torch"):
            raise refuse(question, Decision((), ()))
        return question, listed

    def _members(self, targets: Mapping[int, Target], wanted: PlanRequest) -> tuple[Member, ...]:
        """Join each machine with its Pythons; managers are asked once for machines that have the same."""
        offers: dict[object, tuple[PythonOffer, ...]] = {}
        members = []
        for number, target in targets.items():
            own = target.machines[0].pythons
            if own not in offers:
                manager = wanted.request.manager
                offers[own] = offer_pythons(wanted.options, manager, target, self.knowledge, self.environ)
            members.append(Member(number, target, offers[own]))
        return tuple(members)


def _targets(
    machines: Mapping[int, Machine], wanted: PlanRequest
) -> tuple[dict[int, Target], dict[int, str]]:
    """Return what counts of each machine, and what is wrong with those that can't be used as they are."""
    targets: dict[int, Target] = {}
    problems: dict[int, str] = {}
    for number, machine in machines.items():
        try:
            refuse_other_builds((machine,), cpu=wanted.cpu)
            targets[number] = choose_target((machine,), wanted.options.devices, cpu=wanted.cpu)
        except GpuenvError as error:  # noqa: PERF203 - the others can be planned for all the same
            problems[number] = error.message
    return targets, problems


def _unlike(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """One target for each driver and set of capabilities: what decides which pages are worth reading."""
    return tuple(
        {
            (target.machines[0].driver, frozenset(gpu.capability for gpu in target.gpus)): target
            for target in targets
        }.values()
    )


def _why_unserved(
    classes: tuple[MachineClass, ...], parted: Split, resolver: GroupResolver
) -> dict[int, str]:
    """Say why nothing works on some machines."""
    question = resolver.question
    candidates = tuple(
        candidate for candidate in question.candidates if not request_rule.check(candidate, question.request)
    )
    problems: dict[int, str] = {}
    for machine_class in picked(classes, parted.unserved):
        asked = replace(resolver.ask((machine_class,)), candidates=candidates)
        rejected = tuple(decide(asked.with_target(asked.target.without_sources())).rejected)
        reasons = explain_failures(rejected) if rejected else () if candidates else no_such_release(question)
        message = tr("none of the requested builds of torch runs on it")
        text = _in_short(message, tuple(reason.text for reason in reasons))
        problems |= dict.fromkeys(machine_class.numbers, text)
    return problems


def _in_short(message: str, reasons: tuple[str, ...]) -> str:
    text = clauses(dict.fromkeys(reasons[:_MOST_REASONS]))
    return tr("{message}: {reasons}", message=message, reasons=text) if text else message
