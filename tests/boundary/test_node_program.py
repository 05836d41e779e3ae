"""The program that is sent to machines, run there by real Pythons: what it makes, and what it leaves."""

from __future__ import annotations

import ast
import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from installers import behave, calls, fake_uv
from nodes import HERE, Node, other_pythons, wanted
from tiny_wheels import tiny_torch, tiny_wheel
from waiting import wait_until

from gpuenv.environments import transaction as apply
from gpuenv.environments.file_lock import locked
from gpuenv.environments.journal import parse_journal, write_journal
from gpuenv.environments.pending import is_pending
from gpuenv.environments.store import find_place
from gpuenv.fleet.node_archive import node_app
from gpuenv.fleet.node_messages import NODE_TEXTS
from gpuenv.fleet.parse_answers import NodeCreated, NodeFailure, parse_created, parse_detected
from gpuenv.i18n.messages import _facts_in
from gpuenv.model.errors import UsageError
from gpuenv.on_disk.journal import Transaction
from gpuenv.operations.find import list_all

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the nodes are POSIX systems")


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    tiny_wheel(tmp_path / "wheels", "tinydep", "1.0")
    tiny_wheel(tmp_path / "wheels", "tinydep", "2.0")
    return tmp_path / "wheels"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "node").with_uv()


@pytest.fixture
def faked(tmp_path: Path) -> tuple[Node, Path]:
    """A node whose uv is a fake, which makes an environment of a `generation` with a torch in it."""
    made = Node(tmp_path / "node")
    return made, fake_uv(made.bin)


def torch(**changed: Any) -> dict[str, Any]:
    """A request that the fake uv serves."""
    return {**wanted(Path("/nowhere"), "torch"), **changed}


def remains(data: Path) -> list[str]:
    """What lies about besides whole environments."""
    beside = [path.name for path in (data / "envs").glob(".*")]
    journals = [path.name for path in (data / "journals").glob("*")]
    return beside + journals + [str(path) for path in (data / "envs").glob("*/.gpuenv*")]


def generation(made: Node) -> str:
    return (made.data / "envs" / "paper" / "generation").read_text(encoding="utf-8")


def versions(made: Node, name: str = "paper") -> list[str]:
    return sorted(path.name for path in made.data.glob(f"envs/{name}/lib/*/site-packages/tiny*.dist-info"))


def code(answer: dict[str, Any]) -> str:
    """The code of a failure, whose words gpuenv knows in other languages."""
    failure = parse_created(answer)
    assert isinstance(failure, NodeFailure), answer
    assert any(_facts_in(failure.message, template) is not None for template in NODE_TEXTS), failure.message
    return failure.code


def state(answer: dict[str, Any]) -> tuple[str, bool]:
    created = parse_created(answer)
    assert isinstance(created, NodeCreated), answer
    return created.state, created.changed


# it runs where nothing but Python is


def test_the_same_bytes_come_of_every_packing() -> None:
    node_app.cache_clear()
    first = node_app()
    node_app.cache_clear()
    assert node_app() == first


@pytest.mark.slow
@pytest.mark.parametrize("python", other_pythons() or [sys.executable])
def test_other_pythons_run_all_of_it(tmp_path: Path, wheels: Path, python: str) -> None:
    """Detect, make, look again, verify: on every Python from 3.8 on that this machine has."""
    node = Node(tmp_path / "node", python=python).with_uv()
    answer = node.run("detect")["told"]
    assert [item["version"][:4].rstrip(".") for item in answer["pythons"]].count(HERE) == 1
    request = wanted(wheels, "tinydep==1.0")
    assert state(node.run("create", {**request, "check": True})) == ("would-make", False)
    assert state(node.run("create", request)) == ("made", True)
    assert state(node.run("create", request)) == ("unchanged", False)
    verified = node.run("verify", {"name": "paper"})
    assert verified["report"]["failure"]["missing"]
    assert verified["ended"]["returncode"] == 0


