"""With uv what is installed is what was resolved and shown, whatever the index has by then."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from index_server import IndexServer, serve_indexes
from running import Program
from tiny_wheels import tiny_torch, tiny_wheel

CREATE = ("--cuda", "cpu", "--manager", "uv", "--no-verify", "--yes", "--json")


class _Watched(list[tuple[str, str, int]]):
    """Requests; after the first for tinydep's own file, by which its page was read, there is a newer one."""

    def __init__(self, server: IndexServer, newer: Path) -> None:
        super().__init__()
        self._server, self._newer = server, newer

    def append(self, request: tuple[str, str, int]) -> None:
        super().append(request)
        if "tinydep-1.0" in request[1]:
            self._server.publish(self._newer, "pypi")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[IndexServer]:
    """An index on which tinydep 2.0 is published while 1.0 is resolved."""
    with serve_indexes() as server:
        server.publish(tiny_torch(tmp_path, "2.14.1+cpu", requires=("tinydep>=1",)), "pytorch", "cpu")
        server.publish(tiny_wheel(tmp_path, "mylib", "2.0", requires=("tinydep>=1",)), "pypi")
        server.publish(tiny_wheel(tmp_path, "tinydep", "1.0"), "pypi")
        server.asked = _Watched(server, tiny_wheel(tmp_path, "tinydep", "2.0"))
        yield server


def versions(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    return {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}


def test_uv_installs_what_was_resolved_by_hash(program: Program, index: IndexServer) -> None:
    words = ("create", "trial", "torch==2.14.1", "mylib", *CREATE)
    made = program.run(*words, "--mirror", index.pytorch, "--mirror", index.pypi)
    assert made.status == 0, (made.out[-3000:], made.err[-2000:])
    assert any("tinydep-2.0" in path for path in index.files)
    assert versions(program.environments / "trial")["tinydep"] == "1.0"


def test_constraints_that_uv_is_configured_with_are_no_obstacle(
    program: Program, index: IndexServer, tmp_path: Path
) -> None:
    """In its own mode of hashes uv takes only constraints that have hashes, too."""
    own = tmp_path / "constraints.txt"
    own.write_text("tinydep<1.5\n", encoding="utf-8")
    user = program.with_(UV_CONSTRAINT=str(own), UV_NO_VERIFY_HASHES="1")
    made = user.run(
        "create", "trial", "torch==2.14.1", *CREATE, "--mirror", index.pytorch, "--mirror", index.pypi
    )
    assert made.status == 0, (made.out[-3000:], made.err[-2000:])
    assert versions(program.environments / "trial")["tinydep"] == "1.0"
