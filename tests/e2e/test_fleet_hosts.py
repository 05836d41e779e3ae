"""The work on many machines, host by host: each is this machine, and runs the node program itself."""

from __future__ import annotations

import html
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_nvidia_smi import FakeGpu
from local_engine import LocalEngine
from msgspec.structs import replace
from replica_network import Network
from tiny_stack import installed, publish_torches

from gpuenv.fleet.names import group_names
from gpuenv.fleet.output_files import save_machines
from gpuenv.fleet.render.report import render_report
from gpuenv.fleet.render.run import error_of, render_run_data
from gpuenv.fleet.run import Fleet
from gpuenv.fleet.run_model import Action, FleetRun, HostOutcome, NodeTask
from gpuenv.operations.verify import VerifyOptions
from gpuenv.planning.machines import read_machine
from gpuenv.planning.options import PlanOptions

pytestmark = pytest.mark.slow

P100, B200, K40 = (
    FakeGpu("Tesla P100-PCIE-16GB", "6.0"), FakeGpu("NVIDIA B200", "10.0"), FakeGpu("Tesla K40m", "3.5")
)  # fmt: skip
DRIVER = "580.95.05"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
OPTIONS = PlanOptions(("torch",), mirrors=("official",), python=PYTHON)
COMMAND = FleetRun("create", "ansible", (), "paper")


class Told:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.begun: list[tuple[Action, int]] = []
        self.waits: list[tuple[str, str]] = []
        self.at_work: list[str] = []
        self.outcomes: list[HostOutcome] = []

    def begin(self, action: Action, hosts: int) -> None:
        self.begun.append((action, hosts))

    def waiting(self, host: str, why: str) -> None:
        self.waits.append((host, why))

    def running(self, host: str) -> None:
        self.at_work.append(host)

    def ended(self, outcome: HostOutcome) -> None:
        self.outcomes.append(outcome)


