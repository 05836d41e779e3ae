"""The mamba manager: `mamba create`, after a dry run that gave what was planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpuenv.core.conda_plan import Tool
from gpuenv.managers import conda_calls, conda_solve, conda_tool
from gpuenv.managers.conda_tool import Calling, CondaTool
from gpuenv.values.conda import CondaRecord, CondaWanted
from gpuenv.values.plan import Step

NAME: Final[Tool] = "mamba"


def steps(wanted: CondaWanted) -> tuple[Step, ...]:
    """Return the command that, pasted into a shell, does what `create` does."""
    return conda_calls.steps(NAME, wanted)


def find(environ: Mapping[str, str]) -> CondaTool:
    """Return where it is; raise UsageError where it is not there."""
    return conda_tool.find(NAME, environ)


def executables() -> Mapping[str, str]:
    """Return where `mamba` of the steps is."""
    return conda_tool.executables(NAME)


def environment(wanted: CondaWanted, calling: Calling) -> dict[str, str]:
    """Return the variables to run it with; writes the condarc that they name."""
    return conda_tool.run_variables(wanted, calling)


def solve(wanted: CondaWanted, calling: Calling, found: CondaTool | None = None) -> tuple[CondaRecord, ...]:
    """Return the packages it would install, which hold to the pins; see `conda_solve.solve_somewhere`."""
    return conda_solve.solve_somewhere(found or find(calling.environ), wanted, calling).records
