"""What `gpuenv list` says of an environment beside its plan: size, age, last use, what its proof is of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from gpuenv.environments.contents.last_use import last_used
from gpuenv.environments.contents.size import environment_size
from gpuenv.environments.listing import Environment
from gpuenv.i18n.messages import tr
from gpuenv.operations.proof_age import outdated_proof
from gpuenv.process.surroundings import cache_root

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def list_facts(environment: Environment, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return them as data of `gpuenv list`: bytes, UTC in ISO 8601; None where nothing tells.

    `outdated` says why the environment has to be verified anew, and how.
    """
    paths, record = environment.paths, environment.record
    used, proof = last_used(paths.path), record.proof or {}
    gpus = proof.get("gpus")
    return {
        "size": environment_size(paths, cache_root(environ)),
        "created": record.created or None,
        "last_used": used.isoformat(timespec="seconds") if used else None,
        "verified_at": _text(proof.get("at")),
        "verified_driver": _text(proof.get("driver")),
        "verified_gpus": [gpu for gpu in gpus if isinstance(gpu, str)] if isinstance(gpus, list) else [],
        "outdated": outdated_proof(record, paths.name),
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def ago(moment: object, now: datetime | None = None) -> str | None:
    """Return how long ago a moment in ISO 8601 was, in its largest unit; None for anything else."""
    try:
        then = datetime.fromisoformat(moment) if isinstance(moment, str) else None
    except ValueError:
        return None
    if then is None or then.tzinfo is None:
        return None
    seconds = max(0, int(((now or datetime.now(timezone.utc)) - then).total_seconds()))
    if seconds < _MINUTE:
        return tr("just now")
    if seconds < _HOUR:
        return tr("{count} min ago", count=seconds // _MINUTE)
    if seconds < _DAY:
        return tr("{count} h ago", count=seconds // _HOUR)
    return tr("{count} d ago", count=seconds // _DAY)
