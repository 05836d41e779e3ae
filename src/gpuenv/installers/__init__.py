"""uv, pip and the conda tools: steps as data, resolving, Pythons on offer."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from gpuenv.i18n.messages import series, tr
from gpuenv.installers.protocol import CondaManager, InstallRequest, Manager
from gpuenv.model.errors import Fix, UsageError

__all__ = [
    "CONDA_MANAGERS",
    "EMBEDDED",
    "MANAGERS",
    "WHEEL_MANAGERS",
    "CondaManager",
    "InstallRequest",
    "Manager",
    "get_conda_manager",
    "get_manager",
]

WHEEL_MANAGERS = ("uv", "pip")
EMBEDDED = "rattler"  # makes conda environments without any conda tool
CONDA_MANAGERS = ("conda", "mamba", "micromamba", EMBEDDED)
MANAGERS = (*WHEEL_MANAGERS, *CONDA_MANAGERS)


def get_manager(name: str) -> Manager:
    """Return the manager of wheels called `name`; raise UsageError for any other."""
    _check(name, WHEEL_MANAGERS)
    return cast("Manager", import_module(f"gpuenv.installers.{name}"))


def get_conda_manager(name: str) -> CondaManager:
    """Return the manager of conda packages called `name`; raise UsageError for any other."""
    _check(name, CONDA_MANAGERS)
    if name == EMBEDDED:
        return cast("CondaManager", import_module(f"gpuenv.installers.{name}"))
    from gpuenv.installers.conda.commands import ToolManager  # noqa: PLC0415 - for conda alone

    return ToolManager(name)


def _check(name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UsageError(
            tr("`{name}` is not a known installer", name=name),
            code="unknown-manager",
            fixes=(Fix(tr("choose one of {names}", names=series(MANAGERS))),),
        )
