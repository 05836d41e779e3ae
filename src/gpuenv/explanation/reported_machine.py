"""The machine that a text is from, as far as it says: its GPUs, driver, platform and Python."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuenv.host.describe import describe_machine
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.errors import GpuenvError
from gpuenv.model.machine import Machine
from gpuenv.model.variant import CudaVersion
from gpuenv.model.wheel import Platform
from gpuenv.resolution.target import PLATFORMS_BY_SYSTEM, Target, choose_target
from gpuenv.signatures.circumstances import MAC, WINDOWS
from gpuenv.signatures.reported import Reported

_DIGITS = re.compile(r"(\d{1,2}?)[., ]*(\d)[af]?")
_ARM = re.compile(r"aarch64|arm64")


class ReportedMachine(Struct, frozen=True):
    """What a text says of its machine, as options of a plan have it; None and empty where it says nothing.

    `gpus` are names or compute capabilities, `python` is MAJOR.MINOR. `is_mac` is a machine without CUDA.
    """

    gpus: tuple[str, ...] = ()
    driver: str | None = None
    platform: Platform | None = None
    python: str | None = None
    is_mac: bool = False

    def is_like(self, here: Machine) -> bool:
        """Whether nothing that is said contradicts this machine."""
        system = here.system
        own_platform = PLATFORMS_BY_SYSTEM.get((system.os, system.arch))
        if self.is_mac or (self.platform not in (None, own_platform) and not system.wsl):
            return False
        if self.driver and (here.driver is None or str(here.driver.version) != self.driver):
            return False
        own = {(gpu.name or "").lower() for gpu in here.gpus}
        capabilities = {str(gpu.compute_capability) for gpu in here.gpus}
        return all(
            gpu in capabilities or any(gpu.lower() in name for name in own if name) for gpu in self.gpus
        )


def machine_of(reported: Reported, knowledge: Knowledge) -> ReportedMachine:
    """Return the machine of a text; a GPU stands by its compute capability where that is said."""
    gpus = _gpus(reported, knowledge)
    texts = [reported.value(name) or "" for name in ("platform", "windows_path")]
    windows = bool(texts[1] or WINDOWS.pattern.search(texts[0])) and "wsl" not in texts[0].lower()
    platform: Platform | None = None
    if windows:
        platform = "win-64"
    elif not MAC.pattern.search(texts[0]) and _ARM.search(texts[0]):
        platform = "linux-aarch64"
    return ReportedMachine(
        gpus=gpus,
        driver=driver_of(reported, knowledge, windows=windows) if gpus else reported.value("driver"),
        platform=platform,
        python=python_of(reported),
        is_mac=is_of_mac(reported),
    )


def is_of_mac(reported: Reported) -> bool:
    """Whether a text is from a machine of Apple's."""
    return bool(MAC.pattern.search(reported.value("platform") or "") or reported.value("mac_path"))


def names_gpu(reported: Reported) -> bool:
    """Whether a text says anything of its GPU, known or not."""
    return bool(reported.gpus or reported.value("gpu_named") or reported.value("capability"))


def _gpus(reported: Reported, knowledge: Knowledge) -> tuple[str, ...]:
    names = (name for gpu in reported.gpus if (name := _known_gpu(gpu.value, knowledge)))
    known = tuple(dict.fromkeys(names))
    named = reported.value("gpu_named")
    if not known and named and (name := _known_gpu(named, knowledge)):
        known = (name,)
    capability = capability_of(reported)
    if capability and len(known) <= 1 and not _have(known, capability, knowledge):
        return (capability,)
    return known


def _have(names: tuple[str, ...], capability: str, knowledge: Knowledge) -> bool:
    found = (knowledge.gpu_names.find(name) for name in names)
    return bool(names) and all(fact and str(fact.capability) == capability for fact in found)


def _known_gpu(text: str, knowledge: Knowledge) -> str | None:
    for name in (text, re.sub(r"^NVIDIA ", "", text)):
        fact = knowledge.gpu_names.find(name)
        if fact is not None and not fact.ambiguous:
            return text
    return None


def capability_of(reported: Reported) -> str | None:
    """Return the compute capability that a text names, as `8.6`."""
    match = _DIGITS.fullmatch(re.sub(r"^\D+", "", reported.value("capability") or ""))
    if match is None:
        return None
    with suppress(ValueError):
        return str(parse_compute_capability(f"{match[1]}.{match[2]}"))
    return None


def driver_of(reported: Reported, knowledge: Knowledge, *, windows: bool) -> str | None:
    """Return the driver, or where only the CUDA that it supports is said, the least one that does."""
    driver = reported.value("driver")
    if driver:
        return driver
    number = int(reported.value("driver_cuda_number") or 0)
    text = f"{number // 1000}.{number % 1000 // 10}" if number else reported.value("driver_cuda")
    with suppress(ValueError, AttributeError):
        major, minor = (text or "").split(".")[:2]
        floor = knowledge.release_floor(
            CudaVersion(int(major), int(minor)), "windows" if windows else "linux"
        )
        return str(floor.version) if floor else None
    return None


def python_of(reported: Reported) -> str | None:
    """Return the Python as MAJOR.MINOR: of `3.10.12`, and of the `311` in a path of Windows."""
    text = reported.value("python") or ""
    if re.fullmatch(r"3\d{1,2}", text):
        text = f"3.{text[1:]}"
    try:
        release = Version(text).release
    except InvalidVersion:
        return None
    return f"{release[0]}.{release[1]}" if len(release) > 1 else None


def reported_torch(reported: Reported) -> str:
    """Return the torch that a text names, as it names it; empty where it names none."""
    package = reported.packages.get("torch")
    return reported.value("torch") or (package.value if package else reported.value("torch_named") or "")


def target_of(machine: ReportedMachine, knowledge: Knowledge) -> Target | None:
    """Return the GPUs of the text's machine, None where they are not known."""
    with suppress(GpuenvError):
        described = describe_machine(
            None,
            driver=machine.driver,
            gpus=machine.gpus,
            platform=machine.platform,
            glibc=None,
            knowledge=knowledge,
        )
        return choose_target((described,), (), cpu=False)
    return None


def driver_cuda_of(machine: ReportedMachine, platform: Platform, knowledge: Knowledge) -> CudaVersion | None:
    """Return the CUDA that the driver of a text's machine runs at most."""
    with suppress(InvalidVersion):
        return knowledge.driver_cuda(
            Version(machine.driver or ""), "windows" if platform == "win-64" else "linux"
        )
    return None
