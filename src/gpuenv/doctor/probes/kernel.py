"""What the Linux kernel tells of NVIDIA's driver: its modules, why they are not loaded, its libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuenv.host.executables import find_executable, read_text
from gpuenv.model.findings import KernelFindings
from gpuenv.process import subprocesses as process

_GRAPHICS = re.compile(r"^(nvidia\w*|nouveau|amdgpu|vfio_pci)\s", re.MULTILINE)
_BLACKLIST = re.compile(
    r"^\s*(?:blacklist\s+nvidia\s*$|install\s+nvidia\s+/bin/(?:false|true))", re.MULTILINE
)
_MODULE_PLACES = (
    "updates", "updates/dkms", "extra", "extra/nvidia", "kernel/drivers/video", "kernel/drivers/video/nvidia",
    "kernel/nvidia", "misc", "weak-updates/nvidia",
)  # fmt: skip
_LIBRARY_PLACES = (
    "usr/lib/wsl/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib",
    "lib/x86_64-linux-gnu", "lib64", "usr/lib64/nvidia", "usr/local/nvidia/lib64", "usr/lib/nvidia",
    "run/opengl-driver/lib", "usr/lib/x86_64-linux-gnu/nvidia/current", "usr/lib/aarch64-linux-gnu/tegra",
    "usr/lib/aarch64-linux-gnu/nvidia",
)  # fmt: skip
_SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"  # UEFI's global variables
_MESSAGE = re.compile(r"NVRM|nvidia|nouveau|Key was rejected|unsigned module", re.IGNORECASE)
_KEPT_MESSAGES = 60
_LONGEST = 300
_LIMIT_S = 3.0
_MOST_PROCESSES = 5000


def read_kernel(root: Path, environ: Mapping[str, str], *, messages: bool) -> KernelFindings:
    """Read what the kernel tells; its messages, which may take a call of dmesg, only where asked for."""
    release = (read_text(root / "proc/sys/kernel/osrelease") or "").strip() or None
    driver = (read_text(root / "proc/driver/nvidia/version") or "").strip().splitlines()
    suspended = (read_text(root / "sys/power/suspend_stats/success") or "").strip()
    return KernelFindings(
        release=release,
        modules=parse_modules(read_text(root / "proc/modules", 1 << 20) or ""),
        nvidia=driver[0][:_LONGEST] if driver else None,
        built=_is_built(root, release),
        built_for=tuple(name for name in _kernels(root) if name != release and _is_built(root, name)),
        blacklists=tuple(_blacklists(root)),
        secure_boot=_secure_boot(root),
        libraries=driver_libraries(root),
        messages=_messages(environ) if messages else (),
        suspended=int(suspended) if suspended.isascii() and suspended.isdigit() else 0,
        fabric_manager=_has_process(root, "nv-fabricmanage"),
    )


def parse_modules(text: str) -> tuple[str, ...]:
    """Return the modules of graphics drivers that /proc/modules names.

    Sample: `nvidia_uvm 1437696 0 - Live 0x0000000000000000 (POE)`
    """
    return tuple(match[1] for match in _GRAPHICS.finditer(text))


def _kernels(root: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in (root / "lib/modules").iterdir())[:50])
    except OSError:
        return ()


def _is_built(root: Path, release: str | None) -> bool | None:
    """Tell whether a kernel has an nvidia module on disk; None where it has no folder at all."""
    folder = root / "lib/modules" / (release or "-")
    try:
        if release is None or not folder.is_dir():
            return None
        places = (folder / module_place for module_place in _MODULE_PLACES)
        return any(next(path.glob("nvidia*.ko*"), None) is not None for path in places if path.is_dir())
    except OSError:
        return None


def _blacklists(root: Path) -> Iterator[str]:
    for folder in ("etc/modprobe.d", "lib/modprobe.d", "usr/lib/modprobe.d"):
        try:
            files = sorted((root / folder).glob("*.conf"))[:200]
        except OSError:
            continue
        for file in files:
            if _BLACKLIST.search(read_text(file) or ""):
                yield f"/{folder}/{file.name}"


def _secure_boot(root: Path) -> bool | None:
    try:
        with (root / "sys/firmware/efi/efivars" / _SECURE_BOOT).open("rb") as file:
            value = file.read(5)
    except OSError:
        return None
    return value[4] == 1 if len(value) == 5 else None  # noqa: PLR2004 - four bytes of attributes, then the value


def driver_libraries(root: Path) -> tuple[str, ...]:
    """Return the driver's libcuda files in the usual places, the most exactly named first."""
    fields: dict[str, None] = {}
    for library_place in _LIBRARY_PLACES:
        try:
            files = (root / library_place).glob("libcuda.so.*")
            names = sorted((file.name for file in files), key=len, reverse=True)
        except OSError:
            continue
        if names:
            real = os.path.realpath(root / library_place)
            if real not in fields:
                fields[real] = None
                fields |= dict.fromkeys(f"/{library_place}/{name}" for name in names[:4])
    return tuple(path for path in fields if "libcuda.so" in path)


def _messages(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the kernel said of the driver last; often only an administrator may read it."""
    dmesg = find_executable("dmesg", environ)
    if dmesg is None:
        return ()
    done = process.run([str(dmesg)], timeout_s=_LIMIT_S, environ=environ)
    lines = [line[:_LONGEST] for line in done.stdout.splitlines() if _MESSAGE.search(line[:_LONGEST])]
    return tuple(lines[-_KEPT_MESSAGES:])


def _has_process(root: Path, name: str) -> bool | None:
    """Tell whether a process of that (cut) name runs; None where processes can't be listed."""
    try:
        numbers = [entry for entry in os.listdir(root / "proc") if entry.isdigit()][:_MOST_PROCESSES]  # noqa: PTH208
    except OSError:
        return None
    if not numbers:
        return None
    return any((read_text(root / "proc" / number / "comm", 64) or "").strip() == name for number in numbers)
