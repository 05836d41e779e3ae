"""Environments as kernels of Jupyter: registered, started as Jupyter would, and taken away again."""

from __future__ import annotations

import json
import string
import subprocess
from pathlib import Path
from typing import Any

import pytest
from index_server import IndexServer
from running import Done, Program
from tiny_stack import installed
from tiny_wheels import tiny_torch, tiny_wheel

_LAUNCHER = "import json, os, sys; print(json.dumps([sys.prefix, sys.argv[1:], dict(os.environ)]))\n"


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    files = {"ipykernel_launcher.py": _LAUNCHER}
    server.publish(tiny_wheel(here, "ipykernel", "7.1.0", requires=("torch>=2",), files=files), "pypi")


@pytest.fixture
def paper(program: Program, server: IndexServer) -> Path:
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi)
    wanted = ("torch==2.14.1", "--cuda", "cpu", "--manager", "uv", "--no-verify", "--yes")
    done = program.run("create", "paper", *wanted, *mirrors)
    assert done.status == 0, done.err
    return program.environments / "paper"


def kernel(program: Program, server: IndexServer, *more: str) -> Done:
    return program.run("kernel", "paper", *more, "--mirror", server.pytorch, "--mirror", server.pypi)


def started(folder: Path, environ: dict[str, str]) -> list[Any]:
    """Start a kernel as Jupyter does: with its variables over Jupyter's, `${NAME}` and `$$` replaced."""
    document = json.loads((folder / "kernel.json").read_text(encoding="utf-8"))
    own = {name: string.Template(value).safe_substitute(environ) for name, value in document["env"].items()}
    argv = [word.format(connection_file="/run/x.json") for word in document["argv"]]
    done = subprocess.run(argv, env={**environ, **own}, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


@pytest.mark.slow
def test_a_kernel_is_registered_with_what_it_needs_and_goes_with_its_environment(
    program: Program, server: IndexServer, paper: Path
) -> None:
    done = kernel(program, server, "--yes", "--json")
    assert done.status == 0, done.out + done.err
    folder = Path(done.data["kernel"]["path"])
    assert folder == program.home / ".local" / "share" / "jupyter" / "kernels" / "gpuenv-paper"
    assert installed(paper) == {"torch": "2.14.1+cpu", "ipykernel": "7.1.0"}
    prefix, arguments, variables = started(folder, {"PATH": "/usr/bin", "PIP_TARGET": "/elsewhere"})
    assert (prefix, arguments) == (str(paper), ["-f", "/run/x.json"])
    assert variables["PATH"] == f"{paper}/bin:/usr/bin"
    assert (variables["VIRTUAL_ENV"], variables["PIP_TARGET"]) == (str(paper), "")
    assert variables["PIP_CONSTRAINT"] == (paper / "constraints.txt").as_uri()
    assert kernel(program, server, "--yes").status == 0
    assert program.run("remove", "paper", "--yes").status == 0
    assert not folder.exists()


@pytest.mark.slow
def test_a_kernel_goes_where_jupyter_looks(
    program: Program, server: IndexServer, paper: Path, tmp_path: Path
) -> None:
    named = program.with_(JUPYTER_DATA_DIR=str(tmp_path / "data"))
    assert kernel(named, server, "--yes").status == 0
    assert (tmp_path / "data" / "kernels" / "gpuenv-paper" / "kernel.json").is_file()
    assert kernel(program, server, "--prefix", str(tmp_path / "prefix")).status == 0
    below = tmp_path / "prefix" / "share" / "jupyter" / "kernels" / "gpuenv-paper"
    (below / "logo.svg").write_text("", encoding="utf-8")
    removed = kernel(program, server, "--remove", "--json")
    assert len(removed.data["removed"]) == 2
    assert [path.name for path in below.iterdir()] == ["logo.svg"]
    assert not (tmp_path / "data" / "kernels" / "gpuenv-paper").exists()
    again = kernel(program, server, "--remove", "--json")
    assert (again.status, again.error["code"]) == (2, "no-kernel")


@pytest.mark.slow
def test_a_kernel_of_others_is_never_touched(program: Program, server: IndexServer, paper: Path) -> None:
    folder = program.home / ".local" / "share" / "jupyter" / "kernels" / "gpuenv-paper"
    folder.mkdir(parents=True)
    for text in ("{}", "not JSON", '{"metadata": {"gpuenv": {"environment": "/other"}}}'):
        (folder / "kernel.json").write_text(text, encoding="utf-8")
        for more in ("--yes", "--remove"):
            done = kernel(program, server, more, "--json")
            assert (done.status, done.error["code"]) == (2, "kernel-exists")
        assert (folder / "kernel.json").read_text(encoding="utf-8") == text
    assert installed(paper) == {"torch": "2.14.1+cpu"}
    (folder / "kernel.json").unlink()
    folder.rmdir()
    folder.symlink_to(paper)
    assert kernel(program, server, "--yes").status == 2
    assert not (paper / "kernel.json").exists()


@pytest.mark.slow
def test_nothing_is_installed_without_a_yes(program: Program, server: IndexServer, paper: Path) -> None:
    requested = kernel(program, server)
    assert requested.status == 2
    assert "ipykernel" in requested.out + requested.err
    assert kernel(program, server, "--json").error["code"] == "no-ipykernel"
    assert installed(paper) == {"torch": "2.14.1+cpu"}
    assert not (program.home / ".local" / "share" / "jupyter").exists()
