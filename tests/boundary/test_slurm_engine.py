"""Slurm for real: a controller and nodes on this machine, one drained, one down."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_lab import Lab
from slurm_cluster import DRAINED, Cluster, needs_slurm, slurm_cluster
from stand_ins import packed

import gpuenv
from gpuenv.fleet.engines.slurm import Slurm
from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.run_model import HostResult, NodeTask
from gpuenv.model.errors import UsageError

pytestmark = [pytest.mark.slow, needs_slurm]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with slurm_cluster(tmp_path_factory.mktemp("slurm") / "c") as value:
        yield value


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.fixture(autouse=True)
def _nothing_is_left(cluster: Cluster, tmp_path: Path) -> Iterator[None]:
    """Neither here nor on the nodes, nor in the queue."""
    yield
    for node in ("gpu1", "gpu2"):
        assert not list(cluster.home(node).joinpath("tmp").iterdir())
    assert not list((tmp_path / "tmp").iterdir())
    assert "gpuenv" not in cluster.ask("squeue", "-h", "-t", "PD,R", "-o", "%j")


def engine(cluster: Cluster, program: bytes | None = None, **options: Any) -> Slurm:
    program = program or node_app()
    return Slurm(program, **{"partition": "gpu", "environ": cluster.environ, **options})


def serve(
    who: Slurm, action: Any, requests: dict[str, dict[str, Any]], *, check: bool = False
) -> tuple[dict[str, HostResult], list[HostResult]]:
    """Run a task; return the results by host, and all that was told meanwhile."""
    host_results: list[HostResult] = []
    results = who.run(NodeTask(action, requests, check), host_results.append)
    assert [result.host for result in results] == list(requests)
    assert {result.host: result for result in host_results} == {result.host: result for result in results}
    return {result.host: result for result in results}, host_results


def test_every_node_is_served_or_told_why_not(cluster: Cluster) -> None:
    """Detect sees the GPUs of a node, which Slurm hides from jobs that do not ask for them."""
    who = engine(cluster)
    assert who.hosts() == ("gpu1", "gpu2", "gpu3", "gpu4")
    results, host_results = serve(who, "detect", {**{host: {} for host in who.hosts()}, "ghost": {}})
    assert {host: result.state for host, result in results.items()} == {
        "gpu1": "done", "gpu2": "done", "gpu3": "unreachable", "gpu4": "unreachable", "ghost": "failed",
    }  # fmt: skip
    assert "Tesla P100" in json.dumps(results["gpu1"].answer)
    assert json.dumps(results["gpu2"].answer).count("NVIDIA B200") == 2
    assert results["gpu3"].message == f"Slurm reports it as `drained`: {DRAINED}"
    assert results["gpu4"].message == "Slurm reports it as `down`: no power"
    assert results["ghost"].message == "Slurm has no such node in the partition"
    assert next(result.state for result in host_results if result.host == "gpu1") == "waiting"


def test_on_a_shared_home_one_node_makes_it_and_a_failure_stops_no_other(
    cluster: Cluster, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for node in ("gpu1", "gpu2"):
        cluster.home(node, home)
    request = Lab(tmp_path).request()
    who = engine(cluster, forks=2)
    would, _ = serve(who, "create", {"gpu1": request}, check=True)
    assert would["gpu1"].answer
    assert would["gpu1"].answer["state"] == "would-make"
    assert not (home / "data").exists()
    made, _ = serve(who, "create", {"gpu1": request, "gpu2": request})
    answers = [result.answer or {} for result in made.values()]
    assert sorted((answer["state"], answer["changed"]) for answer in answers) == [
        ("made", True),
        ("unchanged", False),
    ]
    assert (home / "data" / "envs" / "paper" / "gpuenv.json").is_file()
    lost = {**request, "name": "other", "requirements": "--no-index\nnowhere==1.0\n"}
    mixed, _ = serve(who, "create", {"gpu1": lost, "gpu2": request})
    assert mixed["gpu1"].answer
    assert mixed["gpu1"].answer["error"]["code"] == "install-failed"
    assert mixed["gpu2"].answer
    assert mixed["gpu2"].answer["state"] == "unchanged"
    assert [path.name for path in (home / "data" / "envs").iterdir()] == ["paper"]


def test_a_busy_node_is_waited_for_and_told_so_or_given_up(cluster: Cluster) -> None:
    """What Slurm's variables and options ask for counts."""
    job = cluster.submit("-p", "gpu", "-w", "gpu1", "-c2", "--wrap", "sleep 600")
    cluster.wait(job, "RUNNING")
    impatient, _ = serve(engine(cluster, wait_s=1), "detect", {"gpu1": {}, "gpu2": {}})
    assert impatient["gpu2"].state == "done"
    assert impatient["gpu1"].state == "failed"
    assert impatient["gpu1"].message == (
        "srun failed (status 1): srun: error: Unable to allocate resources: Requested nodes are busy"
    )
    results: list[HostResult] = []

    def on_host(host_result: HostResult) -> None:
        results.append(host_result)
        if host_result.message:
            cluster.ask("scancel", job)

    (result,) = engine(cluster).run(NodeTask("detect", {"gpu1": {}}), on_host)
    assert result.state == "done"
    assert ("waiting", "queued by Slurm: Resources") in [
        (host_result.state, host_result.message) for host_result in results
    ]
    spare = engine(cluster, options=("reservation=nothing",))
    refused, _ = serve(spare, "detect", {"gpu1": {}})
    assert "eservation" in refused["gpu1"].message


