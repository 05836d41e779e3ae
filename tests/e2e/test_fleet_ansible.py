"""`gpuenv fleet` through Ansible for real: hosts of two kinds, one broken in each way, one unreachable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_lab import B200, P100, Lab, needs_ansible, torch_with
from replica_network import Network
from running import Done, Program, make_program
from tiny_stack import installed, publish_torches

pytestmark = [pytest.mark.slow, needs_ansible]
DRIVER = "580.95.05"


@pytest.fixture(scope="module")
def shop(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Network:
    """Put tiny torches on the official index: one for new GPUs, one for old."""
    publish_torches(network, tmp_path_factory.mktemp("wheels"))
    return network


@pytest.fixture
def controller(shop: Network, tmp_path: Path) -> Program:
    """Run gpuenv as the lab's administrator does: with ssh, and with the official indexes."""
    program = make_program(tmp_path / "user")
    file = program.home / "mirrors.toml"
    file.write_text(shop.configuration, encoding="utf-8")
    path = f"{program.bin}:/usr/bin:/bin"
    remote = str(tmp_path / "remote")
    return program.with_(
        GPUENV_CONFIG=str(file), NO_PROXY=shop.no_proxy, PATH=path, ANSIBLE_REMOTE_TMP=remote
    )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Six hosts: three that work, three that do not, each in a way of its own."""
    lab = Lab(tmp_path)
    lines = [
        lab.local(host, DRIVER, gpu, more=torch_with(gpu))
        for host, gpu in (
            ("old1", P100),
            ("old2", P100),
            ("new", B200),
            ("mismatch", B200),
            ("unlucky", P100),
        )
    ]
    lab.write(*lines, lab.away("away"), lab.local("bare", ansible_python_interpreter="/nowhere/python3"))
    lab.loses_its_driver("mismatch")
    lab.breaks_installing("unlucky")
    return lab


def fleet(controller: Program, lab: Lab, *words: str | Path) -> Done:
    return controller.run("fleet", *words, "-i", lab.inventory, "--json", timeout_s=180)


def hosts(done: Done) -> dict[str, dict[str, Any]]:
    return {item["host"]: item for item in done.envelope["data"]["hosts"]}


def states(done: Done) -> dict[str, str]:
    return {host: entry["state"] for host, entry in hosts(done).items()}


WORKING = ("old1", "old2", "new")
BROKEN = {"mismatch": "not-served", "away": "unreachable", "bare": "failed"}


def test_the_hosts_that_can_be_served_are_and_the_others_are_told_why_not(
    controller: Program, lab: Lab, tmp_path: Path
) -> None:
    words = ("create", "paper", "torch", "--mirror", "official")
    would = fleet(controller, lab, *words, "--check")
    assert states(would) == {**dict.fromkeys((*WORKING, "unlucky"), "would-make"), **BROKEN}, would.err
    assert not any(lab.environment(host, "paper").exists() for host in WORKING)
    page = tmp_path / "report.html"
    made = fleet(controller, lab, *words, "--yes", "--report", page)
    assert states(made) == {**dict.fromkeys(WORKING, "made"), **BROKEN, "unlucky": "not-made"}
    fields = hosts(made)
    assert [fields[host]["changed"] for host in (*WORKING, "unlucky")] == [True, True, True, False]
    assert [fields[host]["verify"]["ok"] for host in WORKING] == [True] * 3
    assert {host: installed(lab.environment(host, "paper"))["torch"] for host in WORKING} == {
        "old1": "2.14.1+cu126", "old2": "2.14.1+cu126", "new": "2.15.0+cu130",
    }  # fmt: skip
    assert "no such luck" in json.dumps(fields["unlucky"])
    assert "/nowhere/python3" in fields["bare"]["problem"]
    assert "refused" in fields["away"]["problem"]
    assert all(host in page.read_text(encoding="utf-8") for host in fields)
    assert made.status != 0
    again = fleet(controller, lab, *words, "--yes", "--limit", "old*:new")
    assert states(again) == dict.fromkeys(WORKING, "unchanged")
    assert again.status == 0
    assert again.data["changed"] == 0
    assert not list((controller.root / "tmp").iterdir())
    assert not list((tmp_path / "remote").iterdir())


def test_what_hosts_tell_is_saved_and_planned_for_elsewhere(
    controller: Program, lab: Lab, tmp_path: Path
) -> None:
    done = fleet(controller, lab, "detect", "--limit", "gpus:!away:!bare", "-o", tmp_path / "saved")
    assert done.status == 0, done.err
    planned = controller.run(
        "plan", "torch", "--machines", tmp_path / "saved", "--mirror", "official", "--json"
    )
    assert planned.status == 3, planned.out + planned.err
    document = planned.envelope["data"]
    assert [group["machines"] for group in document["groups"]] == [["new"], ["old1", "old2", "unlucky"]]
    (mismatch,) = [item for item in document["machines"] if item["group"] is None]
    assert mismatch["name"] == "mismatch"


def test_a_limit_that_no_host_fits_is_bad_usage_in_ansibles_words(controller: Program, lab: Lab) -> None:
    done = fleet(controller, lab, "detect", "--limit", "nobody")
    assert done.status == 2
    assert "limit" in json.dumps(done.error["because"])
