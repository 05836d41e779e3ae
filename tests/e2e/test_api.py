"""`import gpuenv`: the public functions return what `--json` has, and raise where a command fails."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_torchvision

import gpuenv
from gpuenv import api
from gpuenv.cli.app import app

TORCH = "torch==2.14.1"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
FUNCTIONS = ("create", "detect", "diagnose", "explain", "plan", "verify")
_CALL = """
import json, sys, gpuenv
name, arguments, options = json.load(sys.stdin)
try:
    print(json.dumps({"data": getattr(gpuenv, name)(*arguments, **options)}))
except gpuenv.GpuenvError as error:
    told = {"message": str(error), "code": error.code, "status": error.exit_code, "data": error.data}
    print(json.dumps(told))
"""


def call(program: Program, name: str, *arguments: str, **options: Any) -> dict[str, Any]:
    """Call a function of the API in a process of its own; return what came back, or what was raised."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _CALL],
        input=json.dumps([name, arguments, options]),
        env=program.environ,
        cwd=program.root / "work",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")


def test_an_import_loads_nothing_and_offers_what_is_documented() -> None:
    look = "import sys; old = set(sys.modules); import gpuenv; print(set(sys.modules) - old, *dir(gpuenv))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    loaded, *offered = done.stdout.split()
    assert loaded == "{'gpuenv'}"
    assert set(gpuenv.__all__) == {*FUNCTIONS, "GpuenvError"} <= set(offered)
    docs = Path(__file__).parents[2] / "docs"
    for page in (docs / "en" / "api.md", docs / "zh" / "api.md"):
        text = page.read_text(encoding="utf-8")
        assert all(f"`{name}(" in text for name in FUNCTIONS), page


def test_a_name_that_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"gpuenv\.install"):
        _ = gpuenv.install  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("command", "keywords"),
    [
        ("plan", api.PlanKeywords),
        ("create", api.CreateKeywords),
        ("verify", api.VerifyKeywords),
        ("doctor", api.DiagnoseKeywords),
    ],
)
def test_each_keyword_is_an_option_of_its_command(command: str, keywords: type) -> None:
    declared = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    names = {name.split("/")[0] for one in declared.params for name in one.opts}
    assert {f"--{word.replace('_', '-')}" for word in keywords.__annotations__} <= names
    flags = {name for one in declared.params if getattr(one, "is_flag", False) for name in one.opts}
    of_bools = {f"--{word.replace('_', '-')}" for word, kind in _kinds(keywords) if kind == "bool"}
    assert of_bools == flags & {f"--{word.replace('_', '-')}" for word in keywords.__annotations__}


def _kinds(keywords: type) -> list[tuple[str, str]]:
    return [
        (word, getattr(kind, "__forward_arg__", kind))
        for word, kind in inspect.get_annotations(keywords).items()
    ]


def test_the_machine_is_what_detect_tells(program: Program) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("NVIDIA H100 PCIe", "9.0"))
    assert call(program, "detect") == {"data": program.run("detect", "--json").data}


def test_a_plan_is_what_plan_decides(program: Program) -> None:
    options = {"gpu": ["8.6", "9.0"], "driver": "535.104.05", "offline": True, "python": "3.11"}
    typed = ("--gpu", "8.6", "--gpu", "9.0", "--driver", "535.104.05", "--offline", "--python", "3.11")
    told = program.run("plan", "torch", *typed, "--json").data
    made = call(program, "plan", "torch", **options)["data"]
    assert made["packages"] == told["packages"]
    assert set(made) == set(told)


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"python": "2.6", "offline": True, "cuda": "cpu"}, 3, None),
        ({"manager": "nobody"}, 2, "usage"),
        ({"no_such": True}, 2, "usage"),
        ({"requirement": ["missing.txt"]}, 2, None),
    ],
)
def test_what_a_command_fails_with_is_raised(
    program: Program, options: dict[str, Any], status: int, code: str | None
) -> None:
    raised = call(program, "plan", "torch", **options)
    assert raised["status"] == status
    assert code in (None, raised["code"])
    assert raised["message"]


@pytest.mark.slow
def test_an_error_shows_no_password(program: Program) -> None:
    mirror = "http://user:secret@127.0.0.1:1/simple"
    raised = call(program, "plan", "torch", mirror=[mirror], cuda="cpu")
    assert raised["status"] == 4
    assert "secret" not in json.dumps(raised)


@pytest.mark.slow
def test_an_environment_is_made_proven_and_diagnosed(program: Program, mirrors: tuple[str, ...]) -> None:
    options = {"cuda": "cpu", "python": PYTHON, "mirror": [one for one in mirrors if one != "--mirror"]}
    made = call(program, "create", "env", TORCH, verify=False, **options)["data"]
    assert Path(made["environment"]["python"]).exists()
    again = call(program, "create", "env", TORCH, verify=False, **options)
    assert (again["status"], again["code"]) == (2, "environment-exists")
    assert (
        call(program, "verify", "env")["data"]["torch"]
        == program.run("verify", "env", "--json").data["torch"]
    )
    diagnosis = call(program, "diagnose", "env", verify=False)["data"]
    told = program.run("doctor", "env", "--no-verify", "--json")
    assert diagnosis == told.envelope["data"]


@pytest.mark.slow
def test_a_message_is_explained(program: Program, tmp_path: Path) -> None:
    message = "torch.cuda.OutOfMemoryError: CUDA out of memory."
    matches = call(program, "explain", message)["data"]["matches"]
    assert matches == program.run("explain", message, "--json").data["matches"]
    (tmp_path / "train.log").write_text(message)
    assert call(program, "explain", str(tmp_path / "train.log"))["data"]["matches"] == matches
    assert call(program, "explain", "all is well") == {"data": {"matches": []}}
