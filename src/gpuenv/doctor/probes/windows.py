"""What only Windows has: the VC++ runtime, long paths, media features."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from gpuenv.host.executables import is_there
from gpuenv.model.findings import WindowsFacts

_RUNTIME = ("vcruntime140_1.dll", "msvcp140.dll")
_FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"
_RUNTIME_KEY = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"


def read_windows(environ: Mapping[str, str]) -> WindowsFacts:
    """Read them from the system's folder and the registry; None for what is not told."""
    system = Path(environ.get("SYSTEMROOT") or r"C:\Windows", "System32")
    there = all(is_there(system / name) for name in _RUNTIME)
    version = _registry(_RUNTIME_KEY, "Version")
    long_paths = _registry(_FILE_SYSTEM, "LongPathsEnabled")
    return WindowsFacts(
        runtime=str(version or "?") if there else None,
        long_paths=None if long_paths is None else bool(long_paths),
        media_pack=is_there(system / "mfplat.dll"),
    )


def _registry(key: str, name: str) -> object:
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415 - Windows only

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            value: object = winreg.QueryValueEx(opened, name)[0]
            return value
    except OSError:
        return None
