"""Environments that fake conda tools make, as the transcript of a dry run plans them."""

from __future__ import annotations

from pathlib import Path

from fake_conda import FakeConda, Transcript, a_wanted, fake_conda, planned

from gpuenv.environments.conda.create import CondaRunning, create_environment
from gpuenv.installers.conda.check_solution import Tool
from gpuenv.installers.conda.solve import Solved
from gpuenv.installers.conda.tool import CondaTool
from gpuenv.model.conda import CondaRecord

PLAN = "mm-dry-json"
SUCCESS = Transcript(0, '{"success": true}', "")


def solved(prefix: Path, fetch: tuple[CondaRecord, ...] = ()) -> Solved:
    return Solved(a_wanted(prefix), planned(PLAN, "micromamba"), fetch)


def make(fake: FakeConda, running: CondaRunning, plan: Solved) -> None:
    create_environment(CondaTool(fake.tool, str(fake.program)), plan, running, "linux")


def a_tool(tmp_path: Path, tool: Tool = "micromamba", answer: str | Transcript = SUCCESS) -> FakeConda:
    return fake_conda(tmp_path / "bin", tool).answers("make", answer)
