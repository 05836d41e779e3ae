"""`gpuenv info`: what a bug report needs, of this machine, of gpuenv and of an environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from gpuenv import __version__
from gpuenv.environments.store import find_store
from gpuenv.inspection.list_facts import list_facts
from gpuenv.model.errors import UsageError
from gpuenv.model.machine_json import render_machine
from gpuenv.on_disk.installed import installed_versions
from gpuenv.operations.find import existing, render_environment
from gpuenv.planning.detect import detect
from gpuenv.process.surroundings import cache_root
from gpuenv.secrets.redact import redact_data

_COUNTING = ("GPUENV_", "PIP_", "UV_", "CONDA_", "MAMBA_", "CUDA_", "NVIDIA_", "PYTHON", "VIRTUAL_ENV", "LD_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_SECRET = ("TOKEN", "PASSWORD", "SECRET", "KEY", "CREDENTIAL", "USERNAME")
_HIDDEN = "****"


def info(name: str | None, environ: Mapping[str, str]) -> Any:
    """Return the data of `gpuenv info`, redact_data; raise UsageError for an unknown environment."""
    environment = existing(name, environ) if name is not None else None
    counting = (key for key in sorted(environ) if key.startswith(_COUNTING) or key.lower() in _PROXIES)
    facts: dict[str, Any] = {
        "gpuenv": __version__,
        "python": sys.version.split()[0],
        "installed_in": sys.prefix,
        "machine": render_machine(detect(environ)),
        "data_dir": _data_dir(environ),
        "cache_dir": str(cache_root(environ)),
        "variables": {name: _value(name, environ[name]) for name in counting},
        "environment": None,
    }
    if environment is not None:
        versions = installed_versions(environment.paths.path)
        facts["environment"] = {
            **render_environment(environment),
            **list_facts(environment, environ),
            "packages": dict(sorted(versions.items())),
            "verify": environment.record.verify,
        }
    homes = tuple({environ.get("HOME", ""), environ.get("USERPROFILE", ""), os.path.expanduser("~")})  # noqa: PTH111
    return redact_data(facts, homes, environ.get("USER") or environ.get("USERNAME") or environ.get("LOGNAME"))


def _data_dir(environ: Mapping[str, str]) -> str | None:
    try:
        return str(find_store(environ).root)
    except UsageError:  # no home
        return None


def _value(name: str, value: str) -> str:
    if any(word in name.upper() for word in _SECRET):
        return _HIDDEN
    is_bare = name.upper().endswith("PROXY") and "://" not in value  # `ada:secret@proxy.example:3128`
    return f"{_HIDDEN}@{value.rpartition('@')[2]}" if is_bare and "@" in value else value
