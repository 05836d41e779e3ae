"""An environment gets a whole pip or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuenv.managers import uv

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
SEED = """
import resource, signal, sys
from pathlib import Path
from gpuenv.environments.seed_pip import seed_pip
from gpuenv.values.plan import Sources
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
print(seed_pip(Path(sys.argv[1]), sys.argv[3], Sources("http://127.0.0.1:1/simple", (), ()), {}))
"""


@pytest.mark.parametrize(("size", "whole"), [(20 << 10, False), (64 << 20, True)])
def test_what_can_t_be_written_whole_leaves_nothing(tmp_path: Path, size: int, whole: bool) -> None:
    environ = {
        **os.environ,
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
    }
    root = tmp_path / "env"
    argv = [uv.find(), "venv", "-q", "--no-config", "--python", sys.executable, root]
    subprocess.run(argv, env=environ, check=True)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    done = subprocess.run(
        [sys.executable, "-c", SEED, root, str(size), version],
        env=environ, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"{whole}\n", "")
    left = [*root.glob("bin/pip*"), *root.glob("lib/*/site-packages/pip*")]
    assert bool(left) is whole
