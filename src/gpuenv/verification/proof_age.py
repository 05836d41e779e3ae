"""Whether an environment was verified with the driver and GPUs that this machine has now."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from gpuenv.i18n.messages import tr


class DriverFacts(Struct, frozen=True):
    """The loaded NVIDIA driver and its GPUs, read without a process; `version` is None without a driver."""

    version: str | None
    gpus: tuple[str, ...]


def render_proof(at: str, facts: DriverFacts) -> dict[str, Any]:
    """Render when and with what an environment was verified, as `proof` of gpuenv.json."""
    return {"at": at, "driver": facts.version, "gpus": list(facts.gpus)}


def parse_proof(data: object) -> DriverFacts | None:
    """Parse `proof` of gpuenv.json; None if it is invalid.

    {"at": "2026-11-22T10:00:00+00:00", "driver": "570.133.07", "gpus": ["NVIDIA L4"]}
    """
    if not isinstance(data, dict):
        return None
    version, gpus = data.get("driver"), data.get("gpus")
    if not (version is None or isinstance(version, str)) or not isinstance(gpus, list):
        return None
    return DriverFacts(version, tuple(gpu for gpu in gpus if isinstance(gpu, str)))


def machine_driver_facts(machine: object) -> DriverFacts | None:
    """Return the same from the planned machine as `detect --json` shows it; None if it is not a real one."""
    if not isinstance(machine, dict):
        return None
    facts, driver, gpus = machine.get("facts"), machine.get("driver"), machine.get("gpus")
    sources = facts.values() if isinstance(facts, dict) else ()
    if not isinstance(gpus, list) or any("option --" in str(source) for source in sources):
        return None
    names = tuple(str(gpu["name"]) for gpu in gpus if isinstance(gpu, dict) and gpu.get("name"))
    version = driver.get("version") if isinstance(driver, dict) else None
    return DriverFacts(version if isinstance(version, str) else None, names)


def change_since_proof(proven: DriverFacts, now: DriverFacts, name: str) -> str | None:
    """Say which driver or GPU is new since the verification; None where none is, or that is unknown.

    Without a driver in the kernel it is unknown: under WSL2 the driver is Windows', and a login node may have
    none. Fewer GPUs of the same models are not a change.
    """
    if now.version is None or (proven.version is None and (proven.gpus or not now.gpus)):
        return None
    if proven.version is None:
        facts = {"name": name, "now": _names(now.gpus)}
        return tr("`{name}` was verified on a machine without an NVIDIA GPU; this machine has {now}", **facts)
    if proven.version != now.version:
        facts = {"name": name, "before": proven.version, "now": now.version}
        return tr("`{name}` was verified with driver {before}; this machine has driver {now}", **facts)
    known = {_model(gpu) for gpu in proven.gpus}
    others = tuple(gpu for gpu in now.gpus if _model(gpu) not in known)
    if known and others:
        facts = {"name": name, "before": _names(proven.gpus), "now": _names(others)}
        return tr("`{name}` was verified on {before}; this machine has {now}", **facts)
    return None


def _model(name: str) -> str:
    """Return a GPU's name without the vendor, which drivers before 470 left out in places."""
    return name.removeprefix("NVIDIA ").strip().casefold()


def _names(gpus: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(gpus))
