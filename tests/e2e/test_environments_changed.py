"""`install`, `uninstall`, `update` and `export`: environments that change, the torch stack held."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
CPU = ("torch==2.14.1", "--cuda", "cpu", "--python", PYTHON, "--manager", "uv")


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.13.0+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.14.1+cu126", cuda="12.6"), "pytorch", "cu126")
    server.publish(tiny_torch(here / "newer", "2.15.0"), "pypi")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.28.0+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.1"), "pypi")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "tinydep", "2.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1", "torch>=2")), "pypi")
    server.publish(tiny_wheel(here, "seeing", "1.0", requires=("torchvision", "torch")), "pypi")
    server.publish(tiny_wheel(here, "needsold", "1.0", requires=("torch==2.13.0",)), "pypi")
    server.publish(tiny_wheel(here, "wrapsold", "1.0", requires=("needsold",)), "pypi")
    server.publish(tiny_wheel(here, "needsnone", "1.0", requires=("torch==9.9.9",)), "pypi")
    server.publish(tiny_wheel(here, "oldfriend", "1.0", requires=("tinydep<2",)), "pypi")


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    found = {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}
    return {name: version for name, version in found.items() if name not in {"pip", "setuptools"}}


def record(environment: Path) -> dict[str, Any]:
    return dict(json.loads((environment / "gpuenv.json").read_text(encoding="utf-8")))


def files(environment: Path) -> dict[str, str]:
    """Return every file with its digest, but for what Python compiles."""
    paths = (path for path in environment.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture
def paper(program: Program, mirrors: tuple[str, ...]) -> Path:
    """Make an environment with a torch for the CPU, and without any package beside it."""
    done = program.run("create", "paper", *CPU, "--yes", "--json", *mirrors)
    assert done.status == 0, done.err
    return program.environments / "paper"


def test_the_record_says_what_was_asked_for_and_where_from_without_secrets(
    program: Program, server: IndexServer, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("tinydep<2\n")
    secret = server.pypi.replace("http://", "http://me:hunter2@")
    mirrors = ("--mirror", server.pytorch, "--mirror", secret)
    done = program.run(
        "create", "paper", *CPU, "-r", tmp_path / "requirements.txt", "--yes", "--json", *mirrors
    )
    assert done.status == 0, done.err
    plan = record(program.environments / "paper")["plan"]
    assert plan["asked"] == {
        "requirements": ["torch==2.14.1", "tinydep<2"], "mirrors": [server.pytorch, server.pypi],
        "find_links": [], "cuda": "cpu", "channel": "auto", "devices": [],
    }  # fmt: skip
    assert plan["sources"]["index_url"] == server.pypi
    assert "hunter2" not in json.dumps(plan)
