"""Ctrl-C while `create` verifies: the environment stays, says that it is not verified, and is made up for."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from index_server import IndexServer
from running import Done, Program
from tiny_wheels import tiny_torch

CPU = ("torch==2.14.1", "--cuda", "cpu")
HANGING = json.dumps({"faults": [["matmul", "cpu", "hang"]]})


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    server.publish(tiny_torch(tmp_path_factory.mktemp("wheels"), "2.14.1+cpu"), "pytorch", "cpu")


def interrupted(program: Program, number: signal.Signals, *arguments: str) -> Done:
    """Run gpuenv with a torch that hangs in its proof, and send it a signal there."""
    hanging = program.with_(FAKE_TORCH=HANGING)
    process = hanging.start(*arguments)
    for _ in range(3000):
        if any("matmul" in file.read_text() for file in program.root.glob("tmp/gpuenv-verify-*/result.json")):
            break
        time.sleep(0.01)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return Done(process.returncode, out, err)


def record(program: Program, name: str) -> dict[str, object]:
    return dict(json.loads((program.environments / name / "gpuenv.json").read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_what_is_installed_stays_and_create_goes_on_from_there(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], number: signal.Signals
) -> None:
    command = ("create", "trial", *CPU, "--yes", *mirrors)
    done = interrupted(program, number, *command)
    assert done.status == 130, done.err
    assert done.err.splitlines()[-1] == "installed, not verified: `gpuenv verify trial`"
    assert record(program, "trial")["verified"] is None
    assert list((program.root / "data" / "journals").glob("*")) == []
    assert program.run("run", "trial", "--", "python", "-c", "import torch").status == 0
    again = interrupted(program, number, *command, "--json")
    assert (again.status, again.error["code"]) == (130, "interrupted")
    assert again.error["fixes"][0]["command"] == "gpuenv verify trial"
    server.forget()
    other = program.run("create", "trial", "torch", "--cuda", "cpu", "--yes", "--json", *mirrors)
    assert (other.status, other.error["code"]) == (2, "environment-exists")
    made = program.run(*command, "--json")
    assert made.status == 0, made.out
    assert made.data["environment"]["path"] == str(program.environments / "trial")
    assert made.data["verify"]["devices"][0]["ok"]
    assert made.torch == "2.14.1+cpu"
    assert server.asked == []  # nothing is planned or fetched anew
    assert record(program, "trial")["verified"] is True
    assert program.run(*command, "--json").error["code"] == "environment-exists"


@pytest.mark.slow
def test_a_proof_that_fails_when_it_is_made_up_for_is_a_failure(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    command = ("create", "trial", *CPU, "--yes", *mirrors)
    assert program.run(*command, "--no-verify").status == 0
    wrong = program.with_(FAKE_TORCH=json.dumps({"faults": [["matmul", "cpu", "wrong"]]}))
    done = wrong.run(*command, "--json")
    assert (done.status, done.error["code"]) == (6, "test-failed")
    assert record(program, "trial")["verified"] is False
    assert program.run(*command, "--json").error["code"] == "environment-exists"


@pytest.mark.slow
def test_a_replacement_that_was_not_proven_brings_back_what_was_there(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    command = ("create", "trial", *CPU, "--yes", *mirrors)
    assert program.run(*command).status == 0
    before = record(program, "trial")
    (program.environments / "trial" / "mine").touch()
    done = interrupted(program, signal.SIGINT, *command, "--force", "--json")
    assert (done.status, done.error["code"]) == (130, "interrupted")
    assert record(program, "trial") == before
    assert (program.environments / "trial" / "mine").exists()
    assert [path.name for path in program.environments.iterdir()] == ["trial"]


@pytest.mark.slow
def test_what_another_file_of_requirements_says_is_another_request(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    file: Path = program.root / "work" / "requirements.txt"
    file.write_text("torch==2.14.1\n", encoding="utf-8")
    command = ("create", "trial", "-r", "requirements.txt", "--cuda", "cpu", "--yes", "--json", *mirrors)
    assert program.run(*command, "--no-verify").status == 0
    file.write_text("torch<3\n", encoding="utf-8")
    assert program.run(*command).error["code"] == "environment-exists"
    file.write_text("torch==2.14.1\n", encoding="utf-8")
    assert program.run(*command).status == 0
