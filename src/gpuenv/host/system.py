"""Detect the operating system, its C library, WSL2 and containers."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.host.executables import FileTree, is_there, read_text
from gpuenv.i18n.messages import tr
from gpuenv.model.machine import System
from gpuenv.process import subprocesses as process

Facts = tuple[tuple[str, str], ...]

_SYSTEMS = {"linux": "linux", "win32": "windows", "cygwin": "windows", "darwin": "macos"}
_ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
_GLIBC = re.compile(r"glibc (\d{1,3}\.\d{1,3})(?:[.\d]*)")
_MUSL = re.compile(r"Version (\d{1,3}\.\d{1,3})")
_CGROUP_WORDS = (
    ("docker", "docker"), ("kubepods", "kubernetes"), ("libpod", "podman"), ("lxc", "lxc"),
    ("containerd", "containerd"),
)  # fmt: skip
_CONTAINER_FILES = (
    ("run/.containerenv", "podman"), (".dockerenv", "docker"), (".singularity.d", "apptainer"),
)  # fmt: skip
_KERNEL = re.compile(r"(?:Linux version )?(\d{1,3}\.\d{1,4}[\w.+~-]{0,80})(?=\s|$)", re.ASCII)
_SYSTEM_VERSION = "System/Library/CoreServices/SystemVersion.plist"
_PRODUCT_VERSION = re.compile(
    r"<key>ProductVersion</key>\s*<string>(\d{1,3}(?:\.\d{1,3}){0,2})</string>", re.ASCII
)
_LOADER_LIMIT_S = 5.0
UNAME = "uname"


class Calls(Struct, frozen=True):
    """Results of system calls: `sys.platform`, uname, confstr, and the path and output of musl's loader."""

    platform: str
    architecture: str
    architecture_source: str
    libc: str | None = None
    loader: str | None = None
    musl: str = ""


def detect_system(environ: Mapping[str, str], root: Path) -> tuple[System, Facts]:
    """Return the system of this machine, and the source of each fact."""
    if sys.platform == "win32":
        arch = environ.get("PROCESSOR_ARCHITEW6432") or environ.get("PROCESSOR_ARCHITECTURE", "")
        arch_source = "PROCESSOR_ARCHITECTURE"
    else:
        arch, arch_source = os.uname().machine, UNAME
    libc = _confstr()
    loader = next(iter(sorted((root / "lib").glob("ld-musl-*.so.1"))), None) if not libc else None
    musl = process.run([str(loader)], timeout_s=_LOADER_LIMIT_S).stderr if loader else ""
    calls = Calls(sys.platform, arch, arch_source, libc, str(loader) if loader else None, musl)
    return describe_system(calls, environ, root)


def describe_system(calls: Calls, environ: Mapping[str, str], root: FileTree) -> tuple[System, Facts]:
    """Return the system of a machine by its calls, variables and files, and the source of each fact."""
    os_name = _SYSTEMS.get(calls.platform, calls.platform)
    arch, arch_source = parse_architecture_name(calls.architecture), calls.architecture_source
    libc, libc_version, libc_source = _libc(calls) if os_name == "linux" else (None, None, "")
    wsl, kernel, kernel_source = _kernel(root) if os_name == "linux" else (False, None, "")
    macos, macos_source = _macos(root) if os_name == "macos" else (None, "")
    container, container_source = _container(environ, root) if os_name == "linux" else (None, "")
    system = System(
        os_name, arch, libc, libc_version, wsl=wsl, container=container, macos=macos, kernel=kernel
    )
    facts = (
        ("system.os", "sys.platform"),
        ("system.arch", arch_source),
        ("system.libc", libc_source),
        ("system.libc_version", libc_source if libc_version else ""),
        ("system.wsl", kernel_source),
        ("system.container", container_source),
        ("system.macos", macos_source),
        ("system.kernel", kernel_source if kernel else ""),
    )
    return system, tuple((field, source) for field, source in facts if source)


def parse_architecture_name(text: str) -> str:
    """Normalise a machine's name: `AMD64` is x86_64, `arm64` is aarch64; others in lower case."""
    name = text.strip().lower()
    return _ARCHITECTURES.get(name, name)


def parse_glibc(text: str) -> str:
    """Parse confstr's `glibc 2.31` to `2.31`; raise ValueError for anything else."""
    match = _GLIBC.fullmatch(text.strip())
    if not match:
        raise ValueError(tr("`{text}` is not a valid glibc version (example: `glibc 2.31`)", text=text))
    return match[1]


def parse_musl(text: str) -> str:
    """Parse the output of musl's loader; raise ValueError.

    Sample:
        musl libc (x86_64)
        Version 1.2.4
    """
    match = _MUSL.search(text)
    if "musl" not in text or not match:
        raise ValueError(tr("it is not the output of musl's loader"))
    return match[1]


def _confstr() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError, AttributeError):  # musl knows no such name
        return None


def _libc(calls: Calls) -> tuple[str | None, str | None, str]:
    try:
        return "glibc", parse_glibc(calls.libc or ""), "os.confstr"
    except ValueError:
        pass
    if calls.loader is None:
        return None, None, ""
    try:
        return "musl", parse_musl(calls.musl), calls.loader
    except ValueError:
        return "musl", None, calls.loader


def _kernel(root: FileTree) -> tuple[bool, str | None, str]:
    """Return whether it is WSL's, its release, and the file."""
    for location in ("proc/sys/kernel/osrelease", "proc/version"):
        text = read_text(root / location)
        if text is not None:
            return "microsoft" in text.lower(), parse_kernel(text), f"/{location}"
    return False, None, ""


def parse_kernel(text: str) -> str | None:
    """Parse a kernel's release, `6.8.0-45-generic`, alone or in `Linux version 6.8.0-45-generic (...)`."""
    match = _KERNEL.match(text.strip())
    return match[1] if match else None


def _macos(root: FileTree) -> tuple[str | None, str]:
    match = _PRODUCT_VERSION.search(read_text(root / _SYSTEM_VERSION) or "")
    return (match[1], f"/{_SYSTEM_VERSION}") if match else (None, "")


def _container(environ: Mapping[str, str], root: FileTree) -> tuple[str | None, str]:
    for marker, name in _CONTAINER_FILES:
        if is_there(root / marker):
            return name, f"/{marker}"
    if environ.get("container"):
        return environ["container"], "environment variable `container`"
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "environment variable `KUBERNETES_SERVICE_HOST`"
    return parse_cgroup(read_text(root / "proc/1/cgroup") or ""), "/proc/1/cgroup"


def parse_cgroup(text: str) -> str | None:
    """Parse the container of /proc/1/cgroup, such as `12:pids:/docker/0a1b...`; None outside of one."""
    return next((name for word, name in _CGROUP_WORDS if word in text), None)
