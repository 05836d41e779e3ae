"""`gpuenv plan --format ansible`: a playbook that Ansible alone runs, on hosts without gpuenv."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_lab import B200, P100, VERSION, Lab, needs_ansible, torch_with
from deciding import gpu_machine, machine
from fleets import save
from msgspec.structs import replace
from replica_network import Network
from running import Done, Program, make_program
from tiny_stack import installed, publish_torches

from gpuenv.model.machine import FoundPython, Machine

HERE = (FoundPython(".".join(map(str, sys.version_info[:3])), sys.executable),)
OFFICIAL = ("--mirror", "official")


@pytest.fixture(scope="module")
def maker(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Run gpuenv against the official indexes, on which there are tiny torches."""
    publish_torches(network, tmp_path_factory.mktemp("wheels"))
    program = make_program(tmp_path_factory.mktemp("maker") / "user")
    file = program.home / "mirrors.toml"
    file.write_text(network.configuration, encoding="utf-8")
    return program.with_(GPUENV_CONFIG=str(file), NO_PROXY=network.no_proxy)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def with_pythons(item: Machine) -> Machine:
    return replace(item, pythons=HERE)


def plan(maker: Program, *words: str | Path) -> Done:
    return maker.run("plan", "torch", "--format", "ansible", *OFFICIAL, *words)


def play(lab: Lab, network: Network, folder: Path, *words: str) -> tuple[dict[str, dict[str, int]], str]:
    """Run the playbook as a person does; return the recap by host, and all that was printed."""
    (lab.root / "person").mkdir(exist_ok=True)
    environ = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(lab.root / "person"),
        "LANG": "C.UTF-8",
        "ANSIBLE_REMOTE_TMP": str(lab.root / "remote"),
        "NO_PROXY": network.no_proxy,
    }
    argv = ["ansible-playbook", "-i", str(lab.inventory), str(folder / "playbook.yml"), *words]
    done = subprocess.run(
        argv, env=environ, cwd=lab.root / "person", capture_output=True, text=True, timeout=120, check=False
    )
    rows = re.findall(r"^(\S+) +: (ok=.*)$", done.stdout, re.MULTILINE)
    recap = {
        host: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", counts)}
        for host, counts in rows
    }
    return recap, done.stdout + done.stderr


@pytest.mark.slow
@needs_ansible
def test_each_group_gets_its_environment_once_and_it_is_proved(
    maker: Program, network: Network, lab: Lab, tmp_path: Path
) -> None:
    """One host has a GPU that does not work: it alone fails, and what was made there stays."""
    saved = {
        "b200": gpu_machine("580.95.05", "B200"),
        "p100": gpu_machine("580.95.05", "Tesla P100"),
        "worn": gpu_machine("580.95.05", "Tesla P100"),
    }
    for name, item in saved.items():
        save(tmp_path / "saved", name, with_pythons(item))
    folder = tmp_path / "out"
    done = plan(maker, "--machines", tmp_path / "saved", "-o", folder)
    assert done.status == 0, done.err
    assert f"wrote {folder / 'playbook.yml'}" in done.err
    gpus = {"b200": B200, "p100": P100, "worn": P100}
    faults = {"worn": [["matmul", "cuda:0", "wrong"]]}
    lab.write(
        *(lab.local(host, more=torch_with(gpu, faults=faults.get(host, []))) for host, gpu in gpus.items()),
        lab.away("away"),
    )
    recap, printed = play(lab, network, folder, "--check")
    assert {host: counts["changed"] for host, counts in recap.items()} == dict.fromkeys(gpus, 1), printed
    assert not any(lab.environment(host, "torch").exists() for host in gpus)
    recap, printed = play(lab, network, folder)
    assert {host: (entry["changed"], entry["failed"]) for host, entry in recap.items()} == {
        "b200": (1, 0), "p100": (1, 0), "worn": (1, 1),
    }, printed  # fmt: skip
    assert f"{P100.name}: matmul" in printed
    assert {host: installed(lab.environment(host, "torch"))["torch"] for host in gpus} == {
        "b200": "2.15.0+cu130", "p100": "2.14.1+cu126", "worn": "2.14.1+cu126",
    }  # fmt: skip
    recap, printed = play(lab, network, folder, "--limit", "!worn")
    assert {host: (entry["changed"], entry["failed"]) for host, entry in recap.items()} == {
        "b200": (0, 0), "p100": (0, 0),
    }, printed  # fmt: skip


