"""Slurm for real, as a lab's user meets it: `gpuenv fleet`, and a script that sbatch takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_lab import VERSION
from replica_network import Network
from running import Done, Program, make_program
from slurm_cluster import Cluster, needs_slurm, slurm_cluster
from tiny_stack import installed, publish_torches

pytestmark = [pytest.mark.slow, needs_slurm]
OFFICIAL = ("--mirror", "official")
TORCHES = {"gpu1": "2.14.1+cu126", "gpu2": "2.15.0+cu130"}
NAMES = {"gpu1": "cu126", "gpu2": "cu130"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with slurm_cluster(tmp_path_factory.mktemp("slurm") / "c") as value:
        yield value


@pytest.fixture(scope="module")
def shop(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Network:
    publish_torches(network, tmp_path_factory.mktemp("wheels"))
    return network


@pytest.fixture
def user(shop: Network, cluster: Cluster, tmp_path: Path) -> Program:
    """Run gpuenv on the login node, whose home the nodes share."""
    program = make_program(tmp_path / "user")
    file = program.home / "mirrors.toml"
    file.write_text(shop.configuration, encoding="utf-8")
    for node in ("gpu1", "gpu2"):
        cluster.home(node, tmp_path / "shared")
    return program.with_(
        GPUENV_CONFIG=str(file),
        NO_PROXY=shop.no_proxy,
        PATH=f"{program.bin}:{cluster.environ['PATH']}",
        SLURM_CONF=cluster.environ["SLURM_CONF"],
    )


def fleet(user: Program, *words: str | Path) -> Done:
    return user.run("fleet", *words, "-p", "gpu", "--json", timeout_s=180)


def hosts(done: Done) -> dict[str, dict[str, Any]]:
    return {item["host"]: item for item in done.envelope["data"]["hosts"]}


def states(done: Done) -> dict[str, str]:
    return {host: entry["state"] for host, entry in hosts(done).items()}


def test_a_partition_gets_its_environments_on_the_shared_home_each_group_its_own(
    user: Program, tmp_path: Path
) -> None:
    """Nodes that are drained or down are told; the second run changes nothing."""
    envs = tmp_path / "shared" / "data" / "envs"
    make = ("create", "paper", "torch", "--yes", *OFFICIAL)
    would = fleet(user, *make, "--check")
    assert {host: states(would)[host] for host in TORCHES} == dict.fromkeys(TORCHES, "would-make"), would.err
    assert not envs.exists()
    made = fleet(user, *make)
    assert states(made) == {
        "gpu1": "made", "gpu2": "made", "gpu3": "unreachable", "gpu4": "unreachable",
    }, made.err  # fmt: skip
    assert made.status != 0
    assert [len(hosts(made)[host]["verify"]["devices"]) for host in TORCHES] == [1, 2]
    for host, torch in TORCHES.items():
        assert installed(envs / f"paper-{NAMES[host]}")["torch"] == torch
    again = fleet(user, *make, "--limit", "gpu[1-2]")
    assert (again.status, again.envelope["data"]["changed"]) == (0, 0), again.err
    proved = fleet(user, "verify", "paper-cu126", "--limit", "gpu1")
    assert (proved.status, states(proved)) == (0, {"gpu1": "verified"}), proved.err


def sbatch(cluster: Cluster, script: Path, network: Network, *words: str) -> tuple[str, dict[str, list[str]]]:
    """Run the script as a job on two nodes, with all their GPUs; return its state and each node's lines."""
    log = script.with_suffix(".log")
    log.unlink(missing_ok=True)
    options = ("-p", "gpu", "-w", "gpu[1-2]", "-N", "2", "--gres=gpu:1", f"--output={log}")
    environ = f"--export=ALL,NO_PROXY={network.no_proxy}"
    job = cluster.submit(*options, environ, str(script), *words)
    cluster.wait(job)
    printed = log.read_text(encoding="utf-8")
    lines = {host: re.findall(rf"^{host}: (.*)$", printed, re.MULTILINE) for host in TORCHES}
    state = re.search(r"JobState=(\w+)", cluster.ask("scontrol", "show", "job", job))
    return state[1] if state else printed, lines


