"""PyPI, the PyTorch index and pages of links, each only for who knows the password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index_server import IndexServer, serve_indexes
from tiny_wheels import tiny_torch, tiny_wheel

USER, PASSWORD = "ada", "hunter2-hunter2"
LOGIN = f"{USER}:{PASSWORD}"


@contextmanager
def serve_guarded(folder: Path) -> Iterator[IndexServer]:
    with serve_indexes() as index:
        index.publish(tiny_torch(folder, "2.14.1+cpu"), "pytorch", "cpu")
        index.publish(tiny_wheel(folder, "tinydep", "1.0"), "pypi")
        index.publish(tiny_wheel(folder, "mylib", "2.0", requires=("tinydep",)), "pypi")
        index.logins = {"/": LOGIN}
        yield index


def with_login(url: str) -> str:
    return url.replace("://", f"://{LOGIN}@")


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path