def test_it_runs_by_itself_where_it_may_be_executed(node: Node) -> None:
    (node.bin / "python3").symlink_to(os.path.realpath(sys.executable))
    (node.bin / "env").symlink_to("/usr/bin/env")
    node.app.chmod(0o755)
    done = subprocess.run([node.app, "detect"], env=node.environ, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert json.loads(done.stdout)["ok"] is True


@pytest.mark.slow
def test_a_bad_call_prints_its_usage_and_no_answer(node: Node) -> None:
    for arguments in ((), ("burn",), ("detect", "twice")):
        done = subprocess.run([sys.executable, "-I", node.app, *arguments], env=node.environ,
                              input="", capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert "usage" in done.stderr


# detect


def test_what_a_machine_tells_is_read_as_that_machine(node: Node) -> None:
    fake_nvidia_smi(node.bin, "535.183.01", FakeGpu("NVIDIA H100", "9.0"), FakeGpu("Tesla T4", "7.5"))
    machine = parse_detected(node.run("detect"))
    assert not isinstance(machine, NodeFailure)
    assert str(machine.driver and machine.driver.version) == "535.183.01"
    assert [str(gpu.compute_capability) for gpu in machine.gpus] == ["9.0", "7.5"]
    assert machine.source_of("driver.version") == "nvidia-smi --query-gpu"
    assert [manager.name for manager in machine.managers] == ["uv", "pip"]


@pytest.mark.slow
def test_only_pythons_that_can_make_environments_are_told_and_the_others_said(tmp_path: Path) -> None:
    """Without uv a Python has to bring pip along: Debian's does not, before python3-venv is installed."""
    node = Node(tmp_path / "node")
    assert HERE in [
        python.version.rpartition(".")[0] for python in parse_detected(node.run("detect")).pythons
    ]  # type: ignore[union-attr]
    node = without_ensurepip(node, HERE)
    broken = node.bin / "python3.9"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    machine = parse_detected(node.run("detect"))
    assert not isinstance(machine, NodeFailure)
    assert machine.pythons == ()
    said = {problem.code: problem.message for problem in machine.problems}
    assert sorted(said) == ["python-unreadable", "python-without-venv"]
    assert f"python{HERE}-venv" in said["python-without-venv"]
    assert machine.without_gpu
    node.with_uv()
    with_uv = parse_detected(node.run("detect"))
    assert [python.version.rpartition(".")[0] for python in with_uv.pythons] == [HERE]  # type: ignore[union-attr]


def without_ensurepip(node: Node, version: str) -> Node:
    """Make the node's Python one as Debian has it, without ensurepip; the program runs in it as well.

    No script: those are passed over, as pyenv has them for Pythons that are not installed.
    """
    home = node.folder / "debian"
    library = Path(os.__file__).parent
    (home / "lib" / library.name).mkdir(parents=True)
    for path in library.iterdir():
        if path.name not in {"ensurepip", "site-packages"}:
            (home / "lib" / library.name / path.name).symlink_to(path)
    (home / "bin").mkdir()
    program = home / "bin" / f"python{version}"
    program.write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
    program.chmod(0o755)
    (node.bin / f"python{version}").unlink()
    (node.bin / f"python{version}").symlink_to(program)
    return Node(node.folder, python=str(program))


# create


def test_gpuenv_on_that_machine_knows_what_was_made(node: Node, wheels: Path) -> None:
    node.run("create", wanted(wheels, "tinydep==1.0"))
    (environment,) = list_all(node.environ)
    assert environment.record.name == "paper"
    assert environment.record.manager == "uv"
    assert environment.record.plan["installed"] == {"tinydep": "1.0"}
    assert remains(node.data) == []


@pytest.mark.slow
@pytest.mark.parametrize("uv", [True, False])
def test_files_are_held_to_their_hashes(tmp_path: Path, wheels: Path, *, uv: bool) -> None:
    """By uv, and by pip where there is no uv."""
    node = Node(tmp_path / "node")
    if uv:
        node.with_uv()
    digest = sha256((wheels / "tinydep-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    wrong = wanted(wheels, f"tinydep==2.0 --hash=sha256:{digest}", hashed=True)
    if uv:
        answer = node.run("create", wrong)
        assert code(answer) == "install-failed"
        assert "hash" in answer["log"].lower()
        assert not (node.data / "envs" / "paper").exists()
    right = wanted(wheels, f"tinydep==1.0 --hash=sha256:{digest}", hashed=True)
    assert state(node.run("create", right)) == ("made", True)
    assert versions(node) == ["tinydep-1.0.dist-info"]
    assert remains(node.data) == []


def test_what_is_as_planned_is_left_alone_and_what_is_damaged_made_anew(node: Node, wheels: Path) -> None:
    request = wanted(wheels, "tinydep==1.0")
    node.run("create", request)
    record = node.data / "envs" / "paper" / "gpuenv.json"
    before = record.read_bytes()
    assert state(node.run("create", {**request, "force": True})) == ("unchanged", False)
    assert record.read_bytes() == before
    (info,) = node.data.glob("envs/paper/lib/*/site-packages/tinydep-1.0.dist-info")
    (info / "METADATA").unlink()
    assert state(node.run("create", {**request, "check": True})) == ("would-replace", False)
    assert state(node.run("create", request)) == ("replaced", True)
    assert state(node.run("create", request)) == ("unchanged", False)


@pytest.mark.slow
def test_another_plan_needs_force(node: Node, wheels: Path) -> None:
    node.run("create", wanted(wheels, "tinydep==1.0"))
    newer = wanted(wheels, "tinydep==2.0")
    assert code(node.run("create", newer)) == "environment-exists"
    assert code(node.run("create", {**newer, "check": True})) == "environment-exists"
    assert versions(node) == ["tinydep-1.0.dist-info"]
    assert state(node.run("create", {**newer, "force": True})) == ("replaced", True)
    assert versions(node) == ["tinydep-2.0.dist-info"]
    assert remains(node.data) == []


def test_an_environment_of_others_needs_force_and_a_folder_is_never_touched(node: Node, wheels: Path) -> None:
    others = node.data / "envs" / "paper"
    others.mkdir(parents=True)
    (others / "thesis.tex").write_text("years of work", encoding="utf-8")
    request = {**wanted(wheels, "tinydep==1.0"), "force": True}
    assert code(node.run("create", request)) == "not-an-environment"
    assert (others / "thesis.tex").exists()
    (others / "pyvenv.cfg").touch()
    assert code(node.run("create", {**request, "force": False})) == "environment-exists"
    assert (others / "thesis.tex").exists()
    assert state(node.run("create", request)) == ("replaced", True)
    assert not (others / "thesis.tex").exists()


@pytest.mark.slow
def test_without_a_folder_of_its_own_it_lies_where_gpuenv_looks(
    node: Node, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = node.folder / "home"
    for variables, location in (
        ({}, home / ".local/share"),
        ({"XDG_DATA_HOME": str(home / "xdg")}, home / "xdg"),
    ):
        unset = Node(node.folder, variables={"GPUENV_DATA_DIR": "", **variables})
        made = unset.run("create", wanted(wheels, "tinydep==1.0"))["environment"]
        for name in ("HOME", "XDG_DATA_HOME"):
            monkeypatch.setenv(name, unset.environ.get(name, ""))
        assert Path(made) == find_place("paper", unset.environ).path == location / "gpuenv" / "envs" / "paper"


def test_check_changes_nothing(node: Node, wheels: Path) -> None:
    request = {**wanted(wheels, "tinydep==1.0"), "check": True}
    assert state(node.run("create", request)) == ("would-make", False)
    assert code(node.run("create", {**request, "python": "3.77"})) == "no-python"
    assert not node.data.exists()


@pytest.mark.slow
def test_a_path_is_a_place_as_well(node: Node, wheels: Path, tmp_path: Path) -> None:
    request = {**wanted(wheels, "tinydep==1.0"), "target": str(tmp_path / "work" / "env")}
    assert node.run("create", request)["environment"] == str(tmp_path / "work" / "env")
    assert [environment.paths.path for environment in list_all(node.environ)] == [tmp_path / "work" / "env"]


@pytest.mark.parametrize("step", ["venv", "install"])
def test_a_failed_step_leaves_what_was_there(faked: tuple[Node, Path], step: str) -> None:
    node, uv = faked
    behave(uv, **{step: "fail"})
    first = node.run("create", torch())
    assert code(first) == "install-failed"
    assert "it went wrong" in first["log"]
    assert Path(first["error"]["because"][0]).is_file()
    assert not (node.data / "envs" / "paper").exists()
    behave(uv)
    node.run("create", torch())
    behave(uv, generation="second", **{step: "fail"})
    assert code(node.run("create", torch(fingerprint="another", force=True))) == "install-failed"
    assert generation(node) == "new"
    assert remains(node.data) == []


def test_what_was_not_installed_is_a_failure(faked: tuple[Node, Path]) -> None:
    node, _ = faked
    assert code(node.run("create", torch(names=["torch", "Tiny.Dep"]))) == "not-as-planned"
    assert not (node.data / "envs" / "paper").exists()


def test_passwords_of_indexes_stay_out_of_what_is_kept(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    secret = "--index-url https://me:s3cret@example.com/simple\ntorch\n"
    behave(uv, install="fail")
    assert "s3cret" not in json.dumps(node.run("create", torch(requirements=secret)))
    behave(uv)
    node.run("create", torch(requirements=secret))
    kept = [path for path in node.data.rglob("*") if path.is_file()]
    assert [path for path in kept if b"s3cret" in path.read_bytes()] == []


def test_more_bytes_than_free_is_told_before_anything_is_made(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    answer = node.run("create", torch(size=10**18))
    assert code(answer) == "disk-full"
    assert calls(uv) == []
    assert remains(node.data) == []


@pytest.mark.slow
def test_a_disk_that_fills_on_the_way_leaves_nothing(faked: tuple[Node, Path]) -> None:
    """As the installer tells it, and as the system refuses a write of the program's own."""
    node, uv = faked
    uv.write_text('#!/bin/sh\n[ "$1" = venv ] && exec /bin/mkdir -p "$2/bin"\n'
                  'echo "No space left on device (os error 28)"; exit 1\n')  # fmt: skip
    assert code(node.run("create", torch())) == "disk-full"
    assert not (node.data / "envs" / "paper").exists()
    limited = f"ulimit -f 0; exec {shlex.quote(sys.executable)} -I {shlex.quote(str(node.app))} create"
    done = subprocess.run(["/bin/sh", "-c", limited], input=json.dumps(torch()), env=node.environ,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert code(json.loads(done.stdout)) in {"not-writable", "data-dir-unwritable", "disk-full"}
    assert not (node.data / "envs" / "paper").exists()


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_data_directory_that_may_not_be_written_is_told(faked: tuple[Node, Path]) -> None:
    node, _ = faked
    node.data.mkdir(parents=True)
    node.data.chmod(0o555)
    assert code(node.run("create", torch())) == "data-dir-unwritable"


def test_a_data_directory_that_is_a_file_is_told(faked: tuple[Node, Path]) -> None:
    node, _ = faked
    node.data.touch()
    assert code(node.run("create", torch())) == "data-dir-unwritable"


def test_without_ensurepip_the_package_that_brings_it_is_named(tmp_path: Path, wheels: Path) -> None:
    node = without_ensurepip(Node(tmp_path / "node"), HERE)
    answer = node.run("create", wanted(wheels, "tinydep==1.0"))
    assert code(answer) == "no-venv"
    assert f"python{HERE}-venv" in answer["error"]["message"]
    assert not (node.data / "envs" / "paper").exists()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"name": "../x"}, "bad-name"),
        ({"name": "a/b"}, "bad-name"),
        ({"name": ".hidden"}, "bad-name"),
        ({"name": "-rf"}, "bad-name"),
        ({"name": "a b"}, "bad-name"),
        ({"name": "con"}, "bad-name"),
        ({"name": "x" * 101}, "bad-name"),
        ({"name": "a\nb"}, "bad-name"),
        ({"name": ""}, "bad-request"),
        ({"name": None}, "bad-request"),
        ({"target": "/"}, "bad-name"),
        ({"target": "relative/path"}, "bad-name"),
        ({"target": "~"}, "bad-name"),
        ({"target": "/tmp/\x1b[2J"}, "bad-name"),  # noqa: S108 - nothing is made there
        ({"python": "3"}, "bad-request"),
        ({"python": 3.11}, "bad-request"),
        ({"python": "3.11; rm"}, "bad-request"),
        ({"record": []}, "bad-request"),
        ({"record": {}}, "bad-request"),
        ({"names": [1]}, "bad-request"),
        ({"size": "1"}, "bad-request"),
        ({"wait_s": "long"}, "bad-request"),
        ({"requirements": None}, "bad-request"),
    ],
)
def test_a_request_that_is_none_changes_nothing(
    faked: tuple[Node, Path], changed: dict[str, Any], expected: str
) -> None:
    node, uv = faked
    assert code(node.run("create", torch(**changed))) == expected
    assert calls(uv) == []
    assert not (node.data / "envs").exists()


@pytest.mark.parametrize("text", ["[]", "{", "nothing", "[" * 100_000, '"\\ud800"', "\xff"])
def test_a_request_that_is_no_object_is_told(node: Node, text: str) -> None:
    done = subprocess.run([sys.executable, "-I", node.app, "create"], input=text.encode("latin-1"),
                          env=node.environ, capture_output=True, check=True)  # fmt: skip
    assert code(json.loads(done.stdout)) == "bad-request"


# two at once, and programs that are ended


def wait_for_hang(uv: Path) -> int:
    file = uv.with_name("hanging")
    wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("\n"))
    return int(file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_of_two_at_once_the_second_waits_and_finds_it_made(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    behave(uv, install="hang")
    first = node.start("create", torch())
    wait_for_hang(uv)
    second = node.start("create", torch())
    assert second.stderr is not None
    assert "waiting for it" in second.stderr.readline()
    uv.with_name("let-go").touch()
    answers = [json.loads(child.communicate(timeout=60)[0]) for child in (first, second)]
    assert [state(answer) for answer in answers] == [("made", True), ("unchanged", False)]
    assert len(calls(uv)) == 2


@pytest.mark.slow
def test_one_that_may_not_wait_says_who_is_at_work(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    behave(uv, install="hang")
    first = node.start("create", torch())
    wait_for_hang(uv)
    assert code(node.run("create", torch(wait_s=0))) == "environment-busy"
    environment = find_place("paper", node.environ)
    with pytest.raises(UsageError, match="at work"), locked(environment, wait_s=0):
        pass  # gpuenv itself waits too
    uv.with_name("let-go").touch()
    first.communicate(timeout=60)
    with locked(environment, wait_s=0):
        assert code(node.run("create", torch(wait_s=0))) == "environment-busy"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("replaces", [False, True])
def test_an_interrupted_create_leaves_what_was_there(
    faked: tuple[Node, Path], number: int, *, replaces: bool
) -> None:
    node, uv = faked
    if replaces:
        node.run("create", torch())
    behave(uv, install="hang", generation="second")
    child = node.start("create", torch(fingerprint="another", force=True))
    wait_for_hang(uv)
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert remains(node.data) == []
    assert (node.data / "envs" / "paper").exists() is replaces
    if replaces:
        assert generation(node) == "new"


def test_a_hangup_that_is_ignored_stays_ignored(faked: tuple[Node, Path]) -> None:
    """As under nohup, or in a job that outlives its shell."""
    node, uv = faked
    behave(uv, install="hang")
    words = shlex.join([sys.executable, "-I", str(node.app), "create"])
    child = node.start("create", torch(), through=f"trap '' HUP; exec {words}")
    wait_for_hang(uv)
    child.send_signal(signal.SIGHUP)
    uv.with_name("let-go").touch()
    assert state(json.loads(child.communicate(timeout=60)[0])) == ("made", True)


@pytest.mark.parametrize("step", ["venv", "install"])
@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("after", ["node", "gpuenv"])
def test_what_a_killed_program_left_is_undone_by_the_next(
    faked: tuple[Node, Path], step: str, after: str, *, replaces: bool
) -> None:
    """By the program itself, or by gpuenv on that machine: they keep one journal."""
    node, uv = faked
    if replaces:
        node.run("create", torch())
    behave(uv, generation="second", **{step: "hang"})
    child = node.start("create", torch(fingerprint="another", force=True))
    orphan = wait_for_hang(uv)
    child.kill()
    child.communicate(timeout=60)
    environment = find_place("paper", node.environ)
    assert is_pending(environment)
    os.kill(orphan, signal.SIGKILL)
    if after == "gpuenv":
        with locked(environment):
            assert apply.recover(environment)
    else:
        behave(uv, venv="fail")
        assert code(node.run("create", torch(fingerprint="another", force=True))) == "install-failed"
    assert remains(node.data) == []
    assert (node.data / "envs" / "paper").exists() is replaces
    if replaces:
        assert generation(node) == "new"


@pytest.mark.slow
@pytest.mark.parametrize("replaces", [False, True])
def test_wherever_it_is_killed_the_old_one_or_nothing_or_the_new_one_is_there(
    faked: tuple[Node, Path], *, replaces: bool
) -> None:
    """Before each change to a file system, one after the other; what is left is mended by the next run."""
    node, uv = faked
    before = node.folder / "before"
    if replaces:
        node.run("create", torch())
        node.data.rename(before)
    before.mkdir(exist_ok=True)
    request = torch(fingerprint="another", force=True)
    words = [str(Path(__file__).with_name("node_killed.py")), node.data, before, uv]
    environ = {**node.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, *words], input=json.dumps(request), env=environ,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    values = [json.loads(line) for line in done.stdout.splitlines()]
    old = "new" if replaces else None
    assert [remains for _, remains, _ in values if remains] == []
    assert {(there, ok) for there, _, ok in values} == {(old, False), ("second", True)}
    assert len(values) > 15


@pytest.mark.slow
def test_the_orphan_of_a_killed_program_is_waited_for(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    behave(uv, install="hang")
    child = node.start("create", torch())
    wait_for_hang(uv)
    child.kill()
    child.communicate(timeout=60)
    assert code(node.run("create", torch(wait_s=0))) == "environment-busy"
    uv.with_name("let-go").touch()
    behave(uv)
    assert state(node.run("create", torch())) == ("made", True)


def test_what_gpuenv_left_half_made_is_undone(faked: tuple[Node, Path]) -> None:
    node, _ = faked
    environment = find_place("paper", node.environ)
    with locked(environment):
        change = Transaction(environment.path, partial(write_journal, environment), lambda _: None)
        change.make_directory()
        (environment.path / "pyvenv.cfg").touch()
        change.mark()
    assert is_pending(environment)
    assert state(node.run("create", torch())) == ("made", True)
    assert remains(node.data) == []


@pytest.mark.slow
def test_a_journal_that_cannot_be_read_stops_everything(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    environment = find_place("paper", node.environ)
    journal = environment.store.journals / f"{environment.key}.json"
    journal.parent.mkdir(parents=True)
    for text in ("", "{}", '{"path": 1}', '{"path": "/", "old": "/etc", "trash": "/", "identity": null}'):
        journal.write_text(text, encoding="utf-8")
        assert code(node.run("create", torch())) == "journal-unreadable"
    assert calls(uv) == []


def test_the_journal_is_gpuenvs(faked: tuple[Node, Path]) -> None:
    node, uv = faked
    behave(uv, install="hang")
    child = node.start("create", torch())
    wait_for_hang(uv)
    (file,) = (node.data / "journals").glob("*.json")
    journal = parse_journal(file.read_text(encoding="utf-8"))
    assert (journal.path, journal.marked) == (node.data / "envs" / "paper", True)
    child.terminate()
    child.communicate(timeout=60)


# verify


@pytest.mark.slow
def test_the_tests_run_in_the_environment_with_its_own_python(node: Node, tmp_path: Path) -> None:
    tiny_torch(tmp_path / "wheels", "2.14.1+cpu")
    node.run("create", wanted(tmp_path / "wheels", "torch"))
    answer = node.run("verify", {"name": "paper"})
    assert answer["report"]["complete"] is True
    assert answer["report"]["torch"]["version"] == "2.14.1+cpu"
    assert answer["report"]["prefix"] == str(node.data / "envs" / "paper")
    assert [path.name for path in node.folder.glob("gpuenv-verify-*")] == []


@pytest.mark.slow
def test_a_crash_and_a_hang_are_told(node: Node, tmp_path: Path) -> None:
    tiny_wheel(tmp_path / "wheels", "torch", "1.0",
               files={"torch/__init__.py": "import os, time\nprint('before')\n"
                      "os.kill(os.getpid(), 11) if 'CRASH' in os.environ else time.sleep(60)\n"})  # fmt: skip
    node.run("create", wanted(tmp_path / "wheels", "torch"))
    hung = node.run("verify", {"name": "paper", "options": {"timeout_s": 0.5}})
    assert (hung["ended"]["timed_out"], hung["report"]["running"]["what"]) == (True, "import torch")
    crashing = Node(node.folder, variables={"CRASH": "1"})
    crashed = crashing.run("verify", {"name": "paper"})
    assert crashed["ended"]["returncode"] == -signal.SIGSEGV
    assert any("before" in line for line in crashed["printed"]) or crashed["printed"]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"name": "nothing"}, "no-such-environment"),
        ({"name": "../x"}, "bad-name"),
        ({"name": "paper", "options": []}, "no-such-environment"),
        ({}, "bad-request"),
    ],
)
def test_what_is_not_there_is_not_verified(node: Node, request_: dict[str, Any], expected: str) -> None:
    assert code(node.run("verify", request_)) == expected


# what it is written in


def test_it_keeps_to_the_syntax_of_python_3_8() -> None:
    for source in sources():
        ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_it_uses_nothing_that_python_3_8_has_not() -> None:
    pytest.importorskip("vermin")
    vermin = [sys.executable, "-c", "from vermin import main; main()", "-t=3.8-", "--no-tips", "--violations"]
    done = subprocess.run([*vermin, *map(str, sources())], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_imports_the_standard_library_and_what_is_packed_beside_it_alone() -> None:
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in sources()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    absolute = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    names = {str(node.module) for node in absolute}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    others = {name for name in names if not name.startswith("gpuenv.on_disk")}
    assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names


def sources() -> list[Path]:
    import gpuenv.node  # noqa: PLC0415
    import gpuenv.on_disk  # noqa: PLC0415

    packages = (Path(str(package.__file__)).parent for package in (gpuenv.node, gpuenv.on_disk))
    return sorted(source for package in packages for source in package.glob("*.py"))