def test_a_script_for_sbatch_makes_and_proves_each_group_and_leaves_it_the_next_time(
    user: Program, cluster: Cluster, shop: Network, tmp_path: Path
) -> None:
    saved, script = tmp_path / "saved", tmp_path / "make it.sh"
    fleet(user, "detect", "--limit", "gpu[1-2]", "-o", saved)
    done = user.run("plan", "torch", "--machines", saved, "--format", "slurm", "-o", script, *OFFICIAL)
    assert done.status == 0, done.err
    assert f"wrote {script}" in done.err
    envs = tmp_path / "shared" / "data" / "envs"
    places = {host: envs / f"paper-{variant}" for host, variant in NAMES.items()}
    state, lines = sbatch(cluster, script, shop, "paper")
    assert (state, lines) == (
        "COMPLETED", {host: [f"made: {path}", f"it works: {path}"] for host, path in places.items()},
    )  # fmt: skip
    assert {host: installed(path)["torch"] for host, path in places.items()} == TORCHES
    record = places["gpu1"] / "gpuenv.json"
    text = record.read_text(encoding="utf-8")
    record.write_text(text.replace('"fingerprint": "', '"fingerprint": "another'), encoding="utf-8")
    state, lines = sbatch(cluster, script, shop, "paper")
    assert state == "FAILED"
    assert "created from another plan" in lines["gpu1"][0]
    assert lines["gpu2"] == [f"unchanged: {places['gpu2']}", f"it works: {places['gpu2']}"]
    state, lines = sbatch(cluster, script, shop, "--force", "paper")
    assert (state, lines["gpu1"][0]) == ("COMPLETED", f"replaced: {places['gpu1']}")


def test_a_script_of_one_plan_is_for_any_node_and_one_of_other_machines_tells_what_it_leaves_out(
    user: Program, cluster: Cluster, shop: Network, tmp_path: Path
) -> None:
    anywhere = tmp_path / "any.sh"
    words = ("--gpu", "Tesla P100", "--driver", "580.95.05", "--python", VERSION, *OFFICIAL)
    printed = user.run("plan", "torch", "--format", "slurm", *words)
    anywhere.write_text(printed.out, encoding="utf-8")
    state, lines = sbatch(cluster, anywhere, shop)
    path = tmp_path / "shared" / "data" / "envs" / "torch"
    assert state == "COMPLETED"
    assert sorted(line[0].partition(":")[0] for line in lines.values()) == ["made", "unchanged"]
    assert [line[1] for line in lines.values()] == [f"it works: {path}"] * 2
    saved = tmp_path / "saved"
    fleet(user, "detect", "--limit", "gpu1", "-o", saved)
    named = tmp_path / "named.sh"
    user.run("plan", "torch", "--machine", saved / "gpu1.json", "--format", "slurm", "-o", named, *OFFICIAL)
    state, lines = sbatch(cluster, named, shop)
    assert (state, lines["gpu2"]) == ("FAILED", ["error: this file has no plan for it"])
    assert lines["gpu1"][-1] == f"it works: {path}"


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_the_script_is_clean_and_outside_a_job_says_what_it_is_for(user: Program, tmp_path: Path) -> None:
    words = ("--gpu", "Tesla P100", "--driver", "580.95.05", "--python", VERSION, *OFFICIAL)
    script = tmp_path / "any.sh"
    assert user.run("plan", "torch", "--format", "slurm", "-o", script, *words).status == 0
    lint = subprocess.run(
        [shutil.which("shellcheck") or "", str(script)], capture_output=True, text=True, check=False
    )
    assert (lint.returncode, lint.stdout) == (0, "")
    for arguments, said in (
        ((), "this is for a job: sbatch"),
        (("../x",), "is not a valid environment name"),
        (("a b",), "is not a valid environment name"),
        (('x"; touch pwned; "',), "is not a valid environment name"),
        (("one", "two"), "usage: sbatch"),
    ):
        ended = subprocess.run(
            ["/bin/bash", str(script), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr
    assert not (tmp_path / "pwned").exists()


def test_what_can_not_be_written_is_refused_before_anything_is(user: Program, tmp_path: Path) -> None:
    own = tmp_path / "own.sh"
    own.write_text("#!/bin/bash\necho mine\n", encoding="utf-8")
    described = ("--gpu", "Tesla P100", "--driver", "580.95.05", "--python", VERSION)
    for words, said in (
        ((*described, "-o", own), "was not created by gpuenv"),
        ((*described, "-o", tmp_path / "x", "--manager", "conda"), "wheels only"),
        (("--gpu", "Tesla P100", "--platform", "win-64", "-o", tmp_path / "x"), "Windows"),
    ):
        done = user.run("plan", "torch", "--format", "slurm", *OFFICIAL, *words)
        assert (done.status, said in done.err) == (2, True), (words, done.err)
    assert [path.name for path in tmp_path.glob("*.sh")] == ["own.sh"]
    assert "mine" in own.read_text(encoding="utf-8")
    assert not (tmp_path / "x").exists()
