"""Where a text is from, in a few words each: its system, its card's maker, whether it was started anew."""

from __future__ import annotations

from collections.abc import Mapping

from gpuenv.signatures.lazy_regex import LazyRegex

WINDOWS = LazyRegex(r"(?i)windows|^win|^\[MSC v")
MAC = LazyRegex(r"(?i)macos|darwin")
_LINUX = LazyRegex(r"(?i)linux|ubuntu|debian|fedora|centos|red hat|arch\b")
_CONTAINERS = ("docker", "podman", "kubernetes", "apptainer")


def circumstances(values: Mapping[str, str]) -> dict[str, str]:
    """Return `system` (windows, linux, wsl, macos), `vendor`, `rooms`, as far as a text settles them.

    What it says two things of, as who copies files from one system to another, is left out.
    """
    system = _system(values)
    vendor = _vendor(values)
    rooms = " ".join(name for name in _CONTAINERS if name in values)
    found = {"system": system, "vendor": vendor, "container": rooms}
    return {name: value for name, value in found.items() if value}


def _system(values: Mapping[str, str]) -> str:
    if "wsl" in values or "wsl_one" in values:
        return "wsl"
    platform = values.get("platform", "")
    said = {
        name
        for name, regex in (("windows", WINDOWS), ("macos", MAC), ("linux", _LINUX))
        if regex.pattern.search(platform)
    }
    if len(said) == 1:
        return said.pop()
    by_paths = {
        name
        for name, facts in (
            ("windows", ("windows_path",)),
            ("macos", ("mac_path", "apple_chip")),
            ("linux", ("linux_path", "ubuntu", "fedora", "debian", "slurm")),
        )
        if any(fact in values for fact in facts)
    }
    return by_paths.pop() if len(by_paths) == 1 else ""


def _vendor(values: Mapping[str, str]) -> str:
    makers = {
        maker
        for maker, facts in (
            ("nvidia", ("gpus", "driver")),
            ("amd", ("rocm", "gfx", "radeon")),
            ("intel", ("intel_gpu",)),
            ("apple", ("apple_chip", "mac_path")),
            ("huawei", ("ascend",)),
        )
        if any(fact in values for fact in facts)
    }
    return makers.pop() if len(makers) == 1 else ""
