"""Attacks: gpuenv in a process of its own, with a stranger's files around it and a stranger's server near."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from running import Program, make_program
from tiny_wheels import tiny_torch, tiny_wheel


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.name == "nt":
        for item in items:
            if item.path.parent == Path(__file__).parent:
                item.add_marker(pytest.mark.skip(reason="the fakes on the PATH are shell scripts"))


@dataclass
class Stranger:
    """A server that somebody else runs; every request to it is one that must not have been made."""

    url: str
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    told = Stranger("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.requests.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815 - http.server's name

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield told
        server.shutdown()
        thread.join()


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


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Run gpuenv as somebody whose configuration files count."""
    return make_program(tmp_path / "user").with_(UV_NO_CONFIG=None)


@pytest.fixture
def checkout(program: Program) -> Path:
    """Return the folder that gpuenv is started in: a stranger's."""
    return program.root / "work"


@pytest.fixture
def asked(server: IndexServer) -> tuple[str, ...]:
    """What is planned in every test here, from the two indexes alone."""
    return ("torch==2.14.1", "mylib", "--cuda", "cpu", "--mirror", server.pytorch, "--mirror", server.pypi)
