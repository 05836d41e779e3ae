"""Cloning and renaming: killed at any point it leaves environments that are whole, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(os.name != "posix", reason="environments hold their path on Windows")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["clone", "rename", "elsewhere"])
def test_a_kill_before_any_change_to_the_disk_leaves_whole_environments(
    tmp_path: Path, scenario: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "crashing_moved.py"), str(tmp_path), scenario],
        env={"PYTHONPATH": os.pathsep.join((str(HERE), *sys.path)), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 20
