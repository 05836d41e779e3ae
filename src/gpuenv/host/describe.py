"""A machine described by options: `--driver`, `--gpu`, `--platform`, `--glibc`."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec.structs import replace

from gpuenv.i18n.messages import tr
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import DriverOs
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import HARMLESS_PROBLEMS, Driver, DriverVersion, Gpu, Machine, Problem, System
from gpuenv.model.machine_json import parse_driver
from gpuenv.model.wheel import PLATFORMS

Facts = tuple[tuple[str, str], ...]

_SYSTEMS = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("windows", "x86_64"),
    "osx-arm64": ("macos", "aarch64"),
    "osx-64": ("macos", "x86_64"),
}
_GLIBC = re.compile(r"2\.\d{1,2}")
# The base machine's facts that options on GPU and driver replace.
_OF_THE_GPU = ("driver", "gpus", "problems")


def describe_machine(
    base: Machine | None,
    *,
    driver: str | None,
    gpus: tuple[str, ...],
    platform: str | None,
    glibc: str | None,
    knowledge: Knowledge,
) -> Machine:
    """Return `base` with the values of the options; raise UsageError for an invalid one."""
    machine = _on_platform(base, platform)
    if glibc is not None:
        machine = _with_glibc(machine, glibc)
    if gpus:
        machine = _with_gpus(machine, gpus, knowledge)
    if driver is not None:
        machine = _with_driver(machine, driver, knowledge)
    return machine


def _on_platform(base: Machine | None, platform: str | None) -> Machine:
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
    source = "option --platform" if platform else "assumed: linux-64"
    system = System(os, arch, libc="glibc" if os == "linux" else None)
    facts: Facts = (("system.os", source), ("system.arch", source))
    if base is None:
        return Machine(system, facts=facts)
    # GPUs and driver are kept for another platform
    facts += tuple(fact for fact in base.facts if _is_about(fact[0], _OF_THE_GPU))
    return Machine(system, base.driver, base.gpus, facts=facts, problems=base.problems)


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


def _with_gpus(machine: Machine, gpus: tuple[str, ...], knowledge: Knowledge) -> Machine:
    """Replace the machine's GPUs and driver."""
    described = [_read_gpu(index, text, knowledge) for index, text in enumerate(gpus)]
    facts = [("gpus", "option --gpu")]
    for gpu, source in described:
        facts.append((f"gpus.{gpu.index}.compute_capability", source))
        if gpu.name:
            facts.append((f"gpus.{gpu.index}.name", "option --gpu"))
    facts.append(("driver.version", tr("assumed: new enough (option --gpu without --driver)")))
    return replace(
        machine,
        driver=None,
        gpus=tuple(gpu for gpu, _ in described),
        facts=(*_without(machine.facts, _OF_THE_GPU), *facts),
        problems=_harmless(machine),
    )


def _read_gpu(index: int, text: str, knowledge: Knowledge) -> tuple[Gpu, str]:
    with suppress(ValueError):
        return Gpu(index, None, parse_compute_capability(text)), "option --gpu"
    fact = knowledge.gpu_names.find(text)
    if fact is None:
        raise _unknown_gpu(text, knowledge)
    if fact.ambiguous:
        raise UsageError(
            tr("`{name}` is ambiguous: it names GPUs of several compute capabilities", name=fact.name),
            code="ambiguous-gpu",
            fixes=(Fix(tr("specify its compute capability, such as --gpu {one}", one=fact.capability)),),
        )
    return Gpu(index, text.strip(), fact.capability), tr("matrix: product name `{name}`", name=fact.name)


def _unknown_gpu(text: str, knowledge: Knowledge) -> UsageError:
    names = knowledge.gpu_names.suggest(text)
    fixes = (
        *(Fix(tr('did you mean --gpu "{name}"?', name=name)) for name in names),
        Fix(tr("or specify its compute capability, such as --gpu 8.6")),
    )
    return UsageError(tr("no GPU called `{name}` is known", name=text), code="unknown-gpu", fixes=fixes)


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
