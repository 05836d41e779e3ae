"""A machine for a person to read: `gpuenv detect`."""

from __future__ import annotations

from gpuenv.formats.fact_source import said_source
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Gpu, Machine


def render_machine_text(machine: Machine, *, verbose: bool = False) -> str:
    """Return what the machine is in a few lines; `verbose` adds where each fact was read."""
    lines = [describe(machine), *_gpus(machine), *_accelerators(machine), _system(machine)]
    lines += [*_beside(machine), *_toolkit(machine)]
    if machine.managers:
        names = series(f"{item.name} {item.version or ''}".strip() for item in machine.managers)
        lines.append(tr("managers: {names}", names=names))
    if machine.pythons:
        versions = series(dict.fromkeys(item.version for item in machine.pythons))
        lines.append(tr("Pythons: {versions}", versions=versions))
    if verbose:
        lines += [f"  {field}: {said_source(source)}" for field, source in machine.facts]
        lines += [f"  {item.version}: {item.path}" for item in machine.pythons]
    return "\n".join("  " * line.startswith("  ") + one_line(line) for line in lines) + "\n"


def describe(machine: Machine) -> str:
    """Return a machine in one line: its GPUs and driver."""
    facts = {"os": machine.system.os, "arch": machine.system.arch}
    others = series(_counted([_accelerator(item) for item in machine.accelerators]))
    if machine.without_gpu and others:
        return tr("{gpus}, no NVIDIA GPU, {os} {arch}", gpus=others, **facts)
    if machine.without_gpu:
        return tr("no NVIDIA GPU, {os} {arch}", **facts)
    if not machine.gpus:
        return tr("an unusable NVIDIA driver or GPU, {os} {arch}", **facts)
    gpus = series(dict.fromkeys(_gpu(gpu, machine.gpus) for gpu in machine.gpus))
    if machine.driver is None:
        return tr("{gpus}, driver not stated", gpus=gpus)
    if machine.driver.cuda is None:
        return tr("{gpus}, driver {driver}", gpus=gpus, driver=machine.driver.version)
    text = N_("{gpus}, driver {driver} (up to CUDA {cuda})")
    return tr(text, gpus=gpus, driver=machine.driver.version, cuda=machine.driver.cuda)


def _gpu(gpu: Gpu, among: tuple[Gpu, ...]) -> str:
    alike = sum(
        (other.name, other.compute_capability) == (gpu.name, gpu.compute_capability) for other in among
    )
    count = f"{alike} x " if alike > 1 else ""
    return f"{count}{gpu.name or 'GPU'} ({gpu.compute_capability or '?'})"


def _counted(names: list[str]) -> list[str]:
    return [
        f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)
    ]


def _accelerator(item: Accelerator) -> str:
    architecture = item.architecture
    if not item.name and not item.pci_id and architecture:
        return architecture  # described by it
    name = item.name or tr("{vendor} device (PCI id {pci_id})", vendor=item.vendor, pci_id=item.pci_id or "?")
    return f"{name} ({architecture})" if architecture and architecture not in name.split() else name


def _accelerators(machine: Machine) -> list[str]:
    return [
        tr(
            "  {vendor} {index}: {name}, {kind}{memory}{state}",
            vendor=item.vendor,
            index=item.index,
            name=_accelerator(item),
            kind=item.kind or tr("nothing is planned for it"),
            memory=f", {item.memory_mib} MiB" if item.memory_mib else "",
            state="" if item.visible else tr(", hidden by a variable"),
        )
        for item in machine.accelerators
    ]


def _beside(machine: Machine) -> list[str]:
    """Return the releases of what is beside the devices."""
    named = (
        (N_("AMD's kernel driver {version}"), machine.amdgpu),
        (N_("Jetson Linux (L4T) {version}"), machine.l4t),
        (N_("CANN {version}"), machine.cann),
    )
    return [tr(text, version=version) for text, version in named if version]


def _gpus(machine: Machine) -> list[str]:
    return [
        tr(
            "  {index}: {name}, compute capability {capability}, {memory}{state}",
            index=gpu.index,
            name=gpu.name or "GPU",
            capability=gpu.compute_capability or tr("not known"),
            memory=f"{gpu.memory_mib} MiB" if gpu.memory_mib else tr("memory not known"),
            state=(tr(", MIG on") if gpu.mig else "")
            + ("" if gpu.visible else tr(", hidden by CUDA_VISIBLE_DEVICES")),
        )
        for gpu in machine.gpus
    ]


def _system(machine: Machine) -> str:
    system = machine.system
    release = f" {system.macos}" if system.macos else ""
    parts = [f"{system.os}{release} {system.arch}"]
    if system.libc:
        parts.append(f"{system.libc} {system.libc_version or '?'}")
    if system.wsl:
        parts.append("WSL2")
    if system.container:
        parts.append(tr("in a {kind} container", kind=system.container))
    return series(parts)


def _toolkit(machine: Machine) -> list[str]:
    if machine.toolkit is None:
        return []
    line = tr("CUDA toolkit {cuda} ({nvcc})", cuda=machine.toolkit.cuda or "?", nvcc=machine.toolkit.nvcc)
    if machine.driver is None or machine.driver.cuda is None:
        return [line]
    text = N_("  the driver supports up to CUDA {cuda}; the toolkit is only used to build extensions")
    return [line, tr(text, cuda=machine.driver.cuda)]
