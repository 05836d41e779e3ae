"""The environment that the markers of requirements are evaluated in: the target's, never this process'."""

from __future__ import annotations

from gpuenv.model.wheel import Platform

_SYSTEMS: dict[Platform, tuple[str, str, str, str]] = {
    "linux-64": ("posix", "linux", "Linux", "x86_64"),
    "linux-aarch64": ("posix", "linux", "Linux", "aarch64"),
    "win-64": ("nt", "win32", "Windows", "AMD64"),
    "osx-arm64": ("posix", "darwin", "Darwin", "arm64"),
    "osx-64": ("posix", "darwin", "Darwin", "x86_64"),
}


def marker_environment(platform: Platform, python: str) -> dict[str, str]:
    """Return every variable that a marker can name; `python` is MAJOR.MINOR.PATCH.

    https://packaging.python.org/en/latest/specifications/dependency-specifiers/#environment-markers
    """
    os_name, sys_platform, system, machine = _SYSTEMS[platform]
    return {
        "os_name": os_name,
        "sys_platform": sys_platform,
        "platform_system": system,
        "platform_machine": machine,
        "platform_release": "",
        "platform_version": "",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "implementation_version": python,
        "python_full_version": python,
        "python_version": ".".join(python.split(".")[:2]),
        "extra": "",
    }


def platform_marker(platform: Platform) -> str:
    """Return the marker that holds on a platform with CPython, and nowhere else."""
    there = marker_environment(platform, "3.0.0")
    names = ("sys_platform", "platform_machine", "implementation_name")
    return " and ".join(f"{name} == '{there[name]}'" for name in names)
