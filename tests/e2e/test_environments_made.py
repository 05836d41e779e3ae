"""`create` and what is done with environments afterwards, with tiny real wheels from a real index."""

from __future__ import annotations

import importlib.util
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from json_schemas import complaints
from running import Done, Program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

TORCH = "torch==2.14.1"
CPU = (TORCH, "--cuda", "cpu")
H100 = FakeGpu("NVIDIA H100 PCIe", "9.0")
PIP = importlib.util.find_spec("ensurepip") is not None
MANAGERS = ("uv", pytest.param("pip", marks=pytest.mark.skipif(not PIP, reason="this Python is no pip")))


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.14.1+cu126", cuda="12.6"), "pytorch", "cu126")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1",)), "pypi")
    server.publish(tiny_wheel(here, "needsold", "1.0", requires=("torch==2.6.0",)), "pypi")
    server.publish(tiny_wheel(here, "needsnone", "1.0", requires=("torch==9.9.9",)), "pypi")


@pytest.fixture
def python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def create(program: Program, name: str | Path, mirrors: tuple[str, ...], *more: str) -> Done:
    return program.run("create", name, *more, "--yes", "--json", *mirrors)


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    fields = {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}
    return {name: version for name, version in fields.items() if name not in {"pip", "setuptools"}}


def left_behind(program: Program) -> list[Path]:
    """What an environment that is gone must not leave: its directory, a journal, something half-made."""
    data = program.root / "data"
    return [path for folder in ("envs", "journals", "elsewhere") for path in (data / folder).glob("*")]


@pytest.mark.parametrize("manager", MANAGERS)
def test_an_environment_lives_from_create_to_remove(
    program: Program, mirrors: tuple[str, ...], manager: str, python: str
) -> None:
    made = create(program, "trial", mirrors, *CPU, "torchvision", "mylib", "--manager", manager)
    assert made.status == 0, made.out + made.err
    path = program.environments / "trial"
    assert made.data["environment"]["path"] == str(path)
    assert made.data["verify"]["devices"][0]["ok"]
    assert installed(path) == {
        "torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu", "mylib": "2.0", "tinydep": "1.0"
    }  # fmt: skip
    record = json.loads((path / "gpuenv.json").read_text(encoding="utf-8"))
    assert record["verified"] is True
    assert record["plan"]["packages"][0]["version"] == "2.14.1+cpu"
    for printed in (made, program.run("list", "--json"), program.run("verify", "trial", "--json")):
        assert complaints(printed.envelope) == []
    (listed,) = program.run("list", "--json").data["environments"]
    record = json.loads((path / "gpuenv.json").read_text(encoding="utf-8"))  # verified once more by now
    expected = {
        "name": "trial", "path": str(path), "manager": manager, "torch": "2.14.1+cpu", "variant": "cpu",
        "python": python, "verified": True, "created": record["created"], "last_used": None,
        "verified_at": record["proof"]["at"],
    }  # fmt: skip
    assert {name: listed[name] for name in expected} == expected
    assert listed["size"] > 1000
    answer = program.run(
        "run", "trial", "--", "python", "-c", "import torch; print(torch.__version__); exit(7)"
    )
    assert (answer.status, answer.out) == (7, "2.14.1+cpu\n")
    assert program.run("verify", "trial", "--json").data["torch"] == "2.14.1+cpu"
    assert program.run("verify", path, "--json").data["environment"]
    assert program.run("remove", "trial", "--yes", "--json").data["name"] == "trial"
    assert program.run("list", "--json").data["environments"] == []
    assert left_behind(program) == []
    assert list((program.root / "data" / "logs").iterdir()) == []
    assert list((program.root / "cache").rglob("sizes/*")) == []


@pytest.mark.slow
def test_what_a_person_sees_of_create(program: Program, mirrors: tuple[str, ...]) -> None:
    made = program.run("create", "trial", *CPU, "--yes", *mirrors)
    assert made.status == 0
    assert "torch 2.14.1+cpu" in made.out
    assert "gpuenv run trial" in made.out
    quiet = program.run("create", "second", *CPU, "--yes", "--quiet", *mirrors)
    assert (quiet.status, quiet.out, quiet.err) == (0, "", "")
    assert "trial" in program.run("list").out


@pytest.mark.slow
def test_an_environment_can_be_made_at_a_path(program: Program, mirrors: tuple[str, ...]) -> None:
    location = program.root / "work" / "an env"
    assert create(program, "./an env", mirrors, *CPU).status == 0
    assert program.run("list", "--json").data["environments"][0]["path"] == str(location)
    assert program.run("run", "./an env", "--", "python", "-c", "import torch").status == 0
    assert program.run("remove", "./an env", "--yes").status == 0
    assert not location.exists()
    assert left_behind(program) == []


