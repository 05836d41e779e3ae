"""A fake nvidia-smi for the PATH: a shell script that needs no other program."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """#!/bin/sh
echo "$*" >> "${0%%/*}/nvidia-smi.calls"
fields=
for word in "$@"; do
    case $word in --query-gpu=*) fields=${word#*=} ;; esac
done
if [ -z "$fields" ]; then
    printf '%%s\\n' %(table)s
    exit 0
fi
IFS=,
for field in $fields; do
    case $field in
        index|name|driver_version|uuid|pci.bus_id|pci.device_id|memory.total) ;;
        mig.mode.current) [ %(major)s -ge 450 ] || unknown=$field ;;
        compute_cap) [ %(major)s -ge 510 ] || unknown=$field ;;
        *) unknown=$field ;;
    esac
done
if [ -n "$unknown" ]; then
    echo "Field \\"$unknown\\" is not a valid field to query."
    exit 2
fi
%(rows)s
"""
_ROW = """line=
for field in $fields; do
    case $field in
        index) value=%(index)s ;;
        name) value=%(name)s ;;
        driver_version) value=%(driver)s ;;
        uuid) value=GPU-0000000%(index)s-1111-2222-3333-444444444444 ;;
        pci.bus_id) value=00000000:0%(index)s:00.0 ;;
        pci.device_id) value=0x000010DE ;;
        memory.total) value=16384 ;;
        mig.mode.current) value='[N/A]' ;;
        compute_cap) value=%(capability)s ;;
    esac
    line="${line:+$line, }$value"
done
echo "$line"
"""


@dataclass(frozen=True)
class FakeGpu:
    """A GPU as nvidia-smi names it."""

    name: str
    capability: str


def fake_nvidia_smi(directory: Path, driver: str, *gpus: FakeGpu) -> Path:
    """Write an nvidia-smi that tells of this driver and these GPUs, in the order that it is asked for."""
    rows = "".join(
        _ROW % {"index": index, "name": shlex.quote(gpu.name), "driver": driver, "capability": gpu.capability}
        for index, gpu in enumerate(gpus)
    )
    table = f"| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: N/A     |"
    text = _SCRIPT % {"table": shlex.quote(table), "major": driver.partition(".")[0], "rows": rows}
    return _write(directory, text)


def broken_nvidia_smi(directory: Path, words: str, status: int) -> Path:
    """Write an nvidia-smi that says only `words`."""
    return _write(directory, f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(words)}\nexit {status}\n")


def _write(directory: Path, text: str) -> Path:
    program = directory / "nvidia-smi"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return program
