"""Read /proc/driver/nvidia of the kernel module."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec.structs import replace

from gpuenv.host.executables import FileTree, read_text
from gpuenv.host.nvidia.reading import (
    GpuReading,
    SourceReading,
    parse_bus_id,
    parse_driver_version,
    parse_uuid,
)
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import DriverVersion

SOURCE = "/proc/driver/nvidia"
_PLACE = "proc/driver/nvidia"
_VERSION = re.compile(r"NVRM version:.{0,200}?\s(\d{2,4}(?:\.\d{1,4}){1,3})\s")
_FIELD = re.compile(r"([A-Za-z ]{1,40}):\s*(\S.*)")
_MOST_GPUS = 256


def read_proc_driver(root: FileTree) -> SourceReading | None:
    """Read the driver's version and its GPUs; None if no NVIDIA kernel module is loaded."""
    text = read_text(root / _PLACE / "version")
    if text is None:
        return None
    driver = None
    with suppress(ValueError):
        driver = parse_proc_version(text)
    return SourceReading(SOURCE, driver=driver, gpus=_read_gpus(root / _PLACE / "gpus"))


def parse_proc_version(text: str) -> DriverVersion:
    """Parse /proc/driver/nvidia/version; raise ValueError.

    Samples:
        NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023
        NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.07  Release Build  (dvs-builder@...)
    """
    match = _VERSION.search(text + "\n")
    if not match:
        raise ValueError(tr("it names no driver version"))
    return parse_driver_version(match[1])


def parse_information(text: str) -> GpuReading:
    """Parse /proc/driver/nvidia/gpus/BUS/information; raise ValueError.

    Sample:
        Model: 		 NVIDIA GeForce RTX 3080 Ti
        IRQ:   		 139
        GPU UUID: 	 GPU-5a8b9c0d-1e2f-3a4b-5c6d-7e8f9a0b1c2d
        Bus Location: 	 0000:01:00.0
    """
    matches = (match for line in text.splitlines() if (match := _FIELD.match(line.strip())))
    fields = {match[1].strip(): match[2].strip() for match in matches}
    name, uuid, bus = fields.get("Model"), fields.get("GPU UUID", ""), fields.get("Bus Location")
    if not name or name == "Unknown":
        raise ValueError(tr("it names no GPU"))
    is_known = uuid.startswith("GPU-") and "?" not in uuid  # `GPU-????????-...` until the GPU is used
    return GpuReading(
        name=name, uuid=parse_uuid(uuid) if is_known else None, bus_id=parse_bus_id(bus) if bus else None
    )


def _read_gpus(tree: FileTree) -> tuple[GpuReading, ...]:
    try:
        folders = sorted(tree.iterdir(), key=lambda folder: folder.name)[:_MOST_GPUS]
    except OSError:
        return ()
    read = [gpu for folder in folders if (gpu := _read_gpu(folder))]
    return tuple(replace(gpu, index=index) for index, gpu in enumerate(read))


def _read_gpu(folder: FileTree) -> GpuReading | None:
    try:
        return parse_information(read_text(folder / "information") or "")
    except ValueError:
        return None