@pytest.mark.slow
@pytest.mark.parametrize("torch", [None, {"gpus": [["NVIDIA H100 PCIe", [9, 0]]]}])
def test_a_plan_for_a_gpu_must_be_proven_on_a_gpu(
    program: Program, mirrors: tuple[str, ...], torch: dict[str, object] | None
) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", H100)
    gpu = {"version": "2.14.1+cu126", "cuda": "12.6", "cudnn": 91002, "architectures": ["sm_90"]}
    seeing = program.with_(FAKE_TORCH=json.dumps({**gpu, **torch}) if torch else None)
    made = create(seeing, "gpu", mirrors, TORCH)
    path = program.environments / "gpu"
    assert installed(path) == {"torch": "2.14.1+cu126"}
    if torch:
        assert made.status == 0, made.out
        assert made.data["verify"]["devices"][0]["name"] == "NVIDIA H100 PCIe"
    else:
        assert made.status == 6
        assert made.envelope["data"]["environment"]["path"] == str(path)
        assert str(path) in made.error["message"]
    assert program.run("list", "--json").data["environments"][0]["verified"] is bool(torch)
    assert program.run("verify", "gpu").status == 6
    assert program.run("create", "second", TORCH, "--yes", "--no-verify", *mirrors).status == 0


@pytest.mark.slow
def test_a_failed_replacement_brings_back_what_was_there(program: Program, mirrors: tuple[str, ...]) -> None:
    assert create(program, "trial", mirrors, *CPU).status == 0
    taken = create(program, "trial", mirrors, *CPU)
    assert (taken.status, taken.error["code"]) == (2, "environment-exists")
    broken = program.with_(FAKE_TORCH=json.dumps({"faults": [["matmul", "cpu", "wrong"]]}))
    failed = create(broken, "trial", mirrors, *CPU, "mylib", "--force")
    assert failed.status == 6
    assert installed(program.environments / "trial") == {"torch": "2.14.1+cpu"}
    replaced = create(program, "trial", mirrors, *CPU, "mylib", "--force")
    assert replaced.status == 0
    assert "mylib" in installed(program.environments / "trial")


@pytest.mark.slow
def test_an_installer_that_fails_leaves_nothing(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    with server.failing("404", "/whl/cpu/torch-"):
        failed = create(program, "trial", mirrors, *CPU)
    assert failed.status == 5
    assert failed.error["because"]
    assert Path(failed.envelope["data"]["log"]).is_file()
    assert left_behind(program) == []


@pytest.mark.slow
def test_a_dry_run_changes_nothing(program: Program, mirrors: tuple[str, ...]) -> None:
    planned = program.run("create", "trial", *CPU, "--dry-run", "--json", *mirrors)
    assert planned.torch == "2.14.1+cpu"
    target = str(program.environments / "trial")
    assert all(target in step["argv"] for step in planned.data["steps"])
    answer = program.run("create", "trial", *CPU, "--dry-run", *mirrors)
    assert (answer.status, "2.14.1+cpu" in answer.out) == (0, True)
    assert left_behind(program) == []


@pytest.mark.slow
def test_where_nobody_can_answer_the_plan_is_shown_before_the_way_to_go_on(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    """Whoever runs it in a script sees what --yes would agree to."""
    done = program.run("create", "trial", *CPU, *mirrors)
    assert (done.status, done.err.splitlines()[-2:]) == (
        2,
        [
            "error: cannot prompt: not running in a terminal",
            "hint: add --yes to continue without confirmation",
        ],
    )
    assert "torch 2.14.1+cpu" in done.out
    answer = program.run("create", "trial", *CPU, "--json", *mirrors)
    assert (answer.status, answer.error["code"]) == (2, "no-terminal")
    assert answer.envelope["data"]["packages"][0]["version"] == "2.14.1+cpu"
    assert left_behind(program) == []


@pytest.mark.slow
def test_all_files_are_known_before_the_yes(program: Program, server: IndexServer, tmp_path: Path) -> None:
    """What the installer would fetch and no more: the tiny torch brings none of what the matrix lists."""
    tiny_torch(tmp_path, "2.14.1+cpu")
    near = program.with_(PIP_INDEX_URL=server.pypi, PIP_FIND_LINKS=str(tmp_path))
    download = near.run("create", "trial", *CPU, "--dry-run", "--json").data["download"]
    assert (download["local_files"], download["files"], download["bytes"]) == (1, 0, 0)
    assert download["exact"] is True
    assert download["free_bytes"] > download["installed_bytes"] > 0
    assert "1 local file, nothing to fetch, " in near.run("create", "trial", *CPU, "--dry-run").out
    assert left_behind(program) == []


def test_where_nobody_can_answer_a_refusal_comes_first(program: Program, mirrors: tuple[str, ...]) -> None:
    done = program.run("create", "trial", "torch==99", *CPU, "--json", *mirrors)
    assert done.status == 3
    assert left_behind(program) == []


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 130), ("", 130)])
def test_create_asks_first(program: Program, mirrors: tuple[str, ...], answer: str, status: int) -> None:
    ours, theirs = pty.openpty()
    try:
        process = program.start("create", "trial", *CPU, *mirrors, stdin=theirs)
        os.close(theirs)
        os.write(ours, f"{answer}\n".encode())
        _, err = process.communicate(timeout=60)
    finally:
        os.close(ours)
    assert process.returncode == status, err
    assert "[y/N]" in err
    assert (program.environments / "trial").exists() is (status == 0)
    if status:
        assert "nothing was changed" in err


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_an_interrupted_install_leaves_nothing(
    program: Program, server: IndexServer, mirrors: tuple[str, ...], number: signal.Signals
) -> None:
    with server.failing("hang", "/whl/cpu/torch-"):
        process = program.start("create", "trial", *CPU, "--yes", "--json", *mirrors)
        for _ in wait_until():
            if any("/whl/cpu/torch-" in path and method == "GET" for method, path, _ in server.asked):
                break
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    done = Done(process.returncode, out, err)
    assert done.status == 130
    assert done.error["code"] == "interrupted"
    assert left_behind(program) == []
    assert create(program, "trial", mirrors, *CPU).status == 0


