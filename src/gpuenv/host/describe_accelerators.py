"""What options say of a machine beside NVIDIA's: devices by name, releases of what is beside them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import zip_longest

from msgspec.structs import replace

from gpuenv.host.described import JETSON, MAC, DescribedReleases, NamedDevice
from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerator_names import AcceleratorNames, NamedDevices
from gpuenv.knowledge.accelerators import AcceleratorArchitecture, AcceleratorDevice, Accelerators
from gpuenv.knowledge.jetson_releases import newest_until
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import Gpu, Machine
from gpuenv.model.machine_json import parse_machine, render_machine

_VENDORS = {"rocm": "AMD", "xpu": "Intel", "mps": "Apple", "npu": "Huawei"}
_JETPACK = re.compile(r"\d{1,2}(\.\d{1,2}){0,2}", re.ASCII)
Facts = tuple[tuple[str, str], ...]


def find_device(text: str, known: Accelerators) -> NamedDevice | None:
    """Find a device by name or architecture (`gfx1100`, `20.1.0`, `M1`); raise UsageError if ambiguous."""
    wanted = text.strip()
    exact = _architecture(wanted.lower(), known)
    found = AcceleratorNames(known.devices).find(wanted)
    if found and found.is_ambiguous and not _are_alike(found, known):
        raise UsageError(
            tr("`{name}` is ambiguous: it names GPUs of several architectures", name=wanted),
            code="ambiguous-gpu",
            fixes=(
                *(
                    Fix(tr('use --gpu "{name}"', name=name))
                    for name in found.names
                    if name.lower() != wanted.lower()
                ),
                *(
                    Fix(tr("use --gpu {architecture}", architecture=item))
                    for item in found.architectures
                    if item
                ),
            ),
        )
    if found and (exact is None or found.device.architecture == exact.architecture):
        return _of_row(found.device, found.name)
    return _of_architecture(exact) if exact else None


def _architecture(wanted: str, known: Accelerators) -> AcceleratorArchitecture | None:
    """Find what a chip is called itself, or by the compiler (`bmg-g21`), whose lists name its own first."""
    rows = known.architectures.values()
    exact = next((row for row in rows if row.architecture.lower() == wanted), None)
    called = [row for row in rows if wanted in row.code]
    return exact or min(called, key=lambda row: row.code.index(wanted), default=None)


def _are_alike(found: NamedDevices, known: Accelerators) -> bool:
    """Whether a name, of whichever of its devices, is one of those that no build is made for."""
    meant = [known.architectures.get(item) for item in found.architectures]
    return all(row is not None and row.supported is False for row in meant)


def _of_row(row: AcceleratorDevice, name: str) -> NamedDevice:
    kind = next((kind for kind in ("rocm", "xpu", "mps", "npu") if kind == row.kind), None)
    accelerator = Accelerator(
        kind, row.vendor, 0, name, row.architecture, pci_id=row.pci_id, discrete=row.discrete
    )
    return NamedDevice(accelerator, tr("matrix: product name `{name}`", name=name))


def _of_architecture(row: AcceleratorArchitecture) -> NamedDevice | None:
    kind = next((kind for kind in ("rocm", "xpu", "mps", "npu") if kind == row.kind), None)
    if kind is None:
        return None
    accelerator = Accelerator(
        kind, _VENDORS[kind], 0, None, row.architecture, discrete=row.device_class != "igpu"
    )
    return NamedDevice(accelerator, "option --gpu")


def with_devices(machine: Machine, named: tuple[NamedDevice, ...]) -> Machine:
    """Return a machine that has these devices, and no others of their kinds."""
    devices: list[Accelerator] = []
    facts: list[tuple[str, str]] = []
    for position, item in enumerate(named):
        vendor = item.accelerator.vendor
        index = sum(other.vendor == vendor for other in devices)
        devices.append(replace(item.accelerator, index=index))
        facts.append((f"accelerators.{position}.architecture", item.source))
        if item.accelerator.name:
            facts.append((f"accelerators.{position}.name", "option --gpu"))
    kept = tuple(fact for fact in machine.facts if not fact[0].startswith("accelerators"))
    return replace(machine, accelerators=tuple(devices), facts=(*kept, *facts))


def with_chip(machine: Machine) -> Machine:
    """Return a Mac with the GPU that each of Apple's chips has, where none is described."""
    system = machine.system
    if (system.os, system.arch) != ("macos", "aarch64") or machine.accelerators:
        return machine
    chip = Accelerator("mps", "Apple", 0, tr("a GPU of Apple's"), discrete=False)
    facts: Facts = (*machine.facts, ("accelerators.0.name", "option --platform"))
    return replace(machine, accelerators=(chip,), facts=facts)


