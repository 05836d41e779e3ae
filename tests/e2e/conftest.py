"""gpuenv in a process of its own, against a real server on 127.0.0.1."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from mirrored import isolated
from replica_network import Network, serve_network
from replica_server import HAS_LOOPBACK_NET
from running import Program, make_program


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and _is_slow(item):
            item.add_marker(pytest.mark.slow)
    if os.name == "nt":
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="the fakes on the PATH are shell scripts"))


def _is_slow(item: pytest.Function) -> bool:
    """Whether a test uses a browser, or makes with pip what it makes with uv too: each takes seconds."""
    words = getattr(item, "callspec", None) and item.callspec.params.get("manager")
    always = item.originalname == "test_an_environment_lives_from_create_to_remove"
    return "browser" in item.fixturenames or (words == "pip" and not always)


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


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """Run the official indexes and mirrors of all layouts, each on a host of its own; one for a module."""
    if not HAS_LOOPBACK_NET:
        pytest.skip("127.0.0.2 is no address here")
    with serve_network() as running:
        yield running


@pytest.fixture
def isolation(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no request of this process leave this machine."""
    for name, value in isolated(network).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def user(program: Program, network: Network) -> Program:
    """Run gpuenv with a configuration file that has the mirrors at the replicas' addresses."""
    file = program.home / "mirrors.toml"
    file.write_text(network.configuration, encoding="utf-8")
    return program.with_(GPUENV_CONFIG=str(file), NO_PROXY=network.no_proxy)
