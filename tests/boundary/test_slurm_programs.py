"""Programs of Slurm that are missing, hang, or print what nobody expects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpuenv.fleet.engines import slurm
from gpuenv.fleet.engines.slurm import Slurm
from gpuenv.fleet.run_model import HostResult, NodeTask
from gpuenv.model.errors import UsageError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shell scripts")
NODES = "printf 'gpu1|idle|gpu:a100:4(S:0-1)|none\\ngpu2|idle|(null)|none\\n'"
ANSWERS = "cat > /dev/null; echo '{\"ok\": true}'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def program(path: Path, name: str, text: str) -> None:
    """Put a program on PATH that notes how it was called."""
    file = path / name
    note = f"printf '%s\\n' \"$@\" > {path / name}.called"
    file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{note}\n{text}\n", encoding="utf-8")
    file.chmod(0o755)


def engine(path: Path, **options: Any) -> Slurm:
    variables = options.pop("variables", {})
    return Slurm(b"program", "gpu", environ={"PATH": str(path), **variables}, **options)


def serve(who: Slurm, *hosts: str, action: Any = "detect") -> dict[str, HostResult]:
    return {
        result.host: result
        for result in who.run(NodeTask(action, {host: {} for host in hosts}), lambda _: None)
    }


def why(path: Path) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        engine(path).hosts()
    return caught.value.code, " ".join(
        [caught.value.message, *(reason.text for reason in caught.value.because)]
    )


def test_where_slurm_is_missing_or_silent_it_is_a_usage_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why(path) == ("no-slurm", "`sinfo` is not on PATH: Slurm is not installed here")
    program(path, "sinfo", "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1")
    code, said = why(path)
    assert (code, "Unable to contact" in said) == ("slurm-failed", True)
    program(path, "sinfo", "printf '\\377\\376\\033[31m<html>'")
    assert why(path)[0] == "slurm-failed"
    program(path, "sinfo", "exec sleep 600")
    monkeypatch.setattr(slurm, "_ASK_S", 0.2)
    assert why(path) == ("slurm-failed", "Slurm does not respond it timed out after 0.2 s")
    program(path, "sinfo", ":")
    assert why(path) == ("no-hosts", "Slurm has no nodes in the partition `gpu`")
    program(path, "sinfo", NODES)
    with pytest.raises(UsageError) as caught:
        serve(engine(path), "gpu1")
    assert caught.value.code == "no-slurm"
    assert serve(engine(path)) == {}


def test_what_a_node_prints_is_an_answer_or_told_as_none(path: Path) -> None:
    program(path, "sinfo", NODES)
    for text, state, said in (
        (ANSWERS, "done", ""),
        ("printf 'noise\\n{\"ok\": true}\\n\\n'; exit 3", "done", ""),
        ("printf '\\377\\376'; exit 9", "failed", "status 9"),
        ("printf '[1]'", "failed", "[1]"),
        ("printf '{\"a\": \\033[31m'", "failed", "status 0"),
        ("head -c 300000 /dev/zero | tr '\\0' '['", "failed", "status 0"),
        (
            "echo 'srun: error: Unable to allocate resources: Invalid account' >&2; exit 1",
            "failed",
            "Invalid account",
        ),
        ("kill -9 $$", "failed", "status -9"),
    ):
        program(path, "srun", text)
        (result,) = serve(engine(path), "gpu1").values()
        assert (result.state, said in result.message) == (state, True), (text, result.message)
        assert all(line.isprintable() for line in result.message.split("\n"))
        assert len(result.message) < 5000


def test_more_than_a_host_may_print_ends_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuenv.fleet.engines.slurm_jobs._LARGEST", 1000)
    program(path, "sinfo", NODES)
    program(path, "srun", "head -c 2000 /dev/zero; exec sleep 600")
    (result,) = serve(engine(path), "gpu1").values()
    assert result.state == "failed"


def test_a_job_asks_for_the_gpus_of_its_node_unless_it_is_told_otherwise(path: Path) -> None:
    """Only detect and verify need GPUs; a job that made an environment would wait for them in vain."""
    program(path, "sinfo", NODES)
    program(path, "srun", ANSWERS)

    def called(host: str = "gpu1", action: str = "detect", **options: Any) -> list[str]:
        serve(engine(path, **options), host, action=action)
        return (path / "srun.called").read_text(encoding="utf-8").splitlines()

    assert "--gres=gpu:4" in called()
    assert "--gres=gpu:4" in called(action="verify")
    for call in (
        called(action="create"),
        called("gpu2"),
        called(options=("gpus-per-node=1",)),
        called(options=("-G1",)),
        called(options=("--gres=gpu:1",)),
        called(variables={"SLURM_GRES": "gpu:2"}),
        called(variables={"SLURM_GPUS_PER_NODE": "1"}),
    ):
        assert "--gres=gpu:4" not in call
    in_job = {"SLURM_JOB_ID": "7", "SLURM_GPUS_PER_NODE": "1"}
    assert "--gres=gpu:4" in called(variables=in_job)
    call = called(timeout_s=61, wait_s=5, options=("account=lab", "--time=9", "-Ans"))
    assert {"--time=2", "--immediate=5", "--account=lab", "-Ans"} <= set(call)
    assert call.index("--time=2") < call.index("--time=9") < call.index("--nodelist=gpu1")
    assert call[-1] == "detect"


@pytest.mark.parametrize("word", ["", "--", "-", "a b", "1", "a=b\nc", "--=x", "x.sh"])
def test_what_is_no_option_does_not_end_the_options(word: str, path: Path) -> None:
    program(path, "sinfo", NODES)
    program(path, "srun", ANSWERS)
    who = engine(path, options=(word,))
    with pytest.raises(UsageError) as caught:
        who.hosts()
    assert caught.value.code == "bad-slurm-option"


def test_no_more_jobs_run_at_once_than_is_said_and_each_has_its_own_request(path: Path) -> None:
    names = [f"n{number}" for number in range(12)]
    lines = "".join(f"{name}|idle|(null)|none\\n" for name in names)
    program(path, "sinfo", f"printf '{lines}'")
    mine = '{"request"'
    text = f"""
for word in "$@"; do case $word in --nodelist=*) node=${{word#*=}} ;; esac; done
mkdir {path}/running-$node
[ "$(ls -d {path}/running-* | wc -l)" -le 3 ] || exit 1
cp /dev/stdin {path}/request-$node
rmdir {path}/running-$node
echo '{{"ok": true}}'
"""
    program(path, "srun", text)
    requests = {name: {"name": name} for name in names}
    results = engine(path, forks=3).run(NodeTask("create", requests, check=True), lambda _: None)
    assert [result.state for result in results] == ["done"] * 12
    for name in names:
        message = (path / f"request-{name}").read_text(encoding="utf-8")
        assert message.startswith(mine)
        assert json.loads(message)["request"] == {"name": name, "check": True}
