"""Lines that are run without typer: they print what typer's way prints, and typer is not loaded for them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
import typer.main
from running import Program

from gpuenv.cli.app import app
from gpuenv.cli.plain import NO_OPTIONS, VARIABLES, plain_command

LINES = (
    "detect", "detect --json", "detect -q", "detect -v --json", "list", "list --quiet", "list --json",
    "mirrors list", "mirrors list --json", "mirrors list --verbose",
    "explain", "explain torch is slow", "explain 'RuntimeError: CUDA out of memory' --json", "explain '' -v",
)  # fmt: skip
_FREE = re.compile(r'"free_bytes": \d+|[\d.]+ GB free')  # on a disk that others write to
PLANS = (
    "plan --offline", "plan torch torchvision --offline --json", "plan -q --offline",
    "plan numpy --offline -v",
)  # fmt: skip
FAILING = (
    "explain absent.log",
    "explain . --json",
    "plan 'torch==0.0.1' --offline",
    "plan 'torch=2' --offline --json",
    "plan '' --offline",
    "activate nothing",
    "activate nothing --json",
    "activate ..",
    "run nothing",
    "run nothing -- true",
)
OTHERS = (
    "", "--version", "detect --help", "detect extra", "list --all", "mirrors", "mirrors check", "run",
    "run --json", "run -- x", "activate", "activate a b", "activate a --shell fish", "detect --jso",
    "--lang zh detect", "list --lang=en", "plan --offline torch", "plan --cuda 12.6",
    "plan --offline --format uv", "explain -", "explain --help", "explain x --lang zh", "explain -- -x",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES + PLANS + FAILING)
def test_a_plain_line_prints_what_typer_s_way_prints(program: Program, line: str) -> None:
    first, *rest = shlex.split(line)
    plain, parsed = program.run(first, *rest), program.run("--lang", "auto", first, *rest)
    assert (plain.status, _FREE.sub("", plain.out), plain.err) == (
        parsed.status, _FREE.sub("", parsed.out), parsed.err
    )  # fmt: skip


@pytest.mark.parametrize("line", LINES + PLANS + FAILING)
def test_typer_is_not_loaded_for_a_plain_line(program: Program, line: str) -> None:
    code = (
        f"import sys; from gpuenv.cli.main import run; run({shlex.split(line)}); "
        "sys.exit('typer' in sys.modules or 'rich' in sys.modules or 'requests' in sys.modules)"
    )
    argv = (sys.executable, "-c", code)
    assert subprocess.run(argv, env=program.environ, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("line", OTHERS)
def test_any_other_line_is_typer_s(line: str) -> None:
    assert plain_command(shlex.split(line), {}) is None


@pytest.mark.parametrize("variable", ["GPUENV_JSON", "GPUENV_LANG", "GPUENV_ALL", "_GPUENV_COMPLETE"])
def test_a_variable_that_says_more_leaves_the_line_to_typer(variable: str) -> None:
    assert plain_command(["list"], {variable: "1"}) is None
    assert plain_command(["list"], {}) is not None


@pytest.mark.parametrize("line", ["detect", "list", "mirrors list", "activate", "explain", "run"])
def test_every_variable_of_an_option_leaves_the_line_to_typer(line: str) -> None:
    command = typer.main.get_command(app)
    for word in line.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    assert {item.envvar for item in command.params if item.envvar} <= {*VARIABLES}


def test_every_variable_of_an_option_of_a_plan_leaves_it_to_typer() -> None:
    assert plain_command(["plan", "torch"], dict.fromkeys(NO_OPTIONS, "1")) is not None
    planning = typer.main.get_command(app).commands["plan"]  # type: ignore[attr-defined]
    variables = {str(item.envvar) for item in planning.params if item.envvar} | {"GPUENV_GPU"}
    assert [v for v in variables if plain_command(["plan", "torch"], {v: "1"})] == []