@pytest.mark.slow
def test_an_interrupted_adaptation_leaves_the_files_as_they_were(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    folder = program.root / "work" / "paper"
    folder.mkdir(parents=True)
    (folder / "requirements.txt").write_text("torch==2.0.0+cpu\ntinydep==0.9\n", encoding="utf-8")
    with server.failing("hang", "/simple/tinydep"):
        words = ("plan", "--adapt", "paper", "--write", "--cuda", "cpu", "--manager", "uv", "--json")
        process = program.start(*words, *mirrors)
        for _ in wait_until():
            if any("/simple/tinydep" in path for _, path, _ in server.asked):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    done = Done(process.returncode, out, err)
    assert done.status == 130
    assert done.error["code"] == "interrupted"
    assert [item.name for item in folder.iterdir()] == ["requirements.txt"]
    assert "torch==2.0.0+cpu" in (folder / "requirements.txt").read_text(encoding="utf-8")


def wait_until() -> Iterator[None]:
    for _ in range(3000):
        time.sleep(0.01)
        yield
    pytest.fail("what was waited for did not come")


@pytest.mark.slow
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("format_name", ["commands", "requirements.txt"])
def test_what_is_printed_does_what_create_does(
    program: Program, mirrors: tuple[str, ...], format_name: str, manager: str
) -> None:
    (program.bin / "uv").symlink_to(_uv())
    work = program.root / "work"
    requested = (*CPU, "torchvision", "mylib", *mirrors)
    file = "requirements.txt" if format_name == "requirements.txt" else "steps.sh"
    chosen = format_name if format_name == "requirements.txt" else manager
    assert program.run("plan", "--format", chosen, "-o", file, *requested).status == 0
    script = f"set -e\n. ./{file}\n"
    if format_name == "requirements.txt":
        base = shlex.quote(sys.executable)
        script = {
            "uv": f"set -e\nuv venv -q --python {base} .venv\nuv pip install --python .venv -r {file}\n",
            "pip": f"set -e\n{base} -m venv .venv\n.venv/bin/python -m pip install -r {file}\n",
        }[manager]
    # what a user's shell has: the mirrors stand in what was printed, no configuration adds to it
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=work, env=program.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert create(program, "made", mirrors, *CPU, "torchvision", "mylib").status == 0
    assert installed(work / ".venv") == installed(program.environments / "made")


def _uv() -> str:
    from uv import find_uv_bin  # noqa: PLC0415

    return str(find_uv_bin())


@pytest.mark.slow
def test_another_requirement_decides_which_torch(
    program: Program, mirrors: tuple[str, ...], python: str
) -> None:
    machine = ("--driver", "535.104.05", "--gpu", "9.0", "--python", python)
    free = program.run("plan", "--json", TORCH.partition("=")[0], "mylib", *machine, *mirrors)
    assert free.torch == "2.14.1+cu126"
    assert free.package("tinydep")["version"] == "1.0"
    assert free.package("mylib")["url"].endswith("/packages/mylib-2.0-py3-none-any.whl")
    held = program.run("plan", "--json", "torch", "needsold", *machine, *mirrors)
    assert held.torch.startswith("2.6.0+cu")
    reasons = [item["detail"] for item in held.data["rejected"] if item["rule"] == "request"]
    assert any("needsold" in reason and "2.6.0" in reason for reason in reasons)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (("torch", "needsnone"), "needsnone"),
        (("torch", "nosuchpackage"), "nosuchpackage"),
        (("torch==2.14.1", "needsold"), "needsold"),
        (("mylib>=3",), "mylib"),
        (("tinydep<1", "mylib"), "tinydep"),
    ],
)
def test_what_goes_with_no_torch_is_refused_by_name(
    program: Program, mirrors: tuple[str, ...], asked: tuple[str, ...], named: str, python: str
) -> None:
    machine = ("--driver", "535.104.05", "--gpu", "9.0", "--python", python)
    done = program.run("plan", "--json", *machine, *asked, *mirrors)
    assert done.status == 3
    assert named in json.dumps(done.error)


