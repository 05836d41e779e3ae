"""Ansible for real: hosts that are all this machine, one broken, one unreachable, one behind an sshd."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_lab import HAS_SSH, Lab, needs_ansible, ssh_host
from fake_nvidia_smi import FakeGpu

import gpuenv
from gpuenv.fleet.engines.ansible import Ansible
from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.run_model import HostResult, NodeTask
from gpuenv.model.errors import UsageError

pytestmark = [
    pytest.mark.slow,
    needs_ansible,
    # what ansible-runner and pexpect do, in workers of xdist that have threads
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:codecs.open:DeprecationWarning"),
]
REFUSES = FakeGpu("NVIDIA H100 {{ lookup('pipe', 'touch pwned') }}", "9.0")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Ansible's files and ssh's out of the home of who runs the tests; be where no ansible.cfg is."""
    for name in ("home", "work", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path / "work")
    for name in [name for name in os.environ if name.startswith("ANSIBLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANSIBLE_REMOTE_TMP", str(tmp_path / "remote"))
    monkeypatch.setenv("LC_ALL", "C")  # which Ansible refuses


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def engine(lab: Lab, **options: Any) -> Ansible:
    return Ansible(node_app(), (str(lab.inventory),), **options)


def serve(
    who: Ansible, action: Any, requests: dict[str, dict[str, Any]], *, check: bool = False
) -> tuple[dict[str, HostResult], list[HostResult]]:
    """Run a task; return the results by host, and all that was told meanwhile."""
    host_results: list[HostResult] = []
    results = who.run(NodeTask(action, requests, check), host_results.append)
    assert [result.host for result in results] == list(requests)
    return {result.host: result for result in results}, host_results


def answers(results: dict[str, HostResult]) -> dict[str, Any]:
    return {host: result.answer for host, result in results.items()}


def test_every_host_is_served_or_told_why_not(lab: Lab, tmp_path: Path) -> None:
    """And what a host tells of itself, or is asked, is no template that Ansible would run."""
    lab.write(
        lab.local("one"),
        lab.local("two", "535.104.05", REFUSES),
        lab.local("broken", ansible_python_interpreter="/nowhere/python3"),
        lab.away("away"),
        lab.local("spared"),
    )
    who = engine(lab)
    assert who.hosts() == ("one", "two", "broken", "away", "spared")
    requested = {
        host: {"note": "{{ lookup('pipe', 'touch pwned') }}"} for host in who.hosts() if host != "spared"
    }
    results, host_results = serve(who, "detect", {**requested, "ghost": {}})
    states = {host: result.state for host, result in results.items()}
    assert states == {
        "one": "done",
        "two": "done",
        "broken": "failed",
        "away": "unreachable",
        "ghost": "failed",
    }
    assert "NVIDIA GeForce RTX 4090" in json.dumps(results["one"].answer)
    assert REFUSES.name in json.dumps(results["two"].answer)
    assert "/nowhere/python3" in results["broken"].message
    assert "refused" in results["away"].message
    assert results["ghost"].message == "ansible did not reach it"
    assert [result.state for result in host_results if result.host == "one"] == ["running", "done"]
    assert "spared" not in {result.host for result in host_results}
    assert not list(tmp_path.rglob("pwned"))
    assert not list((tmp_path / "tmp").iterdir())


def test_an_environment_is_made_once_and_one_that_fails_stops_no_other(lab: Lab) -> None:
    lab.write(lab.local("one"), lab.local("two"), lab.local("unlucky"))
    lab.breaks_installing("unlucky")
    who = engine(lab)
    requests = {host: lab.request() for host in ("one", "two", "unlucky")}
    would, _ = serve(who, "create", requests, check=True)
    assert [result.answer and result.answer["state"] for result in would.values()] == ["would-make"] * 3
    assert not any(lab.environment(host, "paper").exists() for host in requests)
    made, _ = serve(who, "create", requests)
    assert {host: result.answer and result.answer.get("changed") for host, result in made.items()} == {
        "one": True, "two": True, "unlucky": None,
    }  # fmt: skip
    failed = answers(made)["unlucky"]
    assert failed["error"]["code"] == "install-failed"
    assert "no such luck" in failed["log"]
    assert (lab.environment("one", "paper") / "gpuenv.json").is_file()
    assert not lab.environment("unlucky", "paper").exists()
    again, _ = serve(who, "create", {host: lab.request() for host in ("one", "two")})
    assert [
        result.answer and (result.answer["changed"], result.answer["state"]) for result in again.values()
    ] == [(False, "unchanged")] * 2


@pytest.mark.skipif(not HAS_SSH, reason="no ssh or no sshd")
def test_hosts_are_reached_by_ssh_and_a_key_that_nobody_knows_is_not_taken(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ansible-runner would not look at host keys; and a prompt would be waited at for ever."""
    monkeypatch.setenv("JOB_ID", "not-a-number")
    monkeypatch.setenv("ANSIBLE_SSH_RETRIES", "0")
    with ssh_host(lab, "real") as lines:
        lab.write(*lines)
        results, _ = serve(engine(lab), "detect", {"real": {}, "stranger": {}})
    assert "RTX 4090" in json.dumps(results["real"].answer)
    assert results["stranger"].state == "unreachable"
    assert "Host key verification failed" in results["stranger"].message


def test_a_host_that_hangs_is_given_up_and_its_program_ended(lab: Lab) -> None:
    lab.write(lab.local("slow"))
    who = Ansible(_program(_SLOW), (str(lab.inventory),), timeout_s=2)
    results, _ = serve(who, "detect", {"slow": {"hang": True}})
    assert (results["slow"].state, results["slow"].message) == (
        "failed", "gpuenv's program was not done after 2 s",
    )  # fmt: skip


def test_a_program_that_gives_no_answer_is_told_with_its_last_words(lab: Lab) -> None:
    lab.write(lab.local("one"))
    who = Ansible(_program("import sys; sys.exit('out of \\udcff luck')"), (str(lab.inventory),))
    results, _ = serve(who, "detect", {"one": {}})
    assert results["one"].state == "failed"
    assert "gave no answer (status 1): out of" in results["one"].message


def test_a_password_in_a_request_is_in_no_log_and_a_long_answer_comes_whole(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much Ansible is told to write down."""
    monkeypatch.setenv("ANSIBLE_LOG_PATH", str(tmp_path / "log"))
    monkeypatch.setenv("ANSIBLE_VERBOSITY", "4")
    lab.write(lab.local("one"))
    who = Ansible(_program(_LONG), (str(lab.inventory),))
    results, _ = serve(who, "detect", {"one": {"index": f"https://me:{_PASSWORD}@example.com/simple"}})
    assert len((results["one"].answer or {})["long"]) == 1_000_000
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "gpuenv_node" in log
    encoded = [base64.b64encode((" " * shift + _PASSWORD).encode())[4:-4].decode() for shift in range(3)]
    assert not [word for word in (_PASSWORD, *encoded) if word in log]


def test_ctrl_c_ends_ansible_and_what_it_runs(lab: Lab, tmp_path: Path) -> None:
    lab.write(lab.local("slow"))
    script = tmp_path / "script.py"
    script.write_text(_INTERRUPTED, encoding="utf-8")
    (tmp_path / "slow.pyz").write_bytes(_program(_SLOW))
    argv = [sys.executable, str(script), str(tmp_path / "slow.pyz"), str(lab.inventory)]
    sources = str(Path(gpuenv.__file__).parents[1])
    environ = {**os.environ, "PYTHONPATH": sources}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ) as process:
        pid = lab.root / "slow" / "pid"
        while process.poll() is None and not (pid.is_file() and pid.read_text()):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert out.splitlines() == ["slow running", "interrupted"]
    assert _is_gone(int(pid.read_text()))
    assert not list((tmp_path / "remote").iterdir())
    assert not list((tmp_path / "tmp").iterdir())


def test_what_a_listener_raises_comes_back_when_ansible_has_ended(lab: Lab) -> None:
    lab.write(lab.local("one"))

    def closed(_: HostResult) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        engine(lab).run(NodeTask("detect", {"one": {}}), closed)


# the inventory, and the person's own Ansible


def test_a_host_whose_name_is_a_path_is_served_and_keeps_no_other_from_being_so(lab: Lab) -> None:
    """Ansible keeps what it found out of a host in memory, not in a file that is called after the host."""
    value = f"ansible_connection=local ansible_interpreter_python_fallback='{json.dumps([sys.executable])}'"
    lab.write(f"rack/one {value}", f"two {value}")
    results, _ = serve(engine(lab), "detect", {"rack/one": {}, "two": {}})
    assert [result.state for result in results.values()] == ["done", "done"], results


def test_inventories_of_all_kinds_are_read_within_the_limit(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "lab.yml").write_text("all: {hosts: {one: , two: , three: }}", encoding="utf-8")
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\necho \'{"gpus": {"hosts": ["four", "five"]}}\'\n', encoding="utf-8")
    script.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("six\n[login]\nseven\n", encoding="utf-8")
    (folder / "b.yml").write_text("all: {hosts: {eight: }}", encoding="utf-8")
    named = tuple(str(tmp_path / name) for name in ("lab.yml", "script", "folder"))
    values = Ansible(b"", (*named, "nine,ten,"), "all:!login:!two").hosts()
    assert sorted(values) == sorted(("one", "three", "four", "five", "six", "eight", "nine", "ten"))


