"""Names and words that others wrote reach a terminal or a pipe as text, in every command that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import Done, Program

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\r"
STEERS = set("\x1b\x07\r\x9b\u202e")


def is_text(done: Done) -> bool:
    return not STEERS & set(done.out + done.err)


@pytest.fixture
def machine(program: Program) -> Path:
    """Save a machine whose GPU has a hostile name."""
    saved = program.run("detect", "--json")
    document = json.loads(saved.out)
    document["data"]["driver"] = {"version": "570.133.07", "cuda": "12.8"}
    document["data"]["gpus"] = [
        {
            "index": 0, "name": f"RTX{EVIL}", "compute_capability": "8.6", "memory_mib": 1, "uuid": None,
            "pci_id": None, "mig": False, "visible": True,
        }
    ]  # fmt: skip
    document["data"]["problems"] = []
    file = program.root / "work" / "machine.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def test_a_gpu_s_name_is_text(program: Program, machine: Path, mirrors: tuple[str, ...]) -> None:
    for words in (["plan"], ["plan", "--format", "pip"], ["plan", "torch==99"], ["plan", "-v"]):
        assert is_text(program.run(*words, "--machine", machine, *mirrors)), words


def test_an_environment_s_name_is_text(program: Program) -> None:
    for words in (["verify"], ["remove", "--yes"], ["run"], ["doctor"], ["create", "--yes"]):
        assert is_text(program.run(words[0], f"x{EVIL}", *words[1:])), words


def test_a_record_of_somebody_else_is_text(program: Program) -> None:
    folder = program.environments / f"x{EVIL[:-1]}"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /nowhere\n")
    record = {"name": f"a{EVIL}", "manager": f"uv{EVIL}", "plan": {"variant": EVIL, "python": EVIL}}
    (folder / "gpuenv.json").write_text(json.dumps(record))
    assert is_text(program.run("list"))
    assert is_text(program.run("list", "--all"))


def test_what_a_log_says_is_text(program: Program) -> None:
    log = f"RuntimeError: CUDA error: no kernel image is available{EVIL} for execution on the device"
    assert is_text(program.run("explain", "-", stdin=log))
    assert is_text(program.run("explain", "-v", "-", stdin=log))
