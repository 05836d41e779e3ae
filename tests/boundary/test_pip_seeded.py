"""An environment gets a whole pip or none."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest

from gpuenv.environments.contents.seed_pip import seed_pip
from gpuenv.installers import uv
from gpuenv.model.plan import Sources

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the fake is a shell script")
# writes a part of pip into the environment and breaks off, as on a disk that fills
BREAKS_OFF = """#!/bin/sh
/bin/mkdir -p {packages}/pip {packages}/pip-1.dist-info
: > {packages}/pip/__init__.py
: > {packages}/../../../bin/pip
exit 2
"""


def test_an_installation_that_breaks_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "env"
    venv.create(root)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    packages = root / "lib" / f"python{version}" / "site-packages"
    fake = tmp_path / "uv"
    fake.write_text(BREAKS_OFF.format(packages=packages))
    fake.chmod(0o755)
    monkeypatch.setenv("GPUENV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(uv, "find", lambda: str(fake))
    sources = Sources("http://127.0.0.1:1/simple", (), ())
    assert not seed_pip(root, version, sources, {"PATH": str(tmp_path)})
    assert [*root.glob("bin/pip*"), *packages.glob("pip*")] == []
