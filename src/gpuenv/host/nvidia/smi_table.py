"""Parse the table of a plain `nvidia-smi`, and the list of `nvidia-smi -L`."""

from __future__ import annotations

import re

from msgspec.structs import replace

from gpuenv.host.nvidia.reading import (
    GpuReading,
    SourceReading,
    parse_bus_id,
    parse_driver_version,
    parse_uuid,
)
from gpuenv.host.nvidia.smi_messages import field_state
from gpuenv.i18n.messages import tr
from gpuenv.model.variant import CudaVersion, parse_cuda_version

SOURCE = "nvidia-smi"

# Since 610 the header says `KMD Version` and `CUDA UMD Version`. The version after `NVIDIA-SMI` is the
# program's own, which in containers and snaps may differ from the driver's.
_DRIVER = re.compile(r"(?:Driver|KMD) Version\s*:\s*([0-9.]+)")
_CUDA = re.compile(r"CUDA (?:UMD )?Version\s*:\s*([0-9.]+)")
_GPU = re.compile(
    r"\|\s{0,20}(?P<index>\d{1,3})\s{1,20}(?P<name>[^|\s][^|]{0,120})\|\s{0,20}(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]{7})\s"
)
_MODE = re.compile(r"(?:\s+(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM))+\s*$")
_MEMORY = re.compile(r"/\s{0,20}(\d{1,8})\s?Mi?B\s{0,20}\|")
_MIG = re.compile(r"\|\s*\|\s*\|\s*(Enabled|Disabled)\*?\s*\|")
_LISTED = re.compile(r"GPU (\d{1,3}): (.{1,120}?) \(UUID: ([^()]{1,80})\)\s*")
_CUT = "..."


def parse_table(text: str) -> SourceReading:
    """Parse the table; raise ValueError without a driver or a GPU.

    Sample:
        | NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |
        |   0  Tesla V100-SXM2...  On   | 00000000:00:1E.0 Off |                    0 |
        | N/A   35C    P0    38W / 300W |      0MiB / 16160MiB |      0%      Default |
        |                               |                      |                  N/A |
    Names longer than their column end in `...`; the capability is not in it.
    """
    driver, cuda, gpus = _DRIVER.search(text), _CUDA.search(text), _gpus(text)
    if not driver and not gpus:
        raise ValueError(tr("it is not the table of nvidia-smi"))
    version = parse_driver_version(driver[1]) if driver else None
    return SourceReading(SOURCE, driver=version, cuda=_cuda(cuda[1]) if cuda else None, gpus=gpus)


def parse_list(text: str) -> SourceReading:
    """Parse the names and UUIDs of `nvidia-smi -L`; raise ValueError.

    Sample: `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1f3e8ab1-...)`, then a line for each MIG device.
    """
    matches = [match.groups() for line in text.splitlines() if (match := _LISTED.match(line.strip()))]
    if not matches:
        raise ValueError(tr("it lists no GPU"))
    gpus = (GpuReading(index=int(index), name=name, uuid=parse_uuid(uuid)) for index, name, uuid in matches)
    return SourceReading("nvidia-smi -L", gpus=tuple(gpus))


def _cuda(text: str) -> CudaVersion | None:
    try:
        return parse_cuda_version(text)
    except ValueError:
        return None


def _gpus(text: str) -> tuple[GpuReading, ...]:
    gpus: dict[int, GpuReading] = {}
    latest: int | None = None
    for line in text.splitlines():
        match = _GPU.match(line.strip())
        if match:
            latest = int(match["index"])
            gpus.setdefault(latest, _start(latest, match["name"], match["bus"]))
        elif not line.strip().startswith("|"):
            latest = None
        elif latest is not None:
            gpus[latest] = _more(gpus[latest], line.strip())
    return tuple(sorted(gpus.values(), key=lambda gpu: gpu.index or 0))


def _start(index: int, cell: str, bus: str) -> GpuReading:
    name = re.split(r"\s{2,}", _MODE.sub("", cell).strip())[0]
    state = field_state(name)
    return GpuReading(
        index=index,
        name=None if state else name.removesuffix(_CUT).strip() or None,
        bus_id=parse_bus_id(bus) if bus.count(":") == 2 else None,  # noqa: PLR2004 - domain:bus:device.function
        states=(state,) if state else (),
        whole=not name.endswith(_CUT),
    )


def _more(gpu: GpuReading, line: str) -> GpuReading:
    memory = _MEMORY.search(line)
    mig = _MIG.match(line)
    state = field_state(line)
    return replace(
        gpu,
        memory_mib=int(memory[1]) if memory and gpu.memory_mib is None else gpu.memory_mib,
        mig=mig[1] == "Enabled" if mig and gpu.mig is None else gpu.mig,
        states=(*gpu.states, state) if state and state not in gpu.states else gpu.states,
    )