def test_ctrl_c_cancels_jobs_at_work_and_in_the_queue_and_the_program_may_clean_up(
    cluster: Cluster, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_INTERRUPTED, encoding="utf-8")
    (tmp_path / "slow.pyz").write_bytes(packed(_SLOW))
    argv = [sys.executable, str(script), str(tmp_path / "slow.pyz")]
    sources = str(Path(gpuenv.__file__).parents[1])
    environ = {**cluster.environ, "PYTHONPATH": sources, "TMPDIR": str(tmp_path / "tmp")}
    job = cluster.submit("-p", "gpu", "-w", "gpu2", "-c2", "--wrap", "sleep 600")
    cluster.wait(job, "RUNNING")
    home = cluster.home("gpu1")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        queued = False
        while process.poll() is None and not (queued and (home / "at-work").is_file()):
            queued = queued or "PD" in cluster.ask("squeue", "-h", "-o", "%t")
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    cluster.ask("scancel", job)
    assert out.splitlines()[-1] == "interrupted"
    assert (home / "at-work").read_text() == "cleaned up"
    (home / "at-work").unlink()


def test_what_a_listener_raises_comes_back_when_the_jobs_are_cancelled(cluster: Cluster) -> None:
    def closed(result: HostResult) -> None:
        if result.state == "running":
            raise BrokenPipeError

    who = engine(cluster, packed("import time; time.sleep(600)"))
    with pytest.raises(BrokenPipeError):
        who.run(NodeTask("detect", {"gpu1": {}, "gpu2": {}}), closed)


def test_a_program_that_gives_no_answer_is_told_with_its_last_words(cluster: Cluster) -> None:
    answers = {
        "import sys; sys.exit('out of \\udcff luck')": "out of",
        "print('{')": "{",
        "print('[1]')": "[1]",
        "print('[' * 100000)": "[[[[",
        "import os; os.write(1, b'\\xff\\xfe')": "",
        "import os; os.kill(os.getpid(), 9)": "Killed",
    }
    for program, words in answers.items():
        results, _ = serve(engine(cluster, packed(program)), "detect", {"gpu1": {}})
        assert results["gpu1"].state == "failed"
        assert results["gpu1"].message.startswith("srun failed (status ")
        assert words in results["gpu1"].message
    (left,) = cluster.home("gpu1").joinpath("tmp").iterdir()  # of the one that was killed
    shutil.rmtree(left)


def test_inside_a_job_the_jobs_variables_do_not_count(cluster: Cluster) -> None:
    ours = {"SLURM_JOB_ID": "1", "SLURM_NODELIST": "gpu9", "SLURM_NNODES": "9", "SLURM_LABELIO": "1"}
    who = engine(cluster, environ={**cluster.environ, **ours})
    results, _ = serve(who, "detect", {"gpu1": {}})
    assert results["gpu1"].state == "done"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"partition": "nope"}, "no-hosts", "gpu, spare"),
        ({"limit": "cpu*"}, "no-hosts", "gpu[1-4]"),
        ({"limit": "gpu[1"}, "bad-limit", "gpu[1-4]"),
        ({"environ": {"PATH": "/nowhere"}}, "no-slurm", "login node"),
    ],
)
def test_nodes_that_are_not_there_are_a_usage_error(
    options: dict[str, Any], code: str, words: str, cluster: Cluster
) -> None:
    with pytest.raises(UsageError) as caught:
        engine(cluster, **options).hosts()
    assert caught.value.code == code
    assert words in caught.value.fixes[0].text


def test_nodes_are_named_as_slurm_does(cluster: Cluster) -> None:
    assert engine(cluster, limit="gpu[2-3],gpu?,gpu1").hosts() == ("gpu1", "gpu2", "gpu3", "gpu4")
    assert engine(cluster, limit="*[2-3]").hosts() == ("gpu2", "gpu3")
    assert engine(cluster, partition="spare,gpu", limit="gpu4").hosts() == ("gpu4",)


_SLOW = """
import os, signal, sys, time
place = os.path.join(os.environ["HOME"], "at-work")
def cleaned(*_):
    time.sleep(1)
    with open(place, "w") as file:
        file.write("cleaned up")
    sys.exit(0)
signal.signal(signal.SIGTERM, cleaned)
open(place, "w").close()
time.sleep(600)
"""
_INTERRUPTED = """
import os, sys
from pathlib import Path
from gpuenv.fleet.engines.slurm import Slurm
from gpuenv.fleet.run_model import NodeTask
told = lambda one: print(one.host, one.state, flush=True)
try:
    Slurm(Path(sys.argv[1]).read_bytes(), "gpu").run(NodeTask("detect", {"gpu1": {}, "gpu2": {}}), told)
except KeyboardInterrupt:
    print("interrupted")
"""
