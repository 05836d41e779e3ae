"""A change within an environment is done whole or undone whole, wherever it is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import every

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(os.name == "nt", reason="it forks")


@pytest.mark.slow
@pytest.mark.parametrize("end", every(2, ("keep", "undo")))
def test_a_kill_before_any_change_to_the_disk_leaves_what_was_there_or_all_that_is_new(
    tmp_path: Path, end: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "crashing_in_place.py"), str(tmp_path), end],
        env={"PYTHONPATH": os.pathsep.join((str(HERE), *sys.path)), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 30
