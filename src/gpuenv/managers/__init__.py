"""The managers: who makes environments and installs into them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from gpuenv.managers.manager import Manager, Wanted
from gpuenv.values.errors import Fix, UsageError
from gpuenv.values.text import tr

__all__ = ["MANAGERS", "Manager", "Wanted", "get_manager"]

MANAGERS = ("uv", "pip")


def get_manager(name: str) -> Manager:
    """Return the manager called `name`; raise UsageError for any other."""
    if name not in MANAGERS:
        raise UsageError(
            tr("`{name}` is no manager that gpuenv knows", name=name),
            code="unknown-manager",
            fixes=(Fix(tr("choose one of {names}", names=", ".join(MANAGERS))),),
        )
    return cast("Manager", import_module(f"gpuenv.managers.{name}"))
