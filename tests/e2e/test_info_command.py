"""`info` can be posted: no password, no user name; `help` and `version` are commands too."""

from __future__ import annotations

import json
import re

import pytest
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    server.publish(tiny_torch(tmp_path_factory.mktemp("wheels"), "2.14.1+cpu"), "pytorch", "cpu")


@pytest.mark.slow
def test_a_bug_report_names_packages_and_no_secret(program: Program, mirrors: tuple[str, ...]) -> None:
    command = ("create", "trial", "torch==2.14.1", "--cuda", "cpu", "--yes", "--json", *mirrors)
    assert program.run(*command).status == 0
    private = program.with_(
        PIP_INDEX_URL="https://alice:hunter2@pypi.example.com/simple",
        UV_INDEX_PASSWORD="hunter2",  # noqa: S106 - of nobody
        USER="alice",
        PYTHONPATH=f"{program.home}/src:/scratch/alice/lib:/scratch/alice2",
    )
    for done in (private.run("info", "trial", "--json"), private.run("info", "trial")):
        assert done.status == 0, done.err
        for secret in ("hunter2", "alice/", "alice:", str(program.home)):
            assert secret not in done.out
        assert "~/src:/scratch/~/lib:/scratch/alice2" in done.out
    answer = private.run("info", "trial", "--json").data
    assert answer["environment"]["packages"]["torch"] == "2.14.1+cpu"
    assert answer["environment"]["verified"] is True
    assert answer["machine"]["gpus"] == []
    assert program.run("info", "--json").data["environment"] is None
    lines = private.run("info", "trial").out.splitlines()
    assert "no NVIDIA GPU, linux" in "\n".join(lines)
    assert any(re.fullmatch(r"PIP_INDEX_URL +https://\S*pypi.example.com/simple", line) for line in lines)
    assert any(re.fullmatch(r"torch +2\.14\.1\+cpu \(cpu\), Python [\d.]+, uv", line) for line in lines)
    assert any(re.fullmatch(r"torch +2\.14\.1\+cpu", line) for line in lines[lines.index("") :])
    assert not any(line.startswith(("{", ' "')) for line in lines)  # no JSON to read through
    failed = program.with_(FAKE_TORCH=json.dumps({"faults": [["matmul", "cpu", "wrong"]]}))
    assert failed.run("verify", "trial").status == 6
    assert '"matmul"' in private.run("info", "trial").out
    assert program.run("info", "none", "--json").error["code"] == "unknown-environment"


def test_help_and_version_are_commands(program: Program) -> None:
    assert program.run("help", "mirrors", "use").out == program.run("mirrors", "use", "--help").out
    assert program.run("help").out == program.run("--help").out
    assert program.run("help", "nonsense").status == 2
    plain = program.run("version").out
    assert plain == program.run("--version").out
    assert plain == f"gpuenv {json.loads(program.run('version', '--json').out)['data']['version']}\n"
