"""What processes an environment is made by, where the machine has no uv: who looks sees no password."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gpuenv.node.making import CreateRequest, NodeCreation
from gpuenv.node.problems import NodeError
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the nodes are POSIX systems")
INDEX = "--index-url https://me:s3cret@example.com/simple"
# An old pip, as Python 3.8 may bring: it notes how it was called, and what was in the file it was given.
PYTHON = """#!/bin/sh
echo "$*" >>"{notes}"
case "$*" in
    "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    *--version) echo "pip 19.0 from /nowhere" ;;
    *) for last; do :; done; cat "$last" >>"{files}"; stat -c %a "$last" >>"{modes}"; {ending} ;;
esac
"""


def make(folder: Path, ending: str = "") -> EnvironmentPaths:
    environment = EnvironmentPaths(
        EnvironmentStore(folder / "data"), "paper", folder / "data" / "envs" / "paper"
    )
    Path(environment.path).mkdir(parents=True)
    python = folder / "python"
    places = {name: folder / name for name in ("notes", "files", "modes")}
    python.write_text(PYTHON.format(ending=ending, **places), encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    wanted = CreateRequest(
        python="3.8", requirements=f"{INDEX}\ntorch==2.4.1\n", hashed=False, fingerprint="",
        names=("torch",), size=0, record={"plan": {}}, force=False,
    )  # fmt: skip
    environ = {"PATH": os.defpath}
    NodeCreation(wanted, environment, environ, ()).make(str(python), lambda: None)
    return environment


def test_an_old_pip_is_renewed_from_the_same_index_and_its_password_is_on_no_command_line(
    tmp_path: Path,
) -> None:
    environment = make(tmp_path)
    calls = (tmp_path / "notes").read_text(encoding="utf-8")
    assert ["--upgrade" in line for line in calls.splitlines() if "install" in line] == [True, False]
    assert "s3cret" not in calls
    read = (tmp_path / "files").read_text(encoding="utf-8")
    assert read.split("\n") == [INDEX, "pip", INDEX, "torch==2.4.1", ""]
    assert set((tmp_path / "modes").read_text(encoding="utf-8").split()) == {"600"}
    assert not list(Path(environment.path).glob(".gpuenv-requirements*"))


def test_what_an_installer_says_last_is_told_without_passwords(tmp_path: Path) -> None:
    with pytest.raises(NodeError) as caught:
        make(tmp_path, "echo no answer from https://me:s3cret@example.com/simple; exit 1")
    assert "example.com" in caught.value.log
    assert "s3cret" not in caught.value.log
