"""The environment.yml of a plan, given to the conda tools that are on PATH; skipped where there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conda_channel import write_channel
from conda_deciding import plan_of_channel
from conda_world import make_world
from deciding import gpu_machine

from gpuenv.formats.environment_yml import render_environment

pytestmark = pytest.mark.slow

CALLS = {
    "conda": ("env", "create", "--dry-run", "--file"),
    "mamba": ("create", "--yes", "--dry-run", "--file"),
    "micromamba": ("create", "--yes", "--dry-run", "--file"),
}
H100 = gpu_machine("580.65.06", "NVIDIA H100")
PLAN = plan_of_channel("conda-forge", H100, "torch")


@pytest.fixture(scope="module")
def condarc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration that leads to local channels which have the torch of the plan."""
    root = tmp_path_factory.mktemp("channels")
    world = make_world(keep=lambda row: row["torch"] == PLAN.packages[0].version, subdirs=("linux-64",))
    for name, packages in world.items():
        write_channel(root / name, packages, ("repodata.json",))
    file = root / "condarc.yml"
    file.write_text(f"channel_alias: {root.as_uri()}\nchannels: [conda-forge]\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("tool", CALLS)
def test_the_tool_reads_the_file_and_solves_it_to_the_planned_torch(
    tool: str, condarc: Path, tmp_path: Path
) -> None:
    program = shutil.which(tool)
    if program is None:
        pytest.skip(f"{tool} is not on PATH")
    file = tmp_path / "environment.yml"
    file.write_text(render_environment(PLAN), encoding="utf-8")
    done = subprocess.run(
        (program, *CALLS[tool], str(file), "--prefix", str(tmp_path / "made")),
        env={**os.environ, "CONDARC": str(condarc), "CONDA_OVERRIDE_CUDA": "13.0", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert "nodefaults" not in done.stdout + done.stderr
    solved = rf"pytorch[-\s]+{re.escape(PLAN.packages[0].version)}[-\s]+cuda"  # micromamba prints a table
    assert re.search(solved, done.stdout), done.stdout + done.stderr
