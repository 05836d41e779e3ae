"""The JSON form of a machine: the data of `gpuenv detect --json`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from packaging.version import InvalidVersion

from gpuenv.i18n.messages import series, tr
from gpuenv.model.accelerator import ACCELERATOR_KINDS, Accelerator, AcceleratorKind
from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.model.json_fields import Fields, wrong
from gpuenv.model.machine import (
    Driver,
    DriverVersion,
    FoundManager,
    FoundPython,
    Gpu,
    Machine,
    Problem,
    System,
    Toolkit,
)
from gpuenv.model.variant import CudaVersion, parse_cuda_version

SCHEMA_VERSION = 1
_COMMAND = "detect"
_LIBC_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_PYTHON = re.compile(r"\d{1,2}\.\d{1,3}(\.\d{1,3})?")
_RELEASE = re.compile(r"\d{1,3}(\.\d{1,3}){0,2}")  # of macOS, of L4T
_KERNEL_DRIVER = re.compile(r"\d{1,3}(\.\d{1,4}){1,3}")
_CANN = re.compile(r"\d{1,2}(\.\d{1,2}){1,2}(\.(RC|alpha|beta|T)\d{1,4}){0,2}")
_PCI_ID = re.compile(r"[0-9a-f]{4}")
_PCI_REVISION = re.compile(r"[0-9a-f]{2}")
_DRIVER = re.compile(r"\d{2,4}(\.\d{1,4}){0,3}")  # a bare branch, 535, is its least release


def render_machine(machine: Machine) -> dict[str, Any]:
    """Render a machine as `detect`'s data; what is not known is null."""
    return {**_plain(machine), "facts": dict(machine.facts)}


def _plain(value: Any) -> Any:
    """Return a part of a machine as JSON has it: versions as text, an object for each part."""
    match value:
        case CudaVersion() | ComputeCapability() | DriverVersion():
            return str(value)
        case tuple():
            return [_plain(item) for item in value]
        case Struct():
            return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value


def parse_machine(data: object) -> Machine:
    """Parse `detect`'s data, bare or in its envelope; raise ValueError that names the field.

    Keys that are missing are not known, keys that are not known are passed over.
    """
    fields = Fields(_opened(data), "")
    driver, toolkit = fields.child("driver"), fields.child("toolkit")
    return Machine(
        system=_parse_system(fields.required_child("system")),
        driver=_parse_driver(driver) if driver else None,
        gpus=_distinct(tuple(_parse_gpu(gpu) for gpu in fields.children("gpus"))),
        toolkit=_parse_toolkit(toolkit) if toolkit else None,
        managers=tuple(_parse_manager(manager) for manager in fields.children("managers")),
        pythons=tuple(_parse_python(python) for python in fields.children("pythons")),
        facts=_parse_facts(fields.child("facts")),
        problems=tuple(_parse_problem(problem) for problem in fields.children("problems")),
        accelerators=_distinct_accelerators(tuple(map(_parse_accelerator, fields.children("accelerators")))),
        amdgpu=fields.optional_parsed("amdgpu", _matching(_KERNEL_DRIVER), "6.12.12"),
        l4t=fields.optional_parsed("l4t", _matching(_RELEASE), "36.4.3"),
        cann=fields.optional_parsed("cann", _matching(_CANN), "8.2.RC1"),
    )


def _opened(data: object) -> object:
    """Take the data out of an envelope, `{"schema_version": 1, "command": "detect", "data": {...}, ...}`."""
    if not isinstance(data, dict) or "schema_version" not in data:
        return data
    if data["schema_version"] != SCHEMA_VERSION:
        raise ValueError(wrong("schema_version", str(SCHEMA_VERSION), data["schema_version"]))
    if data.get("command", _COMMAND) != _COMMAND:
        raise ValueError(wrong("command", tr("the output of `gpuenv detect --json`"), data["command"]))
    return data.get("data")


def _parse_system(fields: Fields) -> System:
    return System(
        os=fields.text("os"),
        arch=fields.text("arch"),
        libc=fields.optional_text("libc"),
        libc_version=fields.optional_parsed("libc_version", _matching(_LIBC_VERSION), "2.31"),
        wsl=fields.flag("wsl", default=False),
        container=fields.optional_text("container"),
        macos=fields.optional_parsed("macos", _matching(_RELEASE), "14.5"),
        kernel=fields.optional_text("kernel"),
    )


