"""Is the proof of an environment still of this machine's driver and GPUs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuenv.i18n.messages import tr


@dataclass(frozen=True, slots=True)
class DriverFacts:
    """What the kernel's NVIDIA driver tells without a process; `version` is None where none is loaded."""

    version: str | None
    gpus: tuple[str, ...]


def render_proof(at: str, facts: DriverFacts) -> dict[str, Any]:
    """Render when and on what an environment was verified, as `proof` of gpuenv.json."""
    return {"at": at, "driver": facts.version, "gpus": list(facts.gpus)}


def parse_proof(data: object) -> DriverFacts | None:
    """Read on what an environment was verified; None for anything but what gpuenv writes.

    {"at": "2026-11-22T10:00:00+00:00", "driver": "570.133.07", "gpus": ["NVIDIA L4"]}
    """
    if not isinstance(data, dict):
        return None
    version, gpus = data.get("driver"), data.get("gpus")
    if not (version is None or isinstance(version, str)) or not isinstance(gpus, list):
        return None
    return DriverFacts(version, tuple(gpu for gpu in gpus if isinstance(gpu, str)))


def machine_driver_facts(machine: object) -> DriverFacts | None:
    """Return the same from `detect`'s data of the machine that was planned for; None where it tells nothing.

    A machine that was described by options is none that anything was proven on.
    """
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
    """Say what is another driver or GPU than at the proof; None where nothing is, or where nothing tells.

    Without a driver in the kernel nothing does: under WSL2 it is Windows', and a node on which one only logs
    in may have none. Fewer GPUs of the same models are no other hardware.
    """
    if now.version is None:
        return None
    if proven.version is None:
        if proven.gpus or not now.gpus:
            return None
        now_gpus = _names(now.gpus)
        return tr(
            "`{name}` was verified on a machine without an NVIDIA GPU; this machine has {now}",
            name=name,
            now=now_gpus,
        )
    if proven.version != now.version:
        return tr(
            "`{name}` was verified with driver {before}; this machine has driver {now}",
            name=name,
            before=proven.version,
            now=now.version,
        )
    known = {_model(gpu) for gpu in proven.gpus}
    others = tuple(gpu for gpu in now.gpus if _model(gpu) not in known)
    if known and others:
        return tr(
            "`{name}` was verified on {before}; this machine has {now}",
            name=name,
            before=_names(proven.gpus),
            now=_names(others),
        )
    return None


def _model(name: str) -> str:
    """Return a GPU's name without the maker's: drivers before 470 left it out in some places."""
    return name.removeprefix("NVIDIA ").strip().casefold()


def _names(gpus: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(gpus))
