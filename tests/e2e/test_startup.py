"""What a shell sees first: version, help, completion, and how little is loaded for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from running import Program

import gpuenv

NETWORK = {"requests", "urllib3", "charset_normalizer", "http.client", "ssl", "email.message", "msgpack"}
HEAVY = {"requests", "urllib3", "yaml", "ruamel", "rich", "uv", "tomli", "idna", "certifi"}
LIGHT = {"typer", "annotated_doc", "shellingham", "packaging", "platformdirs", "filelock"}
LIGHT |= {"msgspec", "typing_extensions"}
# what a Python brings along before gpuenv is started: .pth files, coverage of these tests
_AROUND = {"_distutils_hack", "sitecustomize", "usercustomize", "org", "coverage", "distutils-precedence"}


COMMANDS = (
    ("detect",), ("plan",), ("create",), ("verify",), ("doctor",), ("explain",), ("list",), ("run",),
    ("activate",), ("shell",), ("kernel",), ("remove",), ("install",), ("uninstall",), ("update",),
    ("export",), ("clone",), ("rename",), ("dockerfile",), ("bootstrap",), ("info",), ("version",), ("help",),
    ("demo",),
    ("matrix",), ("matrix", "show"), ("matrix", "check"), ("matrix", "inspect"), ("matrix", "refresh"),
    ("mirrors",), ("mirrors", "list"), ("mirrors", "check"), ("mirrors", "use"), ("mirrors", "reset"),
    ("fleet",), ("fleet", "detect"), ("fleet", "plan"), ("fleet", "create"), ("fleet", "verify"),
    ("cache",), ("cache", "dir"), ("cache", "size"), ("cache", "clean"), ("self",), ("self", "version"),
)  # fmt: skip


def commands_of(text: str) -> set[str]:
    """Return the commands that a help text lists, each with something said of it."""
    _, _, listed = text.partition("\nCommands:\n")
    return set(re.findall(r"^  (\w+)  +\S", listed, re.MULTILINE))


def loaded(program: Program, *arguments: str) -> set[str]:
    """Return the modules of others that a command loads, by their first names."""
    first = {name.partition(".")[0] for name in all_loaded(program, *arguments)}
    return first - set(sys.stdlib_module_names) - _AROUND - {"gpuenv"}


def all_loaded(program: Program, *arguments: str) -> set[str]:
    """Return all modules that a command loads."""
    argv = [sys.executable, "-X", "importtime", "-m", "gpuenv", *arguments]
    done = subprocess.run(
        argv, env=program.environ, cwd=program.root / "work", capture_output=True, text=True, check=True
    )
    names = re.findall(r"^import time:[^|]+\|[^|]+\|\s*([\w.]+)$", done.stderr, re.MULTILINE)
    assert "gpuenv" in names
    return set(names)


def test_the_version_loads_nothing_else(program: Program) -> None:
    assert loaded(program, "--version") == set()
    done = program.run("--version")
    assert (done.status, done.out) == (0, f"gpuenv {gpuenv.__version__}\n")
    assert program.run("-V").out == done.out


@pytest.mark.parametrize("arguments", [("detect",), ("detect", "--json"), ("--help",), ("plan", "--help")])
def test_nothing_heavy_is_loaded_to_look_at_the_machine(program: Program, arguments: tuple[str, ...]) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("NVIDIA H100 PCIe", "9.0"))
    assert loaded(program, *arguments) <= LIGHT - {"platformdirs", "filelock"}


@pytest.mark.parametrize("arguments", [("list",), ("matrix", "show", "cuda"), ("mirrors", "list")])
def test_nothing_heavy_is_loaded_to_list(program: Program, arguments: tuple[str, ...]) -> None:
    assert loaded(program, *arguments) <= LIGHT


def test_a_plan_that_asks_nobody_loads_nothing_of_the_network(
    program: Program, server: IndexServer, mirrors: tuple[str, ...]
) -> None:
    """Neither with what ships with gpuenv, nor with pages and sizes that an earlier plan has read."""
    machine = ("--driver", "535.104.05", "--gpu", "9.0")
    assert NETWORK & all_loaded(program, "plan", *machine, "--offline") == set()
    assert "requests" in all_loaded(program, "plan", *machine, *mirrors)
    server.forget()
    assert NETWORK & all_loaded(program, "plan", *machine, *mirrors, "--offline") == set()
    assert not server.count()


def test_help_tells_every_command(program: Program) -> None:
    done = program.run("--help")
    assert done.status == 0
    assert commands_of(done.out) == {name for name, *_ in COMMANDS}
    for command in COMMANDS:
        answer = program.run(*command, "--help")
        assert answer.status == 0
        assert answer.out.startswith(f"Usage: gpuenv {' '.join(command)}")
    for group in ("matrix", "mirrors", "fleet", "cache", "self"):
        answer = program.run(group, "--help")
        assert commands_of(answer.out) == {
            name for first, *rest in COMMANDS if first == group for name in rest
        }
    bare = program.run()
    assert (bare.status, bare.out) == (2, "")
    assert bare.err.startswith("Usage: gpuenv")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(program: Program, shell: str) -> None:
    if bash := shutil.which("bash"):  # it is asked for its version
        (program.bin / "bash").symlink_to(bash)
    elif shell == "bash":
        pytest.skip("no bash")
    done = program.with_(_GPUENV_COMPLETE=f"source_{shell}").run()
    assert (done.status, done.err) == (0, "")
    assert "_GPUENV_COMPLETE" in done.out


def test_completion_offers_commands_and_options(program: Program) -> None:
    requested = program.with_(_GPUENV_COMPLETE="complete_bash", COMP_WORDS="gpuenv ", COMP_CWORD="1")
    assert {"detect", "plan", "create"} <= set(requested.run().out.split())
    option = program.with_(_GPUENV_COMPLETE="complete_bash", COMP_WORDS="gpuenv plan --mir", COMP_CWORD="2")
    assert option.run().out.split() == ["--mirror"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("plan --cuda cu12", {"cu126", "cu128", "cu129"}),
        ("plan --cuda rocm7.1", {"rocm7.1", "rocm7.14"}),
        ("create env --python 3.1", {"3.10", "3.14"}),
        ("plan --gpu rtx-309", {"rtx-3090", "rtx-3090-Ti"}),
        ("plan --gpu gfx110", {"gfx1100", "gfx1103"}),
        ("plan --gpu 8.", {"8.0", "8.6", "8.9"}),
        ("matrix show acc", {"accelerator-builds"}),
        ("explain --pack co", {"core"}),
    ],
)
def test_completion_offers_values(program: Program, typed: str, offered: set[str]) -> None:
    count = str(len(typed.split()))
    told = program.with_(_GPUENV_COMPLETE="complete_bash", COMP_WORDS=f"gpuenv {typed}", COMP_CWORD=count)
    words = told.run().out.splitlines()
    assert set(words) >= offered
    assert all(word.startswith(typed.rsplit(maxsplit=1)[-1]) for word in words)


@pytest.mark.skipif(os.name == "nt", reason="a device file")
def test_completion_of_names_is_silent_where_there_are_none(program: Program) -> None:
    nowhere = program.with_(GPUENV_DATA_DIR=os.devnull + "/data", _GPUENV_COMPLETE="complete_bash")
    done = nowhere.with_(COMP_WORDS="gpuenv run ", COMP_CWORD="2").run()
    assert (done.status, done.out.strip(), done.err) == (0, "", "")
