"""What would make one group of several, or serve machines that are not: each advice was resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gpuenv.fleet.grouping.compatibility import GroupResolver
from gpuenv.fleet.grouping.groups import Split
from gpuenv.fleet.grouping.machine_classes import MachineClass, joint_target, picked
from gpuenv.fleet.grouping.set_cover import bits
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import DriverVersion
from gpuenv.model.plan import Advice
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.report.environment_fixes import has_drivers_of, least_driver_of
from gpuenv.resolution.target import Target

_MOST_TRIES = 25  # builds, or machines: what comes after them is hardly what anybody would do
_MOST_NAMES = 5


class PartedMachines(Struct, frozen=True):
    """The machines of one platform: their classes, their names by number, and how they are split."""

    classes: tuple[MachineClass, ...]
    names: Mapping[int, str]
    resolver: GroupResolver
    split: Split

    def named(self, mask: int) -> tuple[str, ...]:
        """The names of the machines of some classes, in the order of the files."""
        return tuple(self.names[number] for number in _numbers(picked(self.classes, mask)))


class _Update(Struct, frozen=True):
    """A driver that some machines need, by their numbers, for one build to work on all that is wanted."""

    numbers: tuple[int, ...]
    floor: DriverVersion
    choice: Solution


def advise(fleet: PartedMachines) -> tuple[Advice, ...]:
    """Return what would make one group of the machines, and what would serve those that nothing works on."""
    if len(fleet.split.groups) <= 1:
        return tuple(_serving(fleet, ()))
    update = _update_for_one(fleet)
    updated = _say_update(update, fleet) if update else None
    advices = (updated, _without_machines(fleet), _without_gpu(fleet))
    return (*filter(None, advices), *_serving(fleet, update.numbers if update else ()))


def listed(names: Iterable[str]) -> str:
    """Name machines in a sentence: the first of them, and how many more there are."""
    values = list(names)
    if len(values) <= _MOST_NAMES + 1:
        return series(values)
    first = series(values[:_MOST_NAMES])
    return tr("{names} and {count} more", names=first, count=len(values) - _MOST_NAMES)


def _build(solution: Solution) -> str:
    return tr("{build}, Python {python}", build=solution.candidate.label, python=solution.python.short)


def _update_for_one(fleet: PartedMachines) -> _Update | None:
    """The least update of drivers that makes one group: of all the machines, else of those served now."""
    everything = (1 << len(fleet.classes)) - 1
    wishes = dict.fromkeys((everything, everything & ~fleet.split.unserved))
    tried = (_update(picked(fleet.classes, wanted), fleet.resolver) for wanted in wishes)
    return next((update for update in tried if update), None)


def _update(classes: tuple[MachineClass, ...], resolver: GroupResolver) -> _Update | None:
    """The update of the fewest machines; of equally few the one that brings the newest torch."""
    assumed = tuple(machine_class.changed(Target.with_driver_assumed) for machine_class in classes)
    everything = (1 << len(classes)) - 1
    lacking = [
        (candidate, everything & ~resolver.works.mask(candidate, classes))
        for candidate in sorted(resolver.question.candidates, key=_by_torch)
        if candidate.cuda and resolver.works.mask(candidate, assumed) == everything
    ]
    lacking.sort(key=lambda item: len(_numbers(picked(classes, item[1]))))
    tried = (_tried(candidate, mask, classes, resolver) for candidate, mask in lacking[:_MOST_TRIES])
    return next((update for update in tried if update), None)


def _by_torch(candidate: Candidate) -> tuple[object, ...]:
    """Newest torch first, of one torch the build that the oldest driver runs."""
    return tuple(-part for part in candidate.torch.release), candidate.cuda or CudaVersion(0, 0)


def _tried(
    candidate: Candidate, mask: int, classes: tuple[MachineClass, ...], resolver: GroupResolver
) -> _Update | None:
    knowledge = resolver.question.knowledge
    lacking = picked(classes, mask)
    if not lacking or not all(machine_class.has_gpus for machine_class in lacking):
        return None
    as_if_new = resolver.best(
        tuple(machine_class.changed(Target.with_driver_assumed) for machine_class in lacking), (candidate,)
    )
    floor = as_if_new and least_driver_of(as_if_new, joint_target(lacking), knowledge)
    if not floor or not has_drivers_of(floor, joint_target(lacking), knowledge):
        return None
    updated = tuple(
        machine_class.changed(lambda target: target.with_driver(floor, knowledge))
        if mask >> position & 1
        else machine_class
        for position, machine_class in enumerate(classes)
    )
    solution = resolver.best(updated, (candidate,))
    return _Update(_numbers(lacking), floor, solution) if solution else None


def _numbers(classes: tuple[MachineClass, ...]) -> tuple[int, ...]:
    return tuple(sorted(number for machine_class in classes for number in machine_class.numbers))


def _say_update(update: _Update, fleet: PartedMachines) -> Advice:
    names = tuple(fleet.names[number] for number in update.numbers)
    text = tr(
        "with driver {floor} or newer on {machines} one build works for all: {build}",
        floor=update.floor,
        machines=listed(names),
        build=_build(update.choice),
    )
    return Advice(text, _needs_driver(update.floor, names))


def _needs_driver(floor: DriverVersion, names: tuple[str, ...]) -> str:
    return tr("driver {floor} or newer on {machines}", floor=floor, machines=series(names))


def _without_machines(fleet: PartedMachines) -> Advice | None:
    """Name the fewest machines to leave out, where those that stay are more."""
    served = ((1 << len(fleet.classes)) - 1) & ~fleet.split.unserved
    largest = max(fleet.split.possible, key=lambda group: len(fleet.named(group.mask)))
    out = fleet.named(served & ~largest.mask)
    if len(out) >= len(fleet.named(largest.mask)):
        return None
    text = tr(
        "without {machines} one build works for the others: {build}",
        machines=listed(out),
        build=_build(largest.choice),
    )
    return Advice(text, tr("a plan without {machines}", machines=series(out)))


def _without_gpu(fleet: PartedMachines) -> Advice | None:
    """Name a model of GPU to leave out of machines that have others, where that makes one group."""
    tried = (_try_without(capability, fleet) for capability in _beside_others(fleet.classes))
    results = [item for item in tried if item]
    return min(results, key=lambda item: item[0])[1] if results else None


def _beside_others(classes: tuple[MachineClass, ...]) -> tuple[ComputeCapability, ...]:
    """The compute capabilities of GPUs in machines of unlike ones."""
    mixed = (machine_class for machine_class in classes if len(_capabilities(machine_class)) > 1)
    return tuple(
        sorted({capability for machine_class in mixed for capability in _capabilities(machine_class)})
    )


def _capabilities(machine_class: MachineClass) -> set[ComputeCapability]:
    return {gpu.capability for gpu in machine_class.target.gpus}


def _try_without(capability: ComputeCapability, fleet: PartedMachines) -> tuple[int, Advice] | None:
    """Leave a model of GPU out: machines that have no other are left out with it."""
    relevant = [
        position
        for position, machine_class in enumerate(fleet.classes)
        if not fleet.split.unserved >> position & 1
        or _without(machine_class, capability) not in (machine_class, None)
    ]
    left = {position: _without(fleet.classes[position], capability) for position in relevant}
    stay = tuple(machine_class for machine_class in left.values() if machine_class)
    solution = _one_for_all(stay, fleet)
    changed = sum(
        1 << position
        for position, machine_class in left.items()
        if machine_class and machine_class != fleet.classes[position]
    )
    if solution is None or not changed:
        return None
    gone = fleet.named(
        sum(1 << position for position, machine_class in left.items() if machine_class is None)
    )
    return len(gone), _say_without(capability, fleet, changed, gone, solution)


def _without(machine_class: MachineClass, capability: ComputeCapability) -> MachineClass | None:
    """The class without such GPUs; None where it has no others, itself where it has none."""
    kept = tuple(gpu for gpu in machine_class.target.gpus if gpu.capability != capability)
    if len(kept) == len(machine_class.target.gpus):
        return machine_class
    return machine_class.changed(lambda target: target.only(kept)) if kept else None


def _one_for_all(classes: tuple[MachineClass, ...], fleet: PartedMachines) -> Solution | None:
    """The newest torch that works on all of these."""
    everything = (1 << len(classes)) - 1
    candidates = [
        candidate
        for candidate in fleet.resolver.question.candidates
        if fleet.resolver.works.mask(candidate, classes) == everything
    ]
    tried = (
        fleet.resolver.best(classes, (candidate,))
        for candidate in sorted(candidates, key=_by_torch)[:_MOST_TRIES]
    )
    return next((solution for solution in tried if solution), None) if classes else None


def _say_without(
    capability: ComputeCapability,
    fleet: PartedMachines,
    changed: int,
    gone: tuple[str, ...],
    solution: Solution,
) -> Advice:
    gpus = (gpu for machine_class in picked(fleet.classes, changed) for gpu in machine_class.target.gpus)
    facts = {
        "gpu": next(gpu.label for gpu in gpus if gpu.capability == capability),
        "machines": listed(fleet.named(changed)),
        "others": listed(gone),
        "build": _build(solution),
    }
    template = (
        N_("without the {gpu} in {machines}, and without {others}, one build works for the rest: {build}")
        if gone
        else N_("without the {gpu} in {machines} one build works for all: {build}")
    )
    return Advice(tr(template, **facts), _needs_fewer(facts["gpu"], fleet.named(changed), gone))


def _needs_fewer(gpu: str, machines: tuple[str, ...], gone: tuple[str, ...] = ()) -> str:
    facts = {"gpu": gpu, "machines": series(machines), "others": series(gone)}
    if not gone:
        return tr("{machines} without {gpu}", **facts)
    return tr("{machines} without {gpu}, and a plan without {others}", **facts)


def _serving(fleet: PartedMachines, mended: tuple[int, ...]) -> Iterator[Advice]:
    """Say what would serve machines that nothing works on: a newer driver, or fewer of their GPUs.

    Those `mended` are left out: what was said before would serve them.
    """
    floors: dict[DriverVersion, int] = {}
    unserved = [bit for bit in bits(fleet.split.unserved) if not {*fleet.classes[bit].numbers} & {*mended}]
    for position in unserved[:_MOST_TRIES]:
        update = _update((fleet.classes[position],), fleet.resolver)
        if update:
            floors[update.floor] = floors.get(update.floor, 0) | 1 << position
        else:
            yield from _parted(position, fleet)
    for floor, mask in floors.items():
        names = fleet.named(mask)
        text = tr(
            "with driver {floor} or newer {machines} can be included", floor=floor, machines=listed(names)
        )
        yield Advice(text, _needs_driver(floor, names))


def _parted(position: int, fleet: PartedMachines) -> Iterator[Advice]:
    """Name the GPU without which a machine can be served."""
    machine_class = fleet.classes[position]
    for capability in sorted(_capabilities(machine_class)) if len(_capabilities(machine_class)) > 1 else ():
        rest = _without(machine_class, capability)
        solution = _one_for_all((rest,), fleet) if rest else None
        if solution:
            names = fleet.named(1 << position)
            label = next(gpu.label for gpu in machine_class.target.gpus if gpu.capability == capability)
            text = tr(
                "without the {gpu} {machines} can be included: {build}",
                gpu=label,
                machines=listed(names),
                build=_build(solution),
            )
            yield Advice(text, _needs_fewer(label, names))
