"""A machine read from a tree of its files: an archive of it, or one made up, with the programs in its `bin`.

Of the system calls of that machine nothing is known but what its files and programs tell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gpuenv.host.combine import Software, machine_of
from gpuenv.host.executables import is_there, read_text
from gpuenv.host.merge import KnowledgeSource
from gpuenv.host.nvidia.hardware import hardware_of
from gpuenv.host.nvidia.smi import ask_nvidia_smi
from gpuenv.host.nvidia.smi_program import NvidiaSmiProgram, find_nvidia_smi
from gpuenv.host.programs import run_program
from gpuenv.host.software.cuda_toolkit import detect_toolkit
from gpuenv.host.system import UNAME, Calls, describe_system
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Machine

_MAC, _WINDOWS = "System/Library/CoreServices", "Windows/System32"
_OF_MACS, _OF_WINDOWS = "sw_vers", ("powershell", "powershell.exe")
_LOADERS = (("lib64/ld-linux-x86-64.so.2", "x86_64"), ("lib/ld-linux-aarch64.so.1", "aarch64"))
_KERNEL = ("proc/sys/kernel/arch", "proc/sys/kernel/osrelease", "proc/version")  # the first from Linux 6.1 on
_ARCHITECTURES = ("x86_64", "aarch64", "arm64")
_ARCHITECTURE = re.compile(r"\b(x86_64|aarch64)\b")
_DEVICE_TREE = "proc/device-tree/compatible"
_LIMIT_S = 10.0


def detect_tree(root: Path, knowledge: KnowledgeSource, timeout_s: float) -> Machine:
    """Describe the machine that a tree is of; its Pythons and package managers are not looked for."""
    environ = {"PATH": str(root / "bin")}
    system = describe_system(_calls(root, environ), environ, root)
    program = find_nvidia_smi(environ, root)
    smi = NvidiaSmiProgram(program, environ, timeout_s) if program else None
    hardware = hardware_of(ask_nvidia_smi(smi, timeout_s), root, system[0], lambda: None)
    software: Software = (detect_toolkit(environ, root), (), ())
    run = partial(run_program, environ)
    return machine_of(system, hardware, lambda: software, environ, knowledge, root, run)


def _calls(root: Path, environ: Mapping[str, str]) -> Calls:
    libc = run_program(environ, "getconf", "GNU_LIBC_VERSION", timeout_s=_LIMIT_S)
    architecture, source = _architecture(root, environ)
    return Calls(_platform(root, environ), architecture, source, libc.stdout.strip() if libc else None)


def _platform(root: Path, environ: Mapping[str, str]) -> str:
    """Return the system by its folders, else by the programs that no other has."""
    if is_there(root / _MAC) or run_program(environ, _OF_MACS, timeout_s=_LIMIT_S):
        return "darwin"
    windows = is_there(root / _WINDOWS) or any(is_there(root / "bin" / name) for name in _OF_WINDOWS)
    return "win32" if windows else "linux"


def _architecture(root: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the machine's own, by its `uname`, else by its loader; this machine's where nothing tells."""
    answer = run_program(environ, UNAME, "-m", timeout_s=_LIMIT_S)
    told = answer.stdout.split() if answer and answer.ok else []
    if len(told) > 1:  # a recorded program may answer as `uname -a`, whatever it is asked
        told = [word for word in told if word in _ARCHITECTURES]
    if told:
        return told[-1][:20], UNAME
    for place, name in _LOADERS:
        if is_there(root / place):
            return name, f"/{place}"
    if is_there(root / _DEVICE_TREE):
        return "aarch64", f"/{_DEVICE_TREE}"
    for place in _KERNEL:
        named = _ARCHITECTURE.search(read_text(root / place) or "")
        if named:
            return named[0], f"/{place}"
    here = "x86_64" if os.name == "nt" else os.uname().machine
    return here, tr("assumed: as this machine's")