@pytest.mark.slow
def test_requirements_come_from_files(program: Program, mirrors: tuple[str, ...]) -> None:
    file = program.root / "work" / "requirements.txt"
    file.write_text("# the paper's\ntorch==2.14.1\t# pinned\n\nmylib >= 1, \\\n  < 3\n", encoding="utf-16")
    made = create(program, "trial", mirrors, "-r", file.name, "--cuda", "cpu")
    assert made.status == 0, made.out
    assert set(installed(program.environments / "trial")) == {"torch", "mylib", "tinydep"}


@pytest.mark.slow
def test_a_wheelhouse_alone_is_enough(program: Program, tmp_path: Path) -> None:
    """As on a machine whose pip configuration names a wheelhouse and nothing else."""
    wheels = tmp_path / "wheels"
    tiny_torch(wheels, "2.14.1+cpu")
    tiny_wheel(wheels, "tinydep", "1.0")
    file = program.home / "pip.conf"
    file.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n", encoding="utf-8")
    configured = program.with_(PIP_CONFIG_FILE=str(file))
    made = create(configured, "trial", (), "torch", "tinydep", "--cuda", "cpu")
    assert made.status == 0, made.out + made.err
    assert installed(program.environments / "trial") == {"torch": "2.14.1+cpu", "tinydep": "1.0"}


@pytest.mark.slow
def test_the_output_may_go_to_a_reader_that_leaves(program: Program, mirrors: tuple[str, ...]) -> None:
    """`gpuenv create … 2>&1 | head -1` makes the environment all the same."""
    reader, writer = os.pipe()
    process = program.start("create", "trial", *CPU, "--yes", *mirrors, stdout=writer, stderr=writer)
    os.close(writer)
    os.close(reader)
    assert process.wait(timeout=60) == 0
    assert installed(program.environments / "trial") == {"torch": "2.14.1+cpu"}


@pytest.mark.slow
def test_two_creates_of_one_name_do_not_meet(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    with server.failing("slow", "/whl/cpu/torch-"):
        arguments = ("create", "trial", *CPU, "--yes", *mirrors)
        both = [program.start(*arguments) for _ in range(2)]
        ends = [process.communicate(timeout=60) for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], ends
    assert installed(program.environments / "trial") == {"torch": "2.14.1+cpu"}


@pytest.mark.slow
def test_an_environment_that_is_not_gpuenv_s_own_is_not_touched(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    precious = program.environments / "trial"
    precious.mkdir(parents=True)
    (precious / "thesis.tex").write_text("", encoding="utf-8")
    done = create(program, "trial", mirrors, *CPU, "--force")
    assert (done.status, done.error["code"]) == (2, "not-an-environment")
    assert program.run("remove", "trial", "--yes").status == 2
    assert (precious / "thesis.tex").exists()


@pytest.mark.slow
def test_run_passes_on_everything(program: Program, mirrors: tuple[str, ...]) -> None:
    assert create(program, "trial", mirrors, *CPU, "--no-verify").status == 0
    code = "import sys; print(sys.argv[1:], sys.stdin.read()); print('bad', file=sys.stderr)"
    done = program.run("run", "trial", "--", "python", "-c", code, "--json", "-v", stdin="words")
    assert (done.status, done.out, done.err) == (0, "['--json', '-v'] words\n", "bad\n")
    bare = program.run("run", "trial", "python", "-c", "import os; os.kill(os.getpid(), 9)")
    assert bare.status == -9  # gpuenv has become the command
    unknown = program.run("run", "trial", "--", "no-such-program")
    assert unknown.status == 2
    assert re.search("no-such-program", unknown.err)
    assert shutil.which("python", path=str(program.bin)) is None
