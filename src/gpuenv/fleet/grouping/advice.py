"""What would make one group of several, or serve machines that are not: each was decided, and holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gpuenv.fleet.grouping.groups import Split
from gpuenv.fleet.grouping.machine_classes import MachineClass, joint_target, picked
from gpuenv.fleet.grouping.questions import GroupResolver
from gpuenv.fleet.grouping.set_cover import bits
from gpuenv.i18n.messages import marked, tr
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.driver import DriverVersion
from gpuenv.model.plan import Advice
from gpuenv.model.variant import CudaVersion
from gpuenv.resolution.candidate import Candidate
from gpuenv.resolution.driver_floors import has_drivers_of, least_driver_of
from gpuenv.resolution.resolve import Solution
from gpuenv.resolution.target import Target

_MOST_TRIES = 25  # builds, or machines: what comes after them is hardly what anybody would do
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class PartedMachines:
    """The machines of one platform: their kinds, their names by number, and how they are parted."""

    kinds: tuple[MachineClass, ...]
    names: Mapping[int, str]
    asker: GroupResolver
    split: Split

    def named(self, mask: int) -> tuple[str, ...]:
        """The names of the machines of some kinds, in the order of the files."""
        return tuple(self.names[number] for number in _numbers(picked(self.kinds, mask)))


@dataclass(frozen=True, slots=True)
class _Update:
    """A driver that some machines need, by their numbers, for one build to work on all that is wanted."""

    numbers: tuple[int, ...]
    floor: DriverVersion
    choice: Solution


def advise(fleet: PartedMachines) -> tuple[Advice, ...]:
    """Return what would make one group of the machines, and what would serve those that nothing works on."""
    update = _update_for_one(fleet) if len(fleet.split.groups) > 1 else None
    mended = update.numbers if update else ()
    found: list[Advice | None] = []
    if len(fleet.split.groups) > 1:
        found = [
            _say_update(update, fleet) if update else None,
            _without_machines(fleet),
            _without_gpu(fleet),
        ]
    return (*(one for one in found if one), *_serving(fleet, mended))


def listed(names: Iterable[str]) -> str:
    """Name machines in a sentence: the first of them, and how many more there are."""
    found = list(names)
    if len(found) <= _MOST_NAMES + 1:
        return ", ".join(found)
    first = ", ".join(found[:_MOST_NAMES])
    return tr("{names} and {count} more", names=first, count=len(found) - _MOST_NAMES)


def _build(choice: Solution) -> str:
    return tr("{build}, Python {python}", build=choice.case.label, python=choice.python.short)


def _update_for_one(fleet: PartedMachines) -> _Update | None:
    """The least update of drivers that makes one group: of all the machines, else of those served now."""
    everything = (1 << len(fleet.kinds)) - 1
    wishes = dict.fromkeys((everything, everything & ~fleet.split.unserved))
    tried = (_update(picked(fleet.kinds, wanted), fleet.asker) for wanted in wishes)
    return next((update for update in tried if update), None)


def _update(kinds: tuple[MachineClass, ...], asker: GroupResolver) -> _Update | None:
    """The update of the fewest machines; of equally few the one that brings the newest torch."""
    assumed = tuple(kind.changed(Target.with_driver_assumed) for kind in kinds)
    everything = (1 << len(kinds)) - 1
    lacking = [
        (case, everything & ~asker.works.mask(case, kinds))
        for case in sorted(asker.question.cases, key=_by_torch)
        if case.cuda and asker.works.mask(case, assumed) == everything
    ]
    lacking.sort(key=lambda item: len(_numbers(picked(kinds, item[1]))))
    tried = (_tried(case, mask, kinds, asker) for case, mask in lacking[:_MOST_TRIES])
    return next((update for update in tried if update), None)


def _by_torch(case: Candidate) -> tuple[object, ...]:
    """Newest torch first, of one torch the build that the oldest driver runs."""
    return tuple(-part for part in case.torch.release), case.cuda or CudaVersion(0, 0)


def _tried(
    case: Candidate, mask: int, kinds: tuple[MachineClass, ...], asker: GroupResolver
) -> _Update | None:
    knowledge = asker.question.knowledge
    lacking = picked(kinds, mask)
    if not lacking or not all(kind.has_gpus for kind in lacking):
        return None
    as_if_new = asker.best(tuple(kind.changed(Target.with_driver_assumed) for kind in lacking), (case,))
    floor = as_if_new and least_driver_of(as_if_new, joint_target(lacking), knowledge)
    if not floor or not has_drivers_of(floor, joint_target(lacking), knowledge):
        return None
    updated = tuple(
        kind.changed(lambda target: target.with_driver(floor, knowledge)) if mask >> place & 1 else kind
        for place, kind in enumerate(kinds)
    )
    choice = asker.best(updated, (case,))
    return _Update(_numbers(lacking), floor, choice) if choice else None


def _numbers(kinds: tuple[MachineClass, ...]) -> tuple[int, ...]:
    return tuple(sorted(number for kind in kinds for number in kind.numbers))


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
    return tr("driver {floor} or newer on {machines}", floor=floor, machines=", ".join(names))


def _without_machines(fleet: PartedMachines) -> Advice | None:
    """Name the fewest machines to leave out, where those that stay are more."""
    served = ((1 << len(fleet.kinds)) - 1) & ~fleet.split.unserved
    largest = max(fleet.split.possible, key=lambda one: len(fleet.named(one.mask)))
    out = fleet.named(served & ~largest.mask)
    if len(out) >= len(fleet.named(largest.mask)):
        return None
    text = tr(
        "without {machines} one build works for the others: {build}",
        machines=listed(out),
        build=_build(largest.choice),
    )
    return Advice(text, tr("a plan without {machines}", machines=", ".join(out)))


def _without_gpu(fleet: PartedMachines) -> Advice | None:
    """Name a kind of GPU to leave out of machines that have others, where that makes one group."""
    tried = (_try_without(capability, fleet) for capability in _beside_others(fleet.kinds))
    found = [one for one in tried if one]
    return min(found, key=lambda one: one[0])[1] if found else None


def _beside_others(kinds: tuple[MachineClass, ...]) -> tuple[ComputeCapability, ...]:
    """The compute capabilities of GPUs in machines of unlike ones."""
    mixed = (kind for kind in kinds if len(_capabilities(kind)) > 1)
    return tuple(sorted({capability for kind in mixed for capability in _capabilities(kind)}))


def _capabilities(kind: MachineClass) -> set[ComputeCapability]:
    return {gpu.capability for gpu in kind.target.gpus}


def _try_without(capability: ComputeCapability, fleet: PartedMachines) -> tuple[int, Advice] | None:
    """Leave a kind of GPU out: machines that have no other leave with it, unlike those that have."""
    relevant = [
        place
        for place, kind in enumerate(fleet.kinds)
        if not fleet.split.unserved >> place & 1 or _without(kind, capability) not in (kind, None)
    ]
    left = {place: _without(fleet.kinds[place], capability) for place in relevant}
    stay = tuple(kind for kind in left.values() if kind)
    choice = _one_for_all(stay, fleet)
    changed = sum(1 << place for place, kind in left.items() if kind and kind != fleet.kinds[place])
    if choice is None or not changed:
        return None
    gone = fleet.named(sum(1 << place for place, kind in left.items() if kind is None))
    return len(gone), _say_without(capability, fleet, changed, gone, choice)


def _without(kind: MachineClass, capability: ComputeCapability) -> MachineClass | None:
    """The kind without such GPUs; None where it has no others, itself where it has none."""
    kept = tuple(gpu for gpu in kind.target.gpus if gpu.capability != capability)
    if len(kept) == len(kind.target.gpus):
        return kind
    return kind.changed(lambda target: target.only(kept)) if kept else None


def _one_for_all(kinds: tuple[MachineClass, ...], fleet: PartedMachines) -> Solution | None:
    """The newest torch that works on all of these."""
    everything = (1 << len(kinds)) - 1
    cases = [case for case in fleet.asker.question.cases if fleet.asker.works.mask(case, kinds) == everything]
    tried = (fleet.asker.best(kinds, (case,)) for case in sorted(cases, key=_by_torch)[:_MOST_TRIES])
    return next((choice for choice in tried if choice), None) if kinds else None


def _say_without(
    capability: ComputeCapability,
    fleet: PartedMachines,
    changed: int,
    gone: tuple[str, ...],
    choice: Solution,
) -> Advice:
    gpus = (gpu for kind in picked(fleet.kinds, changed) for gpu in kind.target.gpus)
    facts = {
        "gpu": next(gpu.label for gpu in gpus if gpu.capability == capability),
        "machines": listed(fleet.named(changed)),
        "others": listed(gone),
        "build": _build(choice),
    }
    template = (
        marked("without the {gpu} in {machines}, and without {others}, one build works for the rest: {build}")
        if gone
        else marked("without the {gpu} in {machines} one build works for all: {build}")
    )
    return Advice(tr(template, **facts), _needs_fewer(facts["gpu"], fleet.named(changed), gone))


def _needs_fewer(gpu: str, machines: tuple[str, ...], gone: tuple[str, ...] = ()) -> str:
    facts = {"gpu": gpu, "machines": ", ".join(machines), "others": ", ".join(gone)}
    if not gone:
        return tr("{machines} without {gpu}", **facts)
    return tr("{machines} without {gpu}, and a plan without {others}", **facts)


def _serving(fleet: PartedMachines, mended: tuple[int, ...]) -> Iterator[Advice]:
    """Say what would serve machines that nothing works on: a newer driver, or fewer of their GPUs.

    Those `mended` are left out: what was said before would serve them.
    """
    floors: dict[DriverVersion, int] = {}
    unserved = [one for one in bits(fleet.split.unserved) if not {*fleet.kinds[one].numbers} & {*mended}]
    for place in unserved[:_MOST_TRIES]:
        update = _update((fleet.kinds[place],), fleet.asker)
        if update:
            floors[update.floor] = floors.get(update.floor, 0) | 1 << place
        else:
            yield from _parted(place, fleet)
    for floor, mask in floors.items():
        names = fleet.named(mask)
        text = tr(
            "with driver {floor} or newer {machines} can be included", floor=floor, machines=listed(names)
        )
        yield Advice(text, _needs_driver(floor, names))


def _parted(place: int, fleet: PartedMachines) -> Iterator[Advice]:
    """Name the GPU without which a machine can be served."""
    kind = fleet.kinds[place]
    for capability in sorted(_capabilities(kind)) if len(_capabilities(kind)) > 1 else ():
        rest = _without(kind, capability)
        choice = _one_for_all((rest,), fleet) if rest else None
        if choice:
            names = fleet.named(1 << place)
            label = next(gpu.label for gpu in kind.target.gpus if gpu.capability == capability)
            text = tr(
                "without the {gpu} {machines} can be included: {build}",
                gpu=label,
                machines=listed(names),
                build=_build(choice),
            )
            yield Advice(text, _needs_fewer(label, names))
