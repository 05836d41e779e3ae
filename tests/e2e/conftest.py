"""gpuenv in a process of its own, against a real server on 127.0.0.1."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from running import Program, make_program


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.name == "nt":
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="the fakes on the PATH are shell scripts"))


@pytest.fixture(scope="module")
def server() -> Iterator[IndexServer]:
    """PyPI and the PyTorch index; one server for a module."""
    with serve_indexes() as index:
        yield index


@pytest.fixture(autouse=True)
def _nothing_asked_yet(request: pytest.FixtureRequest) -> None:
    if "server" in request.fixturenames:
        request.getfixturevalue("server").forget()


@pytest.fixture
def mirrors(server: IndexServer) -> tuple[str, ...]:
    """The options that name the server's two indexes, so that no other is asked."""
    return ("--mirror", server.pytorch, "--mirror", server.pypi)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run gpuenv with directories of the test's own."""
    return make_program(tmp_path / "user")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Run gpuenv with directories that the tests of a module share: what they read stays cached."""
    return make_program(tmp_path_factory.mktemp("shared") / "user")
