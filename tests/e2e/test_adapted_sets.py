"""What `--adapt` makes of published repositories is tried: patches applied, sets resolved by uv and by pip.

The indexes are on 127.0.0.1 and hold what the matrices' rows know and the files name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import adapted_papers
import published_repositories
import pytest
from adapted_index import counting, stock
from index_server import IndexServer, serve_indexes
from packaging.requirements import Requirement
from running import Done, Program
from tiny_stack import CPU, installed
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel
from uv import find_uv_bin

GIT = shutil.which("git")
PAPERS = tuple(
    (name, machine)
    for at, name in enumerate(adapted_papers.NAMES)
    for machine in (("V100", "RTX 5090")[at % 2],)
)
SETS = (*published_repositories.CASES, *PAPERS)
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64")


def marked(cases: Sequence[Any], step: int) -> list[Any]:
    """Put each `step`-th case, and the first, into the slow session, the others into the campaign."""
    return [
        pytest.param(*case, marks=pytest.mark.campaign if at % step else pytest.mark.slow)
        for at, case in enumerate(cases)
    ]


@pytest.fixture
def index() -> Iterator[IndexServer]:
    """Indexes of a test's own: what it lists is no other's."""
    with serve_indexes() as running:
        yield running


def checkout(name: str, key: str, program: Program) -> tuple[Path, Path]:
    """Copy a repository or what a paper left; return the folder above it and the saved machine."""
    above = program.root / "work" / "checkouts"
    if name in adapted_papers.NAMES:
        above.mkdir(parents=True)
        adapted_papers.copy_paper(name, above)
        return above, adapted_papers.save_machine(key, program.root)
    shutil.copytree(published_repositories.FOLDER / name, above / name)
    return above, published_repositories.save_machine(key, program.root)


def planned(program: Program, name: str, saved: Path, above: Path, *more: str) -> Done:
    words = ("plan", "--adapt", name, "--machine", str(saved), "--manager", "uv", "--json", *more)
    return program.run(*words, cwd=above)


@pytest.mark.parametrize(("name", "key"), marked(SETS, 60))
def test_the_patch_applies_and_uv_and_pip_resolve_the_adapted_set(
    name: str, key: str, program: Program, index: IndexServer
) -> None:
    above, saved = checkout(name, key, program)
    first = planned(program, name, saved, above, "--offline")
    assert first.status in {0, 2, 3}, first.err
    if first.status:
        return
    stock(index, (*first.data["pins"], *first.data["requirements"]))
    done = planned(program, name, saved, above, "--mirror", index.pytorch, "--mirror", index.pypi)
    assert done.status == 0, done.said
    _apply(done.data["adapted"]["patch"], above)
    python = done.data["python"]
    wanted = tuple(counting((*done.data["pins"], *done.data["requirements"]), python))
    for tool in (_uv, _pip):
        problem = tool(wanted, python, index, program)
        assert problem is None, (tool.__name__, wanted, problem)


@pytest.mark.parametrize(
    ("name", "key"), marked((("2022-masked", "V100"), ("2024-sam2", "A"), ("2023-segment", "V100")), 3)
)
def test_create_makes_the_adapted_set_of_tiny_wheels(
    name: str, key: str, program: Program, index: IndexServer, tmp_path: Path
) -> None:
    above, _ = checkout(name, key, program)
    asked = (*CPU, "--manager", "uv", "--mirror", index.pytorch, "--mirror", index.pypi)
    first = program.run("plan", "--adapt", name, "--json", "--offline", *asked[:-4], cwd=above)
    stock(index, (*first.data["pins"], *first.data["requirements"]))
    planned = program.run("plan", "--adapt", name, "--json", *asked, cwd=above)
    assert planned.status == 0, planned.said
    for package in planned.data["packages"]:
        publish(index, package["name"], package["version"], tmp_path)
    done = program.run("create", "paper", "--adapt", name, "--json", "--yes", *asked, cwd=above)
    assert done.status == 0, done.said
    there = installed(Path(done.data["environment"]["path"]))
    asked_for = {Requirement(text).name for text in (*planned.data["pins"], *planned.data["requirements"])}
    versions = {
        item["name"]: item["version"] for item in planned.data["packages"] if item["name"] in asked_for
    }
    assert len(versions) > 1
    assert versions.items() <= there.items()


def publish(index: IndexServer, name: str, version: str, folder: Path) -> None:
    """Put a wheel with bytes in the place of all that the index lists of a release."""
    start = f"{name.replace('-', '_')}-{version}-"
    for path in [path for path, file in index.files.items() if file.filename.startswith(start)]:
        del index.files[path]
    local = version.partition("+")[2]
    make = {"torch": tiny_torch, "torchvision": tiny_torchvision}.get(name)
    wheel = make(folder, version) if make else tiny_wheel(folder, name.replace("-", "_"), version)
    index.publish(wheel, "pytorch" if local else "pypi", local or None)


def _apply(patch: str, above: Path) -> None:
    if not patch:
        return
    if GIT:
        _run(above, (GIT, "apply", "--check", "-"), patch)
    if tool := shutil.which("patch"):
        _run(above, (tool, "-p1", "-s", "--binary", "--fuzz=0"), patch)


def _run(folder: Path, argv: tuple[str, ...], text: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    given = text.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, cwd=folder, input=given, env=environ, capture_output=True, check=False)
    assert done.returncode == 0, (argv, done.stdout + done.stderr)


def _uv(wanted: tuple[str, ...], python: str, index: IndexServer, program: Program) -> str | None:
    argv = (
        find_uv_bin(), "pip", "compile", "-", "--quiet", "--python-version", python, "--only-binary", ":all:",
        "--python", sys.executable, "--no-python-downloads", "--index-strategy", "unsafe-best-match",
        "--python-platform", "x86_64-manylinux_2_28", "--index", index.pytorch, "--default-index", index.pypi,
    )  # fmt: skip
    return _problem(argv, "\n".join(wanted), program)


def _pip(wanted: tuple[str, ...], python: str, index: IndexServer, program: Program) -> str | None:
    tags = (word for platform in _PLATFORMS for word in ("--platform", platform))
    argv = (
        sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
        "--only-binary", ":all:", "--python-version", python, *tags, "--target", str(program.root / "target"),
        "--index-url", index.pypi, "--extra-index-url", index.pytorch, *wanted,
    )  # fmt: skip
    return _problem(argv, None, program)


def _problem(argv: tuple[str, ...], text: str | None, program: Program) -> str | None:
    environ = {**program.environ, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        argv, input=text, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    return None if done.returncode == 0 else done.stderr[-1500:]
