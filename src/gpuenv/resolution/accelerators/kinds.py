"""Which kind of accelerator a machine gets builds for, and which of its devices count.

NVIDIA's GPUs go first, then cards, then what is a part of the processor. A device that no build runs on does
not count; it is named, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerator_facts import parse_release
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.accelerator import AcceleratorKind
from gpuenv.model.errors import Because, Fix, UsageError
from gpuenv.model.machine import Machine
from gpuenv.model.wheel import Platform
from gpuenv.resolution.accelerators.collect import accelerated_candidates
from gpuenv.resolution.candidate import Failure
from gpuenv.resolution.rules.accelerators import CODE_RULES
from gpuenv.resolution.target import Target, choose_target, common_platform
from gpuenv.resolution.target_device import TargetDevice, UnusedDevice

_ORDER: tuple[AcceleratorKind, ...] = ("rocm", "xpu", "mps", "npu")  # of equals, the first


def choose_accelerated(
    machines: tuple[Machine, ...],
    devices: tuple[int, ...],
    asked: AcceleratorKind | None,
    knowledge: Knowledge,
) -> Target:
    """Return what the plan must work on: NVIDIA's GPUs, else the devices that there are builds for.

    `asked` is the kind that was asked for: then all its devices count. Raises as `choose_target` does.
    """
    if asked == "cuda" or (asked is None and not all(machine.without_gpu for machine in machines)):
        return choose_target(machines, devices, cpu=False)
    platform = common_platform(machines)
    if asked is not None:
        there = () if asked == "cpu" else _shown(_devices(machines, asked), devices)
        chosen, beside = _cards_first(there)
        return Target(machines, (), platform, asked, chosen, beside=beside)
    there = _shown(_devices(machines), devices)
    unused = tuple(item for device in there if (item := _unused(device, platform, knowledge)))
    usable = tuple(device for device in there if all(device is not item.device for item in unused))
    kind = _best_kind(usable)
    chosen, beside = _cards_first(tuple(item for item in usable if item.accelerator.kind == kind))
    _refuse_mixed(chosen, usable)
    return Target(machines, (), platform, kind, chosen, unused, beside)


def _devices(machines: Iterable[Machine], kind: AcceleratorKind | None = None) -> Iterator[TargetDevice]:
    """The devices that programs see; those of a kind where one is named."""
    for machine in machines:
        for accelerator in machine.accelerators:
            if accelerator.visible and kind in (None, accelerator.kind):
                yield TargetDevice(accelerator, machine)


def _shown(there: Iterable[TargetDevice], devices: tuple[int, ...]) -> tuple[TargetDevice, ...]:
    """The devices that `--device` names, all where it names none; raise UsageError where none is left."""
    found = tuple(there)
    named = tuple(item for item in found if not devices or item.accelerator.index in devices)
    if devices and not named:
        raise UsageError(
            tr("there is no device {indices} on this machine", indices=series(map(str, devices))),
            code="no-such-device",
            fixes=(Fix(tr("give --device a number that detect shows"), "gpuenv detect"),),
        )
    return named


def _best_kind(usable: tuple[TargetDevice, ...]) -> AcceleratorKind:
    """The kind of the first card, else of the first part of a processor; the CPU's without any."""
    cards, _ = _cards_first(usable)
    kinds = [item.accelerator.kind for item in cards]
    return next((kind for kind in _ORDER if kind in kinds), "cpu")


def _cards_first(
    devices: tuple[TargetDevice, ...],
) -> tuple[tuple[TargetDevice, ...], tuple[TargetDevice, ...]]:
    """Return the cards, and what is beside them: parts of processors, which count where there is no card."""
    integrated = tuple(item for item in devices if item.accelerator.discrete is False)
    if len(integrated) == len(devices):
        return devices, ()
    return tuple(item for item in devices if item.accelerator.discrete is not False), integrated


def _refuse_mixed(chosen: tuple[TargetDevice, ...], usable: tuple[TargetDevice, ...]) -> None:
    """Raise UsageError for machines of different kinds: no environment serves both."""
    served = [item.machine for item in chosen]
    others = tuple(item for item in usable if not any(item.machine is machine for machine in served))
    if chosen and others:
        names = series(dict.fromkeys(item.label for item in (*chosen, *others)))
        raise UsageError(
            tr("the machines have accelerators of different kinds: {names}", names=names),
            code="mixed-kinds",
            fixes=(Fix(tr("plan for each kind separately")),),
        )


def _unused(device: TargetDevice, platform: Platform, knowledge: Knowledge) -> UnusedDevice | None:
    """Return the device with the reason where no known build runs on it."""
    kind = device.accelerator.kind
    if kind is None:
        return UnusedDevice(device, _elsewhere(device, knowledge))
    rules = CODE_RULES.get(kind, ())
    target = Target((device.machine,), (), platform, kind, (device,))
    builds = accelerated_candidates((), target, knowledge)
    if not builds:
        text = tr("torch has no builds for {kind} on {platform}", kind=kind, platform=platform)
        return UnusedDevice(device, Because(text, "matrix accelerator-builds.json"))
    failures: list[Failure] = []
    for build in builds:
        found = tuple(failure for rule in rules for failure in rule(build, target, knowledge))
        if not found:
            return None
        failures += found
    return UnusedDevice(device, _reason(failures, device, knowledge))


def _reason(failures: list[Failure], device: TargetDevice, knowledge: Knowledge) -> Because:
    """Say in one sentence why no build runs on a device."""
    last = failures[-1]
    if last.kind == "macos":
        needing = (failure for failure in failures if failure.kind == "macos")
        least = min(needing, key=lambda failure: parse_release(failure.subject))
        return Because(least.detail, least.source)
    if last.kind == "device":
        return Because(last.detail, last.source)
    architecture = device.accelerator.architecture
    known = knowledge.accelerators.architecture(device.accelerator.kind, architecture)
    text = tr("no build of torch has code for {architecture}", architecture=architecture)
    return Because(text, known.source if known else last.source)


def _elsewhere(device: TargetDevice, knowledge: Knowledge) -> Because:
    """Say where builds for a device are that gpuenv does not plan for."""
    place = knowledge.accelerators.package_of(device.accelerator.vendor)
    if place is None:
        return Because(tr("gpuenv plans no builds for it"), "matrix accelerator-devices.json")
    return Because(tr("gpuenv plans no builds for it; they are at {place}", place=place.where), place.source)
