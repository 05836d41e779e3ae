"""`gpuenv fleet` as people use it: what it prints, asks, writes, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu
from fake_slurm import fake_slurm
from local_engine import LocalEngine
from replica_network import Network
from running import Done, Program
from tiny_stack import publish_torches

P100, B200 = FakeGpu("Tesla P100-PCIE-16GB", "6.0"), FakeGpu("NVIDIA B200", "10.0")
DRIVER = "580.95.05"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"  # which the tiny torches are for
TORCH = ("torch", "--mirror", "official", "--python", PYTHON)


@pytest.fixture(scope="module", autouse=True)
def _torches(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_torches(network, tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    (tmp_path / "hosts").mkdir()
    return LocalEngine(tmp_path / "hosts")


@pytest.fixture
def lab(user: Program, engine: LocalEngine, network: Network) -> Iterator[Program]:
    """Two nodes of two kinds that share a home, and one that is down."""
    for name, gpu in (("old", P100), ("new", B200)):
        capability = [int(part) for part in gpu.capability.split(".")]
        engine.host(
            name,
            DRIVER,
            gpu,
            NO_PROXY=network.no_proxy,
            FAKE_TORCH=json.dumps({"gpus": [[gpu.name, capability]]}),
            GPUENV_DATA_DIR=str(engine.root / "shared"),
        )
    engine.away("dark")
    fake_slurm(user.bin, engine)
    yield user
    assert list((user.root / "tmp").iterdir()) == []


def fleet(lab: Program, *words: str | Path) -> Done:
    return lab.run("fleet", *words, "--partition", "gpu")


def made(engine: LocalEngine) -> list[str]:
    return sorted(path.name for path in (engine.root / "shared" / "envs").glob("*"))


@pytest.mark.slow
def test_from_the_first_look_to_the_proof(lab: Program, engine: LocalEngine, tmp_path: Path) -> None:
    saved, page = tmp_path / "saved", tmp_path / "report.html"
    answer = fleet(lab, "detect", "-o", saved)
    assert answer.status == 4
    assert sorted(path.name for path in saved.iterdir()) == ["new.json", "old.json"]
    assert "Tesla P100-PCIE-16GB (6.0)" in answer.out
    assert "dark: Slurm reports it as `down*`: no power" in answer.err
    words = ("create", "paper", *TORCH, "--limit", "old,new")
    would = fleet(lab, *words, "--check")
    assert would.status == 0
    assert would.out.count("would be created") == 2
    assert made(engine) == []
    done = fleet(lab, *words, "--yes", "--report", page)
    assert done.status == 0, done.err
    assert made(engine) == ["paper-cu126", "paper-cu130"]
    assert "old: works" in done.err
    assert "2 made" in done.err
    assert "paper-cu130" in page.read_text(encoding="utf-8")
    again = fleet(lab, *words, "--yes")
    assert "2 unchanged: nothing was changed" in again.err
    proved = fleet(lab, "verify", "paper-cu126", "--limit", "old", "--json")
    assert proved.data["hosts"][0]["state"] == "verified"
    assert proved.envelope["command"] == "fleet verify"
    missing = fleet(lab, "verify", "paper", "--limit", "old", "--json")
    assert (missing.status, missing.envelope["data"]["hosts"][0]["code"]) == (6, "no-such-environment")


@pytest.mark.slow
def test_the_data_tell_every_host_and_who_failed(lab: Program, tmp_path: Path) -> None:
    done = fleet(lab, "plan", *TORCH, "--json", "--report", tmp_path / "plan.html")
    assert (done.status, done.error["code"]) == (4, "fleet-unreachable")
    data = done.envelope["data"]
    assert {item["host"]: item["state"] for item in data["hosts"]} == {
        "dark": "unreachable", "new": "planned", "old": "planned",
    }  # fmt: skip
    assert [group["machines"] for group in data["groups"]] == [["new"], ["old"]]
    assert data["report"] == str(tmp_path / "plan.html")
    assert data["hosts"][0]["machine"] is None or data["hosts"][1]["machine"]["gpus"]


@pytest.mark.slow
def test_a_quiet_create_prints_nothing_but_what_failed(lab: Program, engine: LocalEngine) -> None:
    done = fleet(lab, "create", "paper", *TORCH, "--yes", "-q", "--own-homes", "--limit", "old,dark")
    assert done.status == 4
    assert done.out == ""
    assert done.err.splitlines()[0] == "error: 1 of 2 machines could not be reached or queried"
    assert made(engine) == ["paper"]


@pytest.mark.slow
def test_it_speaks_chinese(lab: Program) -> None:
    done = fleet(lab, "detect", "--lang", "zh")
    assert "已检测" in done.out
    assert "无法连接" in done.out
    assert "错误" in done.err
    answer = lab.run("fleet", "create", "--lang", "zh", "--help")
    assert "只说明会做什么" in answer.out


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [("n", 130), ("y", 0)])
def test_it_asks_before_a_machine_is_changed(
    lab: Program, engine: LocalEngine, answer: str, status: int
) -> None:
    refused = fleet(lab, "create", "paper", *TORCH)
    assert (refused.status, "--yes" in refused.err) == (2, True)
    ours, theirs = pty.openpty()
    words = ("fleet", "create", "paper", *TORCH, "-p", "gpu", "--limit", "old", "--no-verify")
    try:
        process = lab.start(*words, stdin=theirs)
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        _, err = process.communicate(timeout=60)
    finally:
        os.close(ours)
    assert process.returncode == status, err
    assert "create paper on these machines (1)? [y/N]" in err
    assert made(engine) == ([] if status else ["paper"])


@pytest.mark.slow
def test_an_interruption_tells_what_was_done_by_then(
    lab: Program, engine: LocalEngine, tmp_path: Path
) -> None:
    slow = engine.known["new"]
    assert isinstance(slow, dict)
    slow["HANGS"] = "yes"
    fake_slurm(lab.bin, engine)
    page = tmp_path / "page.html"
    words = ("create", "paper", *TORCH, "--yes", "--json", "-p", "gpu", "--limit", "old,new")
    with lab.start("fleet", *words, "--report", page) as process:
        made_there = engine.root / "shared" / "envs" / "paper-cu126" / "gpuenv.json"
        for _ in range(1000):
            if made_there.exists() and any((engine.root / "jobs").iterdir()):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert document["error"]["code"] == "interrupted"
    states = {item["host"]: item["state"] for item in document["data"]["hosts"]}
    assert states["new"] in ("waiting", "running")
    assert "interrupted" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("detect",), "no-machines"),
        (("detect", "-i", "hosts.ini", "-p", "gpu"), "usage"),
        (("detect", "-p", "nowhere"), "no-hosts"),
        (("detect", "-p", "gpu", "--limit", "n["), "bad-limit"),
        (("detect", "-p", "gpu", "--forks", "0"), "usage"),
        (("create", "../x", "-p", "gpu", "-y"), "bad-name"),
        (("create", "-p", "gpu", "-y"), "usage"),
        (("create", "x", "-p", "gpu", "-y", "--report", "/nowhere/page.html"), "unwritable"),
        (("create", "x", "torch", "-p", "gpu", "-y", "--python", "soon"), "bad-python"),
    ],
)
def test_bad_usage_is_told_before_a_machine_is_asked(lab: Program, words: tuple[str, ...], code: str) -> None:
    done = lab.run("fleet", *words, "--json")
    assert done.status == 2
    assert done.error["code"] == code


def test_a_missing_inventory_is_told_before_anything_is_asked(user: Program) -> None:
    done = user.run("fleet", "create", "paper", "torch", "-i", "missing.ini", "--json")
    assert (done.status, done.envelope["error"]["code"]) == (2, "no-inventory")
