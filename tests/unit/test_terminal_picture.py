"""The pictures of the READMEs show what gpuenv prints."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow  # six starts of gpuenv


def test_the_pictures_are_what_gpuenv_prints_now() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "terminal_picture.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
