"""Environments that are installed completely but not verified, after Ctrl-C or a kill."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gpuenv.environments.listing import Environment, find_environment
from gpuenv.environments.pending import is_pending
from gpuenv.files.read_limited import read_limited
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, ProofInterrupted
from gpuenv.planning.options import PlanOptions
from gpuenv.secrets.url_credentials import redact_credentials

if TYPE_CHECKING:
    from gpuenv.model.machine import Machine
    from gpuenv.operations.verify import VerifyResult


def find_unproven(name: str, request: str, environ: Mapping[str, str]) -> Environment | None:
    """Return the environment of that name if it was made for this very request and never verified."""
    environment = find_environment(name, environ)
    if environment is None or is_pending(environment.paths):
        return None
    record = environment.record
    return environment if record.verified is None and record.request == request else None


def prove_again(
    unproven: Environment, environ: Mapping[str, str], machine: Machine, devices: tuple[int, ...]
) -> VerifyResult:
    """Verify it on these GPUs as nvidia-smi counts (none: on all), and record the result.

    Raises ProofInterrupted on Ctrl-C, UsageError where its Python is gone or another gpuenv is at work on it.
    """
    from gpuenv.environments.file_lock import locked  # noqa: PLC0415 - after an interruption alone
    from gpuenv.operations.verify import only_devices, verify  # noqa: PLC0415
    from gpuenv.verification.locate import locate  # noqa: PLC0415

    environment = unproven.paths
    python = locate(str(environment.path), environ, lambda _: None).python
    try:
        with locked(environment):
            return verify(str(python), only_devices(environ, machine, devices), machine=machine)
    except KeyboardInterrupt:
        raise proof_interrupted(environment.name, environment.path, python) from None


def proof_interrupted(name: str, path: Path, python: Path) -> ProofInterrupted:
    """Return the error that the environment is kept, and how to verify it."""
    command = f"gpuenv verify {shlex.quote(name)}"
    return ProofInterrupted(
        tr("installed, not verified: `{command}`", command=command),
        code="interrupted",
        fixes=(Fix(tr("verify it"), command),),
        data={"environment": {"name": name, "path": str(path), "python": str(python)}, "verify": None},
    )


_LARGEST = 64 << 20  # bytes


def request_digest(options: PlanOptions) -> str:
    """Return a digest of the requirements, the options as typed and the content of the files they name."""
    files = (*options.requirement_files, options.environment_file, options.from_lock)
    request = {
        "requirements": options.requirements,
        "options": options.as_typed,
        "files": [_content(file) for file in files if file is not None],
    }
    return sha256(redact_credentials(json.dumps(request)).encode()).hexdigest()


def _content(file: Path) -> tuple[str, str | None]:
    """Return a file's name and digest; None where it cannot be read, which planning reports."""
    try:
        return str(file), sha256(read_limited(file, _LARGEST, patient=True)).hexdigest()
    except (OSError, ValueError):
        return str(file), None