def with_releases(machine: Machine, asked: DescribedReleases, known: Callable[[], Accelerators]) -> Machine:
    """Return a machine with the releases of the options; raise UsageError for one that can't be."""
    system, facts = machine.system, dict(machine.facts)
    if asked.macos is not None:
        _only_on(machine, "macos", "--macos", f"--platform {MAC}")
        system, facts["system.macos"] = replace(system, macos=asked.macos), "option --macos"
    if asked.wsl:
        _only_on(machine, "linux", "--wsl", "--platform linux-64")
        system, facts["system.wsl"] = replace(system, wsl=True), "option --wsl"
    for name in ("cann", "amdgpu"):
        if getattr(asked, name) is not None:
            _only_on(machine, "linux", f"--{name}", "--platform linux-64")
            facts[name] = f"option --{name}"
    l4t = asked.l4t
    if asked.jetpack is not None:
        l4t = l4t or _l4t_of(asked.jetpack, known())
        facts["l4t"] = tr("matrix: JetPack {version}", version=asked.jetpack)
    elif l4t is not None:
        facts["l4t"] = "option --l4t"
    if l4t is not None:
        _only_on(machine, "linux", "--l4t", f"--platform {JETSON}")
    machine = replace(
        machine,
        system=system,
        cann=asked.cann or machine.cann,
        amdgpu=asked.amdgpu or machine.amdgpu,
        l4t=l4t or machine.l4t,
        facts=tuple(facts.items()),
    )
    _check(machine, asked)
    return _with_board(machine, known()) if l4t and not machine.gpus else machine


def _only_on(machine: Machine, os: str, name: str, fix: str) -> None:
    if machine.system.os != os:
        raise UsageError(
            tr("{option} does not apply to {os}", option=name, os=machine.system.os),
            code="bad-release",
            fixes=(Fix(tr("omit it, or add {option}", option=fix)),),
        )


def _check(machine: Machine, asked: DescribedReleases) -> None:
    """Hold the releases to the form that a saved machine has."""
    try:
        parse_machine(render_machine(machine))
    except ValueError as error:
        names = ("macos", "l4t", "jetpack", "cann", "amdgpu")
        given = series(
            f"--{name} {getattr(asked, name)}" for name in names if getattr(asked, name) is not None
        )
        raise UsageError(
            tr("`{options}` cannot be read: {reason}", options=given, reason=error), code="bad-release"
        ) from None


def _l4t_of(jetpack: str, known: Accelerators) -> str:
    releases = {row.jetpack: row.l4t for row in known.jetsons if row.jetpack and row.l4t}
    wanted = jetpack.strip()
    found = releases.get(wanted)
    if found is None and _JETPACK.fullmatch(wanted):  # JetPack 6 is the newest of its releases
        found = next((l4t for name, l4t in releases.items() if name.startswith(f"{wanted}.")), None)
    if found is None:
        raise UsageError(
            tr("no JetPack {version} is known", version=jetpack),
            code="unknown-jetpack",
            fixes=(Fix(tr("known are {versions}", versions=series(releases))),),
        )
    return found


def _with_board(machine: Machine, known: Accelerators) -> Machine:
    """Return a Jetson with the GPU of each board that its release runs on: a plan is for all of them."""
    row = newest_until(machine.l4t or "", known.jetsons)
    if row is None:
        return machine
    named = row.boards if len(row.boards) == len(row.compute_capabilities) else ()
    capabilities = map(parse_compute_capability, row.compute_capabilities)
    gpus = tuple(
        Gpu(index, name, item) for index, (name, item) in enumerate(zip_longest(named, capabilities))
    )
    source = tr("matrix: L4T {version}", version=machine.l4t)
    about = (f"gpus.{gpu.index}.compute_capability" for gpu in gpus)
    return replace(machine, gpus=gpus, facts=(*machine.facts, *((name, source) for name in ("gpus", *about))))
