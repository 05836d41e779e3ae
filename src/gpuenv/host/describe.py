"""A machine described by options: `--driver`, `--gpu`, `--platform`, `--glibc`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.host.described import MAC, DescribedReleases, NamedDevice
from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import HARMLESS_PROBLEMS, Driver, DriverVersion, Gpu, Machine, Problem, System
from gpuenv.model.machine_json import parse_driver
from gpuenv.model.wheel import PLATFORMS

if TYPE_CHECKING:  # a machine with NVIDIA's GPUs has no need of it
    from gpuenv.knowledge.accelerators import Accelerators

Facts = tuple[tuple[str, str], ...]

_SYSTEMS = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("windows", "x86_64"),
    "osx-arm64": ("macos", "aarch64"),
    "osx-64": ("macos", "x86_64"),
}
_GLIBC = re.compile(r"2\.\d{1,2}")
_SUGGESTIONS = 3
# so chips of Apple's and graphics of AMD's processors are called, and some Teslas and mobile cards
_SHARED = re.compile(r"m\d{1,2}|\d{3}m", re.IGNORECASE)
_APPLES = re.compile(r"(apple )?m\d{1,2} (pro|max|ultra)", re.IGNORECASE)
MACS = ("osx-arm64", "osx-64")
# The base machine's facts that options on GPU and driver replace.
_OF_THE_GPU = ("driver", "gpus", "problems")


class _NamedGpu(Struct, frozen=True):
    """A GPU that `--gpu` names, where that was read, and the platform of all machines that have it."""

    gpu: Gpu
    source: str
    platform: str | None = None


def _no_accelerators() -> Accelerators:
    from gpuenv.knowledge.accelerators import Accelerators  # noqa: PLC0415 - for others than NVIDIA's alone

    return Accelerators(lambda _: ())


def describe_machine(
    base: Machine | None,
    *,
    driver: str | None,
    gpus: tuple[str, ...],
    platform: str | None,
    glibc: str | None,
    knowledge: Knowledge,
    releases: DescribedReleases | None = None,
    accelerators: Callable[[], Accelerators] = _no_accelerators,
) -> Machine:
    """Return `base` with the values of the options; raise UsageError for an invalid one.

    `accelerators` are the tables of other vendors' devices, read where a name may be one of theirs.
    """
    platform = platform or (releases.platform if releases else None)
    source = "option --platform"
    read = [
        _read_gpu(text, platform, knowledge, accelerators, releases.kind if releases else None)
        for text in gpus
    ]
    named = tuple(item for item in read if isinstance(item, NamedDevice))
    nvidia = [item for item in read if not isinstance(item, NamedDevice)]
    if platform is None and any(item.accelerator.kind == "mps" for item in named):
        platform, source = MAC, "option --gpu"
    elif platform is None and (placed := next((item for item in nvidia if item.platform), None)):
        platform, source = placed.platform, placed.source
    machine = _on_platform(base, platform, source)
    if glibc is not None:
        machine = _with_glibc(machine, glibc)
    if gpus:
        machine = _with_gpus(machine, nvidia)
        machine = _with_devices(machine, named)
    if platform in MACS:
        machine = _with_chip(machine)
    if driver is not None:
        machine = _with_driver(machine, driver, knowledge)
    if releases is None or releases.is_empty:
        return machine
    from gpuenv.host.describe_accelerators import with_releases  # noqa: PLC0415 - for others than NVIDIA's alone

    return with_releases(machine, releases, accelerators)


def _with_devices(machine: Machine, named: tuple[NamedDevice, ...]) -> Machine:
    """Return a machine that has these devices, and no others of their kinds."""
    if not named:
        facts = tuple(fact for fact in machine.facts if not fact[0].startswith("accelerators"))
        return replace(machine, accelerators=(), facts=facts)
    from gpuenv.host.describe_accelerators import with_devices  # noqa: PLC0415 - for others than NVIDIA's alone

    return with_devices(machine, named)


def _with_chip(machine: Machine) -> Machine:
    from gpuenv.host.describe_accelerators import with_chip  # noqa: PLC0415 - for others than NVIDIA's alone

    return with_chip(machine)


def _on_platform(base: Machine | None, platform: str | None, source: str) -> Machine:
    name = platform or "linux-64"
    if name not in _SYSTEMS:
        raise UsageError(
            tr("`{platform}` is not a known platform", platform=name),
            code="unknown-platform",
            fixes=tuple(Fix(tr("use --platform {name}", name=known)) for known in PLATFORMS),
        )
    os, arch = _SYSTEMS[name]
    if base is not None and (platform is None or (base.system.os, base.system.arch) == (os, arch)):
        return base
    source = source if platform else "assumed: linux-64"
    system = System(os, arch, libc="glibc" if os == "linux" else None)
    facts: Facts = (("system.os", source), ("system.arch", source))
    if base is None:
        return Machine(system, facts=facts)
    if os == "macos" or base.system.os == "macos":  # where no device of another system is
        return Machine(system, facts=facts)
    # GPUs and driver are kept for another platform
    facts += tuple(
        fact for fact in base.facts if _is_about(fact[0], (*_OF_THE_GPU, "accelerators", "amdgpu"))
    )
    return replace(
        Machine(system, base.driver, base.gpus, facts=facts, problems=base.problems),
        accelerators=base.accelerators,
        amdgpu=base.amdgpu,
    )


def _with_glibc(machine: Machine, glibc: str) -> Machine:
    if not _GLIBC.fullmatch(glibc.strip()):
        raise UsageError(
            tr("`{glibc}` is not a valid glibc version", glibc=glibc),
            code="bad-glibc",
            fixes=(Fix(tr("write it as `ldd --version` does: --glibc 2.31")),),
        )
    if machine.system.os != "linux":
        raise UsageError(
            tr("--glibc does not apply to {os}", os=machine.system.os),
            code="bad-glibc",
            fixes=(Fix(tr("omit it, or add --platform linux-64")),),
        )
    system = replace(machine.system, libc="glibc", libc_version=glibc.strip())
    fields = ("system.libc", "system.libc_version")
    facts = (*_without(machine.facts, fields), *((field, "option --glibc") for field in fields))
    return replace(machine, system=system, facts=facts)


def _with_gpus(machine: Machine, read: list[_NamedGpu]) -> Machine:
    """Replace the machine's NVIDIA GPUs and driver."""
    described = [(replace(item.gpu, index=index), item.source) for index, item in enumerate(read)]
    facts = [("gpus", "option --gpu")]
    for gpu, source in described:
        facts.append((f"gpus.{gpu.index}.compute_capability", source))
        if gpu.name:
            facts.append((f"gpus.{gpu.index}.name", "option --gpu"))
    if described:
        facts.append(("driver.version", tr("assumed: new enough (option --gpu without --driver)")))
    return replace(
        machine,
        driver=None,
        gpus=tuple(gpu for gpu, _ in described),
        facts=(*_without(machine.facts, _OF_THE_GPU), *facts),
        problems=_harmless(machine),
    )