def _parse_driver(fields: Fields) -> Driver:
    version = fields.parsed("version", parse_driver, "535.104.05")
    return Driver(version, fields.optional_parsed("cuda", parse_cuda_version, "12.2"))


def parse_driver(text: str) -> DriverVersion:
    """Parse `535.104.05`; raise ValueError for anything else."""
    try:
        return DriverVersion(_matching(_DRIVER)(text.strip()))
    except InvalidVersion:  # digits of other scripts
        raise ValueError(
            tr("`{text}` is not a valid driver version (example: 535.104.05)", text=text)
        ) from None


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text) or not text.isascii():
            raise ValueError(tr("`{text}` does not match", text=text))
        return text

    return check


def _parse_gpu(fields: Fields) -> Gpu:
    return Gpu(
        index=fields.count("index"),
        name=fields.optional_text("name"),
        compute_capability=fields.optional_parsed("compute_capability", parse_compute_capability, "8.6"),
        memory_mib=fields.optional_count("memory_mib"),
        uuid=fields.optional_text("uuid"),
        pci_id=fields.optional_text("pci_id"),
        mig=fields.optional_flag("mig"),
        visible=fields.flag("visible", default=True),
    )


def _distinct(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    seen: set[int] = set()
    for position, gpu in enumerate(gpus):
        if gpu.index in seen:
            place = f"gpus[{position}].index"
            raise ValueError(tr("{place}: {index} is a duplicate", place=place, index=gpu.index))
        seen.add(gpu.index)
    return gpus


def _parse_accelerator(fields: Fields) -> Accelerator:
    return Accelerator(
        kind=fields.optional_parsed("kind", parse_kind, "rocm"),
        vendor=fields.text("vendor"),
        index=fields.count("index"),
        name=fields.optional_text("name"),
        architecture=fields.optional_text("architecture"),
        memory_mib=fields.optional_count("memory_mib"),
        pci_id=fields.optional_parsed("pci_id", _matching(_PCI_ID), "744c"),
        revision=fields.optional_parsed("revision", _matching(_PCI_REVISION), "c8"),
        discrete=fields.optional_flag("discrete"),
        visible=fields.flag("visible", default=True),
    )


def _distinct_accelerators(accelerators: tuple[Accelerator, ...]) -> tuple[Accelerator, ...]:
    seen: set[tuple[str, int]] = set()
    for position, item in enumerate(accelerators):
        if (item.vendor, item.index) in seen:
            place = f"accelerators[{position}].index"
            raise ValueError(tr("{place}: {index} is a duplicate", place=place, index=item.index))
        seen.add((item.vendor, item.index))
    return accelerators


def parse_kind(text: str) -> AcceleratorKind:
    """Parse `rocm`; raise ValueError for what is not a kind of accelerator."""
    wanted = text.strip().lower()
    for kind in ACCELERATOR_KINDS:
        if kind == wanted:
            return kind
    raise ValueError(
        tr("`{text}` is not a kind of accelerator ({known})", text=text, known=series(ACCELERATOR_KINDS))
    )


def _parse_toolkit(fields: Fields) -> Toolkit:
    return Toolkit(fields.optional_parsed("cuda", parse_cuda_version, "12.4"), fields.text("nvcc"))


def _parse_manager(fields: Fields) -> FoundManager:
    return FoundManager(fields.text("name"), fields.text("path"), fields.optional_text("version"))


def _parse_python(fields: Fields) -> FoundPython:
    version = fields.parsed("version", _matching(_PYTHON), "3.12.4")
    return FoundPython(
        version, fields.text("path"), free_threaded=fields.flag("free_threaded", default=False)
    )


def _parse_problem(fields: Fields) -> Problem:
    return Problem(fields.text("code"), fields.text("message"))


def _parse_facts(fields: Fields | None) -> tuple[tuple[str, str], ...]:
    return tuple((key, fields.text(key)) for key in fields.data) if fields else ()