@pytest.mark.slow
@needs_ansible
def test_a_plan_of_no_named_machine_is_for_the_hosts_that_it_is_run_on(
    maker: Program, network: Network, lab: Lab, tmp_path: Path
) -> None:
    """Under a name or at a path that the person gives; another plan replaces it only where that is said."""
    words = ("--gpu", "Tesla P100", "--driver", "580.95.05", "--python", VERSION, "-o", tmp_path / "out")
    assert plan(maker, *words).status == 0
    lab.write(lab.local("one", more=torch_with(P100)), lab.local("two"))
    chosen = ("-e", "gpuenv_hosts=one", "-e", "gpuenv_name=paper")
    recap, printed = play(lab, network, tmp_path / "out", *chosen)
    assert {host: (entry["changed"], entry["failed"]) for host, entry in recap.items()} == {"one": (1, 0)}, (
        printed
    )
    record = lab.environment("one", "paper") / "gpuenv.json"
    before = record.read_text(encoding="utf-8")
    record.write_text(before.replace('"fingerprint": "', '"fingerprint": "another'), encoding="utf-8")
    recap, printed = play(lab, network, tmp_path / "out", *chosen)
    assert (recap["one"]["failed"], "created from another plan" in printed) == (1, True)
    recap, printed = play(
        lab, network, tmp_path / "out", *chosen, "-e", "gpuenv_force=true", "--tags", "create"
    )
    assert (recap["one"]["failed"], recap["one"]["changed"]) == (0, 1), printed
    path = tmp_path / "elsewhere"
    recap, printed = play(
        lab, network, tmp_path / "out", "-e", f"gpuenv_name={path}", "--limit", "two", "--tags", "create"
    )
    assert installed(path)["torch"] == "2.14.1+cu126", printed


def test_machines_without_a_plan_are_told_and_the_others_get_their_playbook(
    maker: Program, tmp_path: Path
) -> None:
    save(tmp_path / "saved", "p100", with_pythons(gpu_machine("580.95.05", "Tesla P100")))
    windows = gpu_machine("580.95.05", "GeForce RTX 4090", platform="win-64")
    save(tmp_path / "saved", "windows", with_pythons(windows))
    save(tmp_path / "saved", "old", with_pythons(gpu_machine("340.29", "Tesla K40c")))
    done = plan(maker, "--machines", tmp_path / "saved", "-o", tmp_path / "out")
    assert done.status == 3
    assert "2 of 3 machines are not supported" in done.err
    assert "windows: machines with Windows" in done.err
    text = (tmp_path / "out" / "playbook.yml").read_text(encoding="utf-8")
    assert '- "p100"' in text
    assert "old" not in text


@pytest.mark.slow
def test_the_pythons_of_the_machines_are_the_only_ones(maker: Program, tmp_path: Path) -> None:
    """Nothing is brought there: what has only an old Python gets the torch that it can have."""
    old = replace(
        gpu_machine("580.95.05", "Tesla P100"), pythons=(FoundPython("3.8.10", "/usr/bin/python3"),)
    )
    file = save(tmp_path, "old", old)
    done = plan(maker, "--machine", file, "-o", tmp_path / "out", "--json")
    (group,) = done.data["groups"]
    assert group["python"] == "3.8"


@pytest.mark.parametrize(
    "name", ["all", "{{ lookup('pipe', 'touch pwned') }}", "gpu[1:9]", "~x", "a,b", "-x"]
)
def test_a_machine_whose_name_is_no_hosts_is_refused(maker: Program, tmp_path: Path, name: str) -> None:
    save(tmp_path / "saved", name, with_pythons(gpu_machine("580.95.05", "Tesla P100")))
    done = plan(maker, "--machines", tmp_path / "saved", "-o", tmp_path / "out")
    assert done.status == 2
    assert "is not a valid host name" in done.err
    assert not (tmp_path / "out").exists()


def _refused(tmp_path: Path) -> Iterator[tuple[tuple[str | Path, ...], str]]:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "playbook.yml").write_text("- hosts: all\n", encoding="utf-8")
    p100 = ("--gpu", "Tesla P100", "--driver", "580.95.05")
    yield p100, "-o DIR"
    yield (*p100, "-o", "-"), "-o DIR"
    yield (*p100, "-o", tmp_path / "file"), "-o DIR"
    yield (*p100, "-o", tmp_path / "own"), "was not created by gpuenv"
    yield (*p100, "-o", tmp_path / "out", "--manager", "conda"), "wheels only"
    yield ("--gpu", "Tesla P100", "--platform", "win-64", "-o", tmp_path / "out"), "Windows"


@pytest.mark.slow
def test_what_can_not_be_written_is_refused_before_anything_is(maker: Program, tmp_path: Path) -> None:
    for words, said in _refused(tmp_path):
        done = plan(maker, *words)
        assert (done.status, said in done.err) == (2, True), (words, done.err)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "own", "playbook.yml"]


def test_a_login_node_without_a_gpu_plans_for_the_cpu_with_its_own_pythons(
    maker: Program, tmp_path: Path
) -> None:
    file = save(tmp_path, "login", with_pythons(machine({})))
    done = plan(maker, "--machine", file, "-o", tmp_path / "out", "--cuda", "cpu", "--json")
    assert [group["variant"] for group in done.data["groups"]] == ["cpu"]