def _read_gpu(
    text: str,
    platform: str | None,
    knowledge: Knowledge,
    accelerators: Callable[[], Accelerators],
    kind: str | None,
) -> _NamedGpu | NamedDevice:
    with suppress(ValueError):
        return _NamedGpu(Gpu(0, None, parse_compute_capability(text)), "option --gpu")
    is_apples = platform in MACS or _APPLES.fullmatch(text.strip())
    fact = None if is_apples else knowledge.gpu_names.find(text)
    if fact is None or (kind != "cuda" and _SHARED.fullmatch(text.strip())):
        from gpuenv.host.describe_accelerators import find_device  # noqa: PLC0415 - for others than NVIDIA's alone

        named = find_device(text, accelerators())
        if named and fact and named.accelerator.kind != kind:
            raise UsageError(
                tr("`{name}` is ambiguous: it names GPUs of several makers", name=text.strip()),
                code="ambiguous-gpu",
                fixes=tuple(
                    Fix(tr('use --gpu "{name}"', name=name)) for name in (fact.name, named.accelerator.name)
                ),
            )
        if named:
            return named
    if fact is None:
        raise _unknown_gpu(text, knowledge, accelerators())
    if fact.ambiguous:
        raise UsageError(
            tr("`{name}` is ambiguous: it names GPUs of several compute capabilities", name=fact.name),
            code="ambiguous-gpu",
            fixes=(Fix(tr("specify its compute capability, such as --gpu {one}", one=fact.capability)),),
        )
    source = tr("matrix: product name `{name}`", name=fact.name)
    return _NamedGpu(Gpu(0, text.strip(), fact.capability), source, fact.platform)


def _unknown_gpu(text: str, knowledge: Knowledge, accelerators: Accelerators) -> UsageError:
    from gpuenv.knowledge.accelerator_names import AcceleratorNames  # noqa: PLC0415 - where no name fits

    of_others = AcceleratorNames(accelerators.devices).suggest(text)
    names = sorted({*knowledge.gpu_names.suggest(text), *of_others}, key=partial(_unlike, text))
    fixes = (
        *(Fix(tr('did you mean --gpu "{name}"?', name=name)) for name in names[:_SUGGESTIONS]),
        Fix(tr("or specify its compute capability or architecture, such as --gpu 8.6 or --gpu gfx1100")),
    )
    return UsageError(tr("no GPU called `{name}` is known", name=text), code="unknown-gpu", fixes=fixes)


def _unlike(text: str, name: str) -> float:
    return -difflib.SequenceMatcher(None, text.lower(), name.lower()).ratio()


def _with_driver(machine: Machine, driver: str, knowledge: Knowledge) -> Machine:
    version = _read_driver(driver)
    if not machine.gpus:
        fix = tr('add --gpu with a name or a compute capability, such as --gpu 8.6 or --gpu "Tesla T4"')
        message = tr("--driver {driver} requires a GPU", driver=driver)
        raise UsageError(message, code="driver-without-gpu", fixes=(Fix(fix),))
    os: DriverOs = "windows" if machine.system.wsl or machine.system.os == "windows" else "linux"
    cuda = knowledge.driver_cuda(version, os)
    known = _without(machine.facts, ("driver", "problems"))
    facts: Facts = (*known, ("driver.version", "option --driver"))
    if cuda:
        facts += (("driver.cuda", tr("matrix: driver branch {branch}", branch=version.major)),)
    return replace(machine, driver=Driver(version, cuda), facts=facts, problems=_harmless(machine))


def _read_driver(text: str) -> DriverVersion:
    try:
        return parse_driver(text)
    except ValueError:
        raise UsageError(
            tr("`{driver}` is not a valid driver version", driver=text),
            code="bad-driver",
            fixes=(Fix(tr("write it as nvidia-smi does: --driver 535.104.05")),),
        ) from None


def _harmless(machine: Machine) -> tuple[Problem, ...]:
    return tuple(problem for problem in machine.problems if problem.code in HARMLESS_PROBLEMS)


def _without(facts: Facts, fields: tuple[str, ...]) -> Facts:
    return tuple(fact for fact in facts if not _is_about(fact[0], fields))


def _is_about(field: str, fields: tuple[str, ...]) -> bool:
    return any(field == name or field.startswith(f"{name}.") for name in fields)
