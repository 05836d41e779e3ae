"""What a file of several variants says at its top: what each is, and what it needs."""

from __future__ import annotations

from gpuenv.formats.machine import describe
from gpuenv.formats.text import stack_lines
from gpuenv.i18n.messages import tr
from gpuenv.model.locked import Locked, LockedVariant


def comment_lines(variants: tuple[LockedVariant, ...]) -> tuple[str, ...]:
    """Return the described machine, if any, and the stack of each variant with what it needs of a machine."""
    machines = dict.fromkeys(machine for variant in variants for machine in variant.locked.plan.machines)
    described = tuple(describe(machine) for machine in machines if machine.gpus)
    told = tuple(line for variant in variants for line in variant_lines(variant))
    return (tr("made by gpuenv for"), *described, *told)


def variant_lines(variant: LockedVariant) -> tuple[str, ...]:
    """Return what a variant brings, and the least driver and the architectures that it needs."""
    *_, stack = stack_lines(variant.locked.plan)
    needs = _needs(variant.locked)
    return (f"{variant.name}: {stack}", *([f"  {needs}"] if needs else []))


def _needs(locked: Locked) -> str | None:
    if locked.driver is None:
        return None
    if not locked.architectures:
        return tr("needs an NVIDIA driver {driver} or newer", driver=locked.driver)
    return tr(
        "needs an NVIDIA driver {driver} or newer, and has code for {architectures}",
        driver=locked.driver,
        architectures=" ".join(locked.architectures),
    )