@pytest.fixture(scope="module", autouse=True)
def _torches(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_torches(network, tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def environ(network: Network, isolation: None, tmp_path: Path) -> dict[str, str]:
    """Where the one who works on the fleet looks."""
    file = tmp_path / "mirrors.toml"
    file.write_text(network.configuration, encoding="utf-8")
    own = {
        "GPUENV_CONFIG": str(file), "NO_PROXY": network.no_proxy, "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "GPUENV_DATA_DIR": str(tmp_path / "data"), "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull,
    }  # fmt: skip
    return {**os.environ, **own}


@pytest.fixture
def lab(tmp_path: Path, network: Network) -> Lab:
    return Lab(LocalEngine(tmp_path / "hosts"), network.no_proxy)


class Lab:
    """Hosts, and how they are made."""

    def __init__(self, engine: LocalEngine, no_proxy: str) -> None:
        self.engine = engine
        self.no_proxy = no_proxy
        engine.root.mkdir()

    def host(self, name: str, *gpus: FakeGpu, **variables: str) -> Path:
        return self.engine.host(
            name, DRIVER, *gpus, **{"NO_PROXY": self.no_proxy, "FAKE_TORCH": torch_of(*gpus), **variables}
        )

    def installed(self, host: str, name: str = "paper") -> dict[str, str]:
        return installed(self.engine.environment(host, name))


def torch_of(*gpus: FakeGpu, **more: Any) -> str:
    """Return what the tiny torch of a host is to find there."""
    lists = [[gpu.name, [int(part) for part in gpu.capability.split(".")]] for gpu in gpus]
    return json.dumps({"gpus": lists, **more})


def create(lab: Lab, environ: dict[str, str], *, shared: bool = False, **how: bool) -> FleetRun:
    fleet = Fleet(lab.engine, Told(), environ)
    fleet.detect()
    fleet.decide(OPTIONS)
    fleet.lock(OPTIONS)
    assert fleet.plan
    names = group_names("paper", fleet.plan, shared_home=shared)
    fleet.create(names, **how)
    if not how.get("check"):
        fleet.verify(names, VerifyOptions())
    return fleet.run(replace(COMMAND, check=how.get("check", False)))


def states(run: FleetRun) -> dict[str, str]:
    return {outcome.host: outcome.state for outcome in run.hosts}


def page(run: FleetRun) -> str:
    return render_report(run, style="", made_by="gpuenv", made_on="today")


def exit_code(run: FleetRun) -> int:
    error = error_of(run)
    return error.exit_code if error else 0


def breaks_installing(home: Path, words: str) -> None:
    program = home / "bin" / "uv"
    program.unlink()
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)


def test_hosts_that_fail_fall_out_with_their_reason_and_the_others_are_served(
    lab: Lab, environ: dict[str, str]
) -> None:
    for name, gpu in (("old1", P100), ("old2", P100), ("new", B200)):
        lab.host(name, gpu)
    words = "fatal error: Python.h: No such file or directory, from https://me:s3cret@index.example.com/x"
    breaks_installing(lab.host("unlucky", P100), words)
    lab.host("worn", P100, FAKE_TORCH=torch_of(P100, faults=[["matmul", "cuda:0", "wrong"]]))
    lab.host("ancient", K40)
    lab.engine.away("away")
    would = create(lab, environ, check=True)
    left_out = {"ancient": "not-served", "away": "unreachable"}
    served = ("old1", "old2", "new", "unlucky", "worn")
    assert states(would) == {**dict.fromkeys(served, "would-make"), **left_out}
    assert (would.changed, exit_code(would)) == (0, 4)
    assert not any(lab.engine.environment(host, "paper").exists() for host in served)
    run = create(lab, environ)
    made = dict.fromkeys(("old1", "old2", "new"), "made")
    assert states(run) == {**made, "unlucky": "not-made", "worn": "not-verified", **left_out}
    assert (run.changed, exit_code(run)) == (4, 5)
    assert {host: lab.installed(host)["torch"] for host in ("old1", "old2", "new", "worn")} == {
        "old1": "2.14.1+cu126", "old2": "2.14.1+cu126", "new": "2.15.0+cu130", "worn": "2.14.1+cu126",
    }  # fmt: skip
    outcomes = {outcome.host: outcome for outcome in run.hosts}
    assert "fatal error: Python.h: No such file or directory" in outcomes["unlucky"].log
    assert any("this means" in text for text in outcomes["unlucky"].because)
    assert "`matmul`" in str(outcomes["worn"].problem)
    assert [outcomes[host].is_proved for host in ("old1", "worn", "unlucky")] == [True, False, None]
    assert {outcome.host: outcome.group for outcome in run.hosts if outcome.group} == {
        "new": 1, "old1": 2, "old2": 2, "unlucky": 2, "worn": 2,
    }  # fmt: skip
    data = json.loads(json.dumps(render_run_data(run)))
    assert [group["machines"] for group in data["groups"]] == [["new"], ["old1", "old2", "unlucky", "worn"]]
    assert data["changed"] == 4
    assert all(host in page(run) for host in outcomes)
    assert "index.example.com" in page(run)
    assert "s3cret" not in page(run) + json.dumps(data)
    again = create(lab, environ)
    assert again.changed == 0
    assert [states(again)[host] for host in ("old1", "old2", "new")] == ["unchanged"] * 3


def test_what_is_there_of_another_plan_stays_unless_it_is_forced(lab: Lab, environ: dict[str, str]) -> None:
    other = lab.host("one", P100) / "data" / "envs" / "paper" / "bin"
    other.mkdir(parents=True)
    (other.parent / "pyvenv.cfg").touch()
    (other / "python").symlink_to(sys.executable)
    kept = create(lab, environ)
    (outcome,) = kept.hosts
    assert (outcome.state, outcome.code, outcome.changed) == ("not-made", "environment-exists", False)
    assert create(lab, environ, force=True, check=True).hosts[0].state == "would-replace"
    replaced = create(lab, environ, force=True)
    assert (replaced.hosts[0].state, replaced.hosts[0].is_proved) == ("replaced", True)


def test_an_environment_is_held_to_its_plan_long_after(lab: Lab, environ: dict[str, str]) -> None:
    lab.host("one", P100)
    create(lab, environ)
    known = lab.engine.known["one"]
    assert isinstance(known, dict)
    for version, states_then in (("2.14.1+cu126", "verified"), ("2.0.0", "not-verified")):
        known["FAKE_TORCH"] = torch_of(P100, version=version)
        fleet = Fleet(lab.engine, Told(), environ)
        fleet.detect()
        fleet.verify("paper", VerifyOptions())
        (outcome,) = fleet.hosts
        assert outcome.state == states_then
    assert outcome.problem == "torch 2.0.0 is installed; the plan had 2.14.1+cu126"


def test_on_a_shared_home_a_group_is_made_once_and_groups_have_names_of_their_own(
    lab: Lab, environ: dict[str, str]
) -> None:
    home = lab.engine.root / "shared"
    for name, gpu in (("old1", P100), ("old2", P100), ("new", B200)):
        lab.host(name, gpu, GPUENV_DATA_DIR=str(home))
    run = create(lab, environ, shared=True)
    assert sorted(outcome.state for outcome in run.hosts) == ["made", "made", "unchanged"]
    assert {outcome.environment for outcome in run.hosts} == {
        str(home / "envs" / "paper-cu126"), str(home / "envs" / "paper-cu130"),
    }  # fmt: skip
    assert all(outcome.is_proved for outcome in run.hosts)


def test_a_machine_without_a_gpu_goes_with_the_others_and_is_proved_on_its_cpu(
    lab: Lab, environ: dict[str, str]
) -> None:
    lab.host("login")
    lab.host("node", P100)
    run = create(lab, environ)
    assert states(run) == {"login": "made", "node": "made"}
    assert lab.installed("login")["torch"] == "2.14.1+cu126"
    assert all(outcome.is_proved for outcome in run.hosts)


HOSTILE = {
    "list": [1, 2],
    "empty": {},
    "schema": {"schema_version": 99, "ok": True, "told": {}},
    "deep": json.loads("[" * 400 + "]" * 400),
    "big": {"schema_version": 1, "ok": True, "told": {"platform": "x" * 10_000_000}},
    "html": {
        "schema_version": 1, "ok": False, "log": "<script>alert(1)</script>\x1b[2J",
        "error": {"code": "<i>", "message": "<img src=x onerror=alert(1)>", "because": ["</pre>", "\ud800"]},
    },
    "types": {"schema_version": 1, "ok": "yes", "told": 7},
}  # fmt: skip


def test_answers_of_any_kind_are_told_and_do_no_harm(lab: Lab, environ: dict[str, str]) -> None:
    names = {name: f'<b onclick="x">{name}</b>\x1b[31m\n' for name in HOSTILE}
    for name, answer in HOSTILE.items():
        lab.engine.answers(names[name], lambda _, answer=answer: answer)
    lab.host("good", P100)
    run = create(lab, environ)
    assert states(run) == {**dict.fromkeys(names.values(), "failed"), "good": "made"}
    assert all(
        outcome.problem and len(outcome.problem) < 3000 for outcome in run.hosts if outcome.host != "good"
    )
    text = page(run)
    assert len(text) < 200_000
    assert "<b onclick" not in text
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert html.escape('<b onclick="x">list</b>') in text
    text.encode()


def test_an_answer_to_create_that_is_none_is_a_failure_of_that_host(
    lab: Lab, environ: dict[str, str]
) -> None:
    """It told well what it is, and then lies."""
    lab.host("liar", P100)
    known = lab.engine.known.pop("liar")

    def answer(task: NodeTask) -> Any:
        if task.action == "detect":
            lab.engine.known["real"] = known
            return lab.engine.ask("real", NodeTask("detect", {"real": {}})).answer
        state = {"schema_version": 1, "ok": True, "changed": True, "state": "conquered", "environment": "/x"}
        return state if task.action == "create" else {}

    lab.engine.answers("liar", answer)
    run = create(lab, environ)
    assert (run.hosts[0].state, run.hosts[0].code) == ("failed", "bad-answer")
    assert "conquered" in str(run.hosts[0].problem)


def test_what_was_known_when_it_was_interrupted_is_told(lab: Lab, environ: dict[str, str]) -> None:
    for name in ("a", "b", "c"):
        lab.host(name, P100)
    lab.engine.interrupt_at = ("create", "c")
    reported = Told()
    fleet = Fleet(lab.engine, reported, environ)
    fleet.detect()
    fleet.decide(OPTIONS)
    fleet.lock(OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        fleet.create({1: "paper"})
    run = fleet.run(replace(COMMAND, interrupted=True))
    assert states(run)["c"] == "running"
    assert set(states(run).values()) <= {"made", "running", "waiting"}
    assert ("c", "Resources") in reported.waits
    assert "interrupted" in page(run)
    lab.engine.interrupt_at = None
    assert set(states(create(lab, environ)).values()) <= {"made", "unchanged"}


def test_what_hosts_told_is_saved_as_detect_prints_it(
    lab: Lab, environ: dict[str, str], tmp_path: Path
) -> None:
    lab.host("gpu1", P100)
    lab.engine.known["../GPU1 é"] = lab.engine.known["gpu1"]
    lab.engine.away("away")
    fleet = Fleet(lab.engine, Told(), environ)
    fleet.detect()
    files = save_machines(fleet.run(replace(COMMAND, command="detect")), tmp_path / "saved")
    assert files[0].name == "gpu1.json"
    assert sorted(path.parent for path in files) == [tmp_path / "saved"] * 2
    machines = [replace(read_machine(path), facts=()) for path in files]
    assert machines == [replace(outcome.machine, facts=()) for outcome in fleet.hosts if outcome.machine]


def test_two_hundred_hosts_are_each_in_one_group_or_have_a_reason(lab: Lab, environ: dict[str, str]) -> None:
    kinds = {"p": P100, "b": B200, "k": K40}
    answers = {}
    for kind, gpu in kinds.items():
        lab.host(kind, gpu)
        answers[kind] = lab.engine.ask(kind, NodeTask("detect", {kind: {}})).answer
    lab.engine.known.clear()
    for number in range(200):
        kind = "pbk"[number % 3]
        lab.engine.answers(f"node{number:03}", lambda _, kind=kind: answers[kind])
    reported = Told()
    fleet = Fleet(lab.engine, reported, environ)
    fleet.detect()
    fleet.decide(OPTIONS)
    run = fleet.run(replace(COMMAND, command="plan"))
    assert reported.begun == [("detect", 200)]
    assert len(reported.outcomes) == 200
    assert {outcome.state for outcome in run.hosts} == {"planned", "not-served"}
    assert all((outcome.group is None) == bool(outcome.problem) for outcome in run.hosts)
    assert run.fleet
    assert len(run.fleet.groups) == 2
    assert page(run).count("<tbody>") == 200
