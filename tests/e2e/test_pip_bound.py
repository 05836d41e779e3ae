"""With pip what is installed is what was resolved and shown, though pip may see newer releases by then."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from running import Program
from tiny_wheels import tiny_torch, tiny_wheel

needs_pip = pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="no pip here")
CREATE = ("torch==2.14.1", "mylib", "--cuda", "cpu", "--manager", "pip", "--no-verify", "--yes", "--json")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[IndexServer]:
    """An index on which pip alone sees tinydep 2.0, as if that had been published after the plan."""
    with serve_indexes() as server:
        server.publish(tiny_torch(tmp_path, "2.14.1+cpu"), "pytorch", "cpu")
        server.publish(tiny_wheel(tmp_path, "mylib", "2.0", requires=("tinydep>=1",)), "pypi")
        server.publish(tiny_wheel(tmp_path, "tinydep", "1.0"), "pypi")
        server.only_for[server.publish(tiny_wheel(tmp_path, "tinydep", "2.0"), "pypi").path] = "pip"
        yield server


def versions(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    return {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}


def steps(program: Program) -> str:
    (log,) = (program.root / "data" / "logs").glob("*.log")
    return log.read_text(encoding="utf-8")


@pytest.mark.slow
@needs_pip
@pytest.mark.parametrize("without", [(), ("tinydep",), ("tinydep", "mylib")])
def test_pip_installs_what_was_resolved_by_hash(
    program: Program, index: IndexServer, without: tuple[str, ...]
) -> None:
    """`without`: packages of which the index tells no hash: uv, which read their files, has one."""
    for path, file in list(index.files.items()):
        if file.project in without:
            index.files[path] = replace(file, sha256=None)
    made = program.run("create", "trial", *CREATE, "--mirror", index.pytorch, "--mirror", index.pypi)
    assert made.status == 0, (made.out[-3000:], made.err[-2000:])
    fields = versions(program.environments / "trial")
    assert (fields["mylib"], fields["tinydep"]) == ("2.0", "1.0")
    assert steps(program).count("--require-hashes -r") == 2  # torch's comes first


@pytest.mark.slow
@needs_pip
def test_the_constraints_that_pip_is_configured_with_still_count(
    program: Program, index: IndexServer, tmp_path: Path
) -> None:
    index.publish(tiny_wheel(tmp_path, "tinydep", "1.5"), "pypi")
    own = tmp_path / "constraints.txt"
    own.write_text("tinydep<1.2\n", encoding="utf-8")
    user = program.with_(PIP_CONSTRAINT=str(own))
    made = user.run("create", "trial", *CREATE, "--mirror", index.pytorch, "--mirror", index.pypi)
    assert made.status == 0, (made.out[-3000:], made.err[-2000:])
    assert versions(program.environments / "trial")["tinydep"] == "1.0"


@pytest.mark.slow
@needs_pip
def test_a_pip_that_is_configured_to_take_other_files_chooses_by_itself(
    program: Program, index: IndexServer, tmp_path: Path
) -> None:
    index.publish(tiny_wheel(tmp_path, "tinydep", "3.0rc1"), "pypi")
    user = program.with_(PIP_PRE="1")
    made = user.run("create", "trial", *CREATE, "--mirror", index.pytorch, "--mirror", index.pypi)
    assert made.status == 0, (made.out[-3000:], made.err[-2000:])
    assert versions(program.environments / "trial")["tinydep"] == "3.0rc1"


@pytest.mark.slow
@needs_pip
def test_a_change_comes_by_hash(program: Program, index: IndexServer, tmp_path: Path) -> None:
    mirrors = ("--mirror", index.pytorch, "--mirror", index.pypi)
    words = tuple(word for word in CREATE if word != "mylib")
    assert program.run("create", "trial", *words, *mirrors).status == 0
    done = program.run("install", "trial", "mylib", "--yes", "--no-verify", "--json")
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    fields = versions(program.environments / "trial")
    assert (fields["mylib"], fields["tinydep"]) == ("2.0", "1.0")
    logs = (log.read_text(encoding="utf-8") for log in (program.root / "data" / "logs").glob("*.log"))
    assert any("--require-hashes" in text and "tinydep-1.0" in text for text in logs)
