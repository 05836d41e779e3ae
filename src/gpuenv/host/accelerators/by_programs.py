"""AMD's and Intel's GPUs by what vendors' programs print, where no file of the kernel shows them.

So it is under WSL and in some containers. rocminfo obeys HSA_OVERRIDE_GFX_VERSION, which the kernel does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gpuenv.host.accelerators.amd import VARIABLES
from gpuenv.host.accelerators.intel import VARIABLE
from gpuenv.host.accelerators.reading import FoundDevice, VendorReading, with_hidden
from gpuenv.host.executables import RunProgram
from gpuenv.knowledge.accelerator_names import AcceleratorNames
from gpuenv.model.accelerator import Accelerator

if TYPE_CHECKING:
    from gpuenv.knowledge.accelerators import AcceleratorDevice, Accelerators

_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_LIMIT_S = 10.0
_MOST = 20_000  # lines
_LONGEST = 60
_GFX = re.compile(r"gfx[0-9a-f]{3,5}")
_SYCL = re.compile(
    r"\[(?:ext_oneapi_)?(level_zero|opencl):gpu[^\]]*\].*?, (Intel[^,\[]{1,80}?)"
    r"(?: (?:OpenCL )?(\d{1,3}(?:\.\d{1,3}){1,2}))?(?: NEO)? +\["
)
_XPU = re.compile(r"Device Name:\s*(Intel[^|]{1,80}?)\s*(?:\||$)")


class ToldGpu(Struct, frozen=True):
    """A GPU as a program prints it."""

    name: str | None
    architecture: str | None
    source: str


def read_by_programs(run: RunProgram, environ: Mapping[str, str], known: Accelerators) -> VendorReading:
    """Return the GPUs that rocminfo, sycl-ls or xpu-smi tell of, AMD's first."""
    names = AcceleratorNames(known.devices)
    amd = [
        _amd(index, gpu, names, overridden=_OVERRIDE in environ)
        for index, gpu in enumerate(parse_rocminfo(_printed(run, "rocminfo")))
    ]
    told = list(parse_sycl_ls(_printed(run, "sycl-ls")))
    told = told or list(parse_xpu_smi(_printed(run, "xpu-smi", "discovery")))
    intel = [_intel(index, gpu, names, known) for index, gpu in enumerate(told)]
    left = with_hidden(amd, environ, VARIABLES[1:])  # what ROCr hides rocminfo does not show
    masked = with_hidden(intel, environ, (VARIABLE,)) if told and told[0].source != "sycl-ls" else intel
    return VendorReading((*left, *masked))


def _printed(run: RunProgram, *command: str) -> str:
    answer = run(*command, timeout_s=_LIMIT_S)
    return answer.stdout if answer and answer.ok else ""


def parse_rocminfo(text: str) -> Iterator[ToldGpu]:
    """Yield the agents that are GPUs.

    Sample:
          Name:                    gfx1100
          Marketing Name:          AMD Radeon RX 7900 XTX
          Device Type:             GPU
    """
    name = product = None
    for line in text.splitlines()[:_MOST]:
        field, _, value = (part.strip() for part in line.partition(":"))
        if field == "Name":
            name, product = value, None
        elif field == "Marketing Name":
            product = value[:_LONGEST] or None
        elif (field, value) == ("Device Type", "GPU") and name and _GFX.fullmatch(name):
            yield ToldGpu(product, name, "rocminfo")


def parse_sycl_ls(text: str) -> Iterator[ToldGpu]:
    """Yield Intel's GPUs, as Level Zero sees them, else as OpenCL does.

    Samples:
        [level_zero:gpu][level_zero:0] Intel(R) oneAPI Unified Runtime over Level-Zero, Intel(R) Arc(TM) B580 Graphics 20.1.0 [1.6.31294]
        [opencl:gpu:1] Intel(R) OpenCL Graphics, Intel(R) Arc(TM) A770 Graphics 3.0 [23.22.26516]
    """  # noqa: E501 - as it is printed
    found = [match for line in text.splitlines()[:_MOST] if (match := _SYCL.match(line[:400]))]
    runtimes = [match[1] for match in found]
    for match in found:
        if match[1] == ("level_zero" if "level_zero" in runtimes else "opencl"):
            yield ToldGpu(match[2], match[3] if match[3] and match[3].count(".") > 1 else None, "sycl-ls")


def parse_xpu_smi(text: str) -> Iterator[ToldGpu]:
    """Yield the GPUs of `xpu-smi discovery`: `| 0 | Device Name: Intel(R) Arc(TM) B580 Graphics |`."""
    for line in text.splitlines()[:_MOST]:
        if match := _XPU.search(line[:400]):
            yield ToldGpu(match[1], None, "xpu-smi discovery")


def _named(gpu: ToldGpu, names: AcceleratorNames) -> AcceleratorDevice | None:
    found = names.find(gpu.name) if gpu.name else None
    return None if found is None or found.is_ambiguous else found.device


def _amd(index: int, gpu: ToldGpu, names: AcceleratorNames, *, overridden: bool) -> FoundDevice:
    row = _named(gpu, names)
    architecture = row.architecture if overridden and row else gpu.architecture
    return _device(Accelerator("rocm", "AMD", index, None, architecture), gpu, row)


def _intel(index: int, gpu: ToldGpu, names: AcceleratorNames, known: Accelerators) -> FoundDevice:
    row = _named(gpu, names)
    told = gpu.architecture if gpu.architecture in known.architectures else None
    architecture = told or (row.architecture if row else None)
    return _device(Accelerator("xpu", "Intel", index, None, architecture), gpu, row)


def _device(accelerator: Accelerator, gpu: ToldGpu, row: AcceleratorDevice | None) -> FoundDevice:
    named = replace(accelerator, name=row.name if row else gpu.name, discrete=row.discrete if row else None)
    return FoundDevice(named, tuple((field, gpu.source) for field in ("name", "architecture", "discrete")))