def test_an_ansible_cfg_that_is_named_says_the_inventory_and_how_hosts_are_reached(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_CONFIG", "ansible.cfg")
    settings = "[defaults]\ninventory = ../hosts.ini\nany_errors_fatal = true\nforks = 1\n"
    (tmp_path / "work" / "ansible.cfg").write_text(settings, encoding="utf-8")
    lab.write(lab.local("broken", ansible_python_interpreter="/nowhere/python3"), lab.local("one"))
    who = Ansible(node_app())
    assert who.hosts() == ("broken", "one")
    results, _ = serve(who, "detect", {"broken": {}, "one": {}})
    assert [result.state for result in results.values()] == ["failed", "done"]


def test_an_ansible_cfg_of_the_folder_is_not_read_and_that_is_said(lab: Lab, tmp_path: Path) -> None:
    settings = "[defaults]\ninventory = ../hosts.ini\n"
    (tmp_path / "work" / "ansible.cfg").write_text(settings, encoding="utf-8")
    lab.write(lab.local("one"))
    with pytest.raises(UsageError) as caught:
        Ansible(node_app()).hosts()
    assert caught.value.fixes[0].command == "ANSIBLE_CONFIG=ansible.cfg gpuenv fleet detect"


def test_a_relative_inventory_is_relative_to_where_one_stands(lab: Lab) -> None:
    lab.write(lab.local("one"))
    who = Ansible(node_app(), (os.path.relpath(lab.inventory),))
    assert who.hosts() == ("one",)
    results, _ = serve(who, "detect", {"one": {}})
    assert [result.state for result in results.values()] == ["done"]


@pytest.mark.parametrize(
    ("text", "limit", "words"),
    [
        (None, None, "nothing.ini"),
        ("[gpus\n", None, "hosts.ini"),
        ("one\n", "two", "limit"),
        ("one\n", "--version", "limit"),
    ],
)
def test_an_inventory_without_hosts_is_refused_in_ansibles_words(
    text: str | None, limit: str | None, words: str, lab: Lab
) -> None:
    inventory = lab.inventory
    if text is None:
        inventory = inventory.with_name("nothing.ini")
    else:
        inventory.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        Ansible(b"", (str(inventory),), limit).hosts()
    assert caught.value.code == "no-hosts"
    message = " ".join(because.text for because in caught.value.because)
    assert words in message
    assert "hosts (0)" not in message


def test_a_playbook_that_does_not_start_is_a_usage_error_in_ansibles_words(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_CONFIG", "ansible.cfg")
    (tmp_path / "work" / "ansible.cfg").write_text("[defaults]\nforks = many\n", encoding="utf-8")
    lab.write(lab.local("one"))
    with pytest.raises(UsageError) as caught:
        engine(lab).run(NodeTask("detect", {"one": {}}), lambda _: None)
    assert caught.value.code == "ansible-failed"
    assert "forks" in " ".join(because.text for because in caught.value.because).lower()


def test_where_ansible_is_missing_the_extra_is_named(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    who = Ansible(b"", (str(lab.inventory),), environ={"PATH": str(tmp_path)})
    for call in (who.hosts, lambda: who.run(NodeTask("detect", {"one": {}}), lambda _: None)):
        with pytest.raises(UsageError) as caught:
            call()
        (fix,) = caught.value.fixes
        assert fix.command is not None
        assert fix.command.startswith("pip install 'ansible-core")
        assert "ansible-runner<3,>=2.4" in fix.command
        assert "gpuenv" not in fix.command  # which is on no index
    assert who.run(NodeTask("detect", {}), lambda _: None) == ()


@pytest.fixture(autouse=True)
def _nothing_left_running(lab: Lab) -> Iterator[None]:
    yield
    for pid in lab.root.glob("*/pid"):
        assert _is_gone(int(pid.read_text()))


def _is_gone(pid: int) -> bool:
    """Whether a process has ended; it is waited for, as who ends it need not have done so."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


_SLOW = """
import json, os, sys, time
if json.load(sys.stdin).get("hang"):
    with open(os.path.join(os.environ["HOME"], "pid"), "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)
print(json.dumps({"ok": True, "changed": False}))
"""
_LONG = 'import json; print(json.dumps({"ok": True, "long": "x" * 1_000_000}))'
_PASSWORD = "correct-horse-battery-staple"
_INTERRUPTED = """
import sys
from pathlib import Path
from gpuenv.fleet.engines.ansible import Ansible
from gpuenv.fleet.run_model import NodeTask
program, inventory = sys.argv[1:]
told = lambda one: print(one.host, one.state, flush=True)
try:
    Ansible(Path(program).read_bytes(), (inventory,)).run(NodeTask("detect", {"slow": {"hang": True}}), told)
except KeyboardInterrupt:
    print("interrupted")
"""


def _program(text: str) -> bytes:
    """Pack a program in the place of the node program."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("__main__.py", text)
    return packed.getvalue()
