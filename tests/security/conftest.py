"""Attacks: gpuenv in a process of its own, with a stranger's files around it and a stranger's server near."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import variants
from attacks import Succeeded
from guarded_index import serve_guarded
from index_server import IndexServer, serve_indexes
from running import Program, make_program
from strangers import Stranger, serve_stranger
from tiny_wheels import tiny_torch, tiny_wheel


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.name == "nt":
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="the fakes on the PATH are shell scripts"))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Let an attack succeed where gpuenv runs without the mend, and only there."""
    undone = getattr(pyfuncitem, "funcargs", {}).get("undone")
    try:
        answer = yield
    except Succeeded:
        if not undone:
            raise
        return True
    if undone:
        pytest.fail(f"held off without the mend as well ({undone}): the check shows nothing")
    return answer


@pytest.fixture
def undone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return which mends are undone in the runs of gpuenv, and undo them in this process."""
    names = str(getattr(request, "param", ""))
    variants.undo(names, monkeypatch.setattr)
    return names


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    with serve_stranger() as answer:
        yield answer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexServer]:
    """PyPI and the PyTorch index, with wheels that install."""
    here = tmp_path_factory.mktemp("wheels")
    with serve_indexes() as index:
        index.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
        index.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
        index.publish(tiny_wheel(here, "tinydep", "0.9"), "pypi")
        index.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=0.9",)), "pypi")
        yield index


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexServer]:
    """The indexes, each only for who knows the password."""
    with serve_guarded(tmp_path_factory.mktemp("wheels")) as index:
        yield index


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path, undone: str) -> Program:
    """Run gpuenv as somebody whose configuration files count."""
    made = make_program(tmp_path / "user").with_(UV_NO_CONFIG=None)
    if undone:
        return replace(made, start_as=(variants.__file__, undone))
    is_attack = hasattr(request.function, "attack")
    return replace(made, own_start=is_attack)  # what a Python imports at its start is part of one


@pytest.fixture
def checkout(program: Program) -> Path:
    """Return the folder that gpuenv is started in: a stranger's."""
    return program.root / "work"


@pytest.fixture
def asked(server: IndexServer) -> tuple[str, ...]:
    """What is planned in every test here, from the two indexes alone."""
    return ("torch==2.14.1", "mylib", "--cuda", "cpu", "--mirror", server.pytorch, "--mirror", server.pypi)
