"""Environments that are installed whole and not verified: what ended their proof was Ctrl-C or a kill."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from gpuenv.environments import transaction as apply
from gpuenv.environments.file_lock import locked
from gpuenv.environments.listing import Environment, find_environment
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, ProofInterrupted
from gpuenv.model.machine import Machine
from gpuenv.operations.verify import VerifyResult, verify
from gpuenv.operations.verify_created import only_devices
from gpuenv.verification.locate import locate


def find_unproven(name: str, request: str, environ: Mapping[str, str]) -> Environment | None:
    """Return the environment of that name if it was made for this very request and never verified."""
    environment = find_environment(name, environ)
    if environment is None or apply.is_pending(environment.place):
        return None
    return (
        environment if environment.record.verified is None and environment.record.request == request else None
    )


def python_of(unproven: Environment, environ: Mapping[str, str]) -> Path:
    """Return the environment's Python; raise UsageError where it is gone."""
    return locate(str(unproven.place.path), environ, lambda _: None).python


def prove_again(
    unproven: Environment, environ: Mapping[str, str], machine: Machine, devices: tuple[int, ...]
) -> VerifyResult:
    """Verify it on these GPUs as nvidia-smi counts (none: on all), and record the result.

    Raises ProofInterrupted on Ctrl-C, UsageError where its Python is gone or another gpuenv is at work on it.
    """
    environment, python = unproven.place, python_of(unproven, environ)
    chosen = tuple(gpu for gpu in machine.gpus if gpu.index in devices)
    try:
        with locked(environment):
            return verify(str(python), only_devices(environ, chosen), machine=machine)
    except KeyboardInterrupt:
        raise proof_interrupted(environment.name, environment.path, python) from None


def proof_interrupted(name: str, path: Path, python: Path) -> ProofInterrupted:
    """Say that an environment stays, and how its verification is made up for."""
    command = f"gpuenv verify {shlex.quote(name)}"
    return ProofInterrupted(
        tr("installed, not verified: `{command}`", command=command),
        code="interrupted",
        fixes=(Fix(tr("verify it"), command),),
        data={"environment": {"name": name, "path": str(path), "python": str(python)}, "verify": None},
    )
