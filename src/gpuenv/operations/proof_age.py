"""Notice, without a process, that an environment was verified with another driver or on other GPUs."""

from __future__ import annotations

import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuenv.environments.record import Record
from gpuenv.i18n.messages import tr
from gpuenv.verification.proof_age import (
    DriverFacts,
    change_since_proof,
    machine_driver_facts,
    parse_proof,
    render_proof,
)

_ROOT = Path("/")


def outdated_proof(record: Record, name: str, root: Path = _ROOT) -> str | None:
    """Return why `name` should be verified again, with the command; None where nothing has changed.

    Only a few files of the kernel's are read, so that every command can call this.
    """
    if record.verified is None:
        return None
    proven = parse_proof(record.proof) or machine_driver_facts(record.machine)
    change = change_since_proof(proven, read_driver_facts(root), name) if proven else None
    return tr("{change}: `gpuenv verify {name}`", change=change, name=shlex.quote(name)) if change else None


def proven(record: Record, data: dict[str, Any] | None, *, ok: bool, root: Path = _ROOT) -> Record:
    """Return the record of an environment that was verified just now (`data`), with when and on what."""
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return replace(record, verify=data, verified=ok, proof=render_proof(at, read_driver_facts(root)))


def read_driver_facts(root: Path = _ROOT) -> DriverFacts:
    """Read the version and GPUs of the kernel's driver."""
    if not (root / "proc/driver/nvidia/version").exists():
        return DriverFacts(None, ())
    from gpuenv.host.nvidia.proc_driver import read_proc_driver  # noqa: PLC0415 - only where there is a driver

    reading = read_proc_driver(root)
    if reading is None:
        return DriverFacts(None, ())
    version = str(reading.driver) if reading.driver else None
    return DriverFacts(version, tuple(gpu.name for gpu in reading.gpus if gpu.name))
