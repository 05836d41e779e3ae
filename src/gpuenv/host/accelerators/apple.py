"""Apple's chips: by sysctl, which tells of the machine what a Python under Rosetta can't see."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuenv.host.accelerators.reading import FoundDevice, VendorReading
from gpuenv.host.executables import RunProgram
from gpuenv.i18n.messages import tr
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Problem

ARM64, TRANSLATED = "hw.optional.arm64", "sysctl.proc_translated"
_BRAND, _MEMORY = "machdep.cpu.brand_string", "hw.memsize"
_NAMES = (_BRAND, ARM64, TRANSLATED, _MEMORY)
_LIMIT_S = 5.0
_CHIP = re.compile(r"Apple (M\d{1,2})(?: (?:Pro|Max|Ultra))?(?: \(Virtual\))?", re.ASCII)
_PROFILER = ("system_profiler", "SPHardwareDataType")
_PROFILED = re.compile(
    r'(?:^\s*Chip(?:set Model)?: |"(?:chip_type|sppci_model)"\s*:\s*")(Apple [\w ]{1,40}?)\s*(?:"|$)',
    re.MULTILINE | re.ASCII,
)
_MIB = 1 << 20


def read_sysctl(run: RunProgram) -> Mapping[str, str]:
    """Ask the kernel; a name that a Mac does not know is left out."""
    answer = run("sysctl", *_NAMES, timeout_s=_LIMIT_S)
    told = parse_sysctl(answer.stdout) if answer else {}
    if told:
        return told
    answer = run(*_PROFILER, timeout_s=_LIMIT_S)
    return parse_profiler(answer.stdout) if answer else {}


def parse_profiler(text: str) -> dict[str, str]:
    """Parse `system_profiler`: the chip of a Mac with Apple's, as sysctl would tell it.

    `Chip: Apple M1` stands in SPHardwareDataType, `Chipset Model: Apple M1` in SPDisplaysDataType; with
    `-json` they are `"chip_type"` and `"sppci_model"`.
    """
    match = _PROFILED.search(text)
    return {_BRAND: match[1], ARM64: "1"} if match else {}


def parse_sysctl(text: str) -> dict[str, str]:
    """Parse the lines of `sysctl NAME...`, `hw.optional.arm64: 1`, of the names that are asked for."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip() in _NAMES}


def read_apple(told: Mapping[str, str]) -> VendorReading:
    """Return the chip's GPU, and a problem where this Python runs under Rosetta; none on Intel's Macs."""
    if told.get(ARM64) != "1":
        return VendorReading()
    brand = told.get(_BRAND, "")
    chip = _CHIP.fullmatch(brand)
    memory = told.get(_MEMORY, "")
    accelerator = Accelerator(
        kind="mps",
        vendor="Apple",
        index=0,
        name=brand[:60] or None,
        architecture=chip[1] if chip else None,
        memory_mib=int(memory) // _MIB if memory.isascii() and memory.isdigit() else None,
        discrete=False,
    )
    sources = tuple((field, "sysctl") for field in ("name", "architecture", "memory_mib", "discrete"))
    problems = (_rosetta(),) if told.get(TRANSLATED) == "1" else ()
    return VendorReading((FoundDevice(accelerator, sources),), problems)


def _rosetta() -> Problem:
    message = tr(
        "the Python that runs gpuenv is for x86_64, under Rosetta: its builds of torch end at 2.2.2 and have "
        "no GPU; use a Python for arm64"
    )
    return Problem("rosetta-python", message)
