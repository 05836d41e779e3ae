"""Formats `uv` and `pip`: commands that can be pasted, whatever is in them."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import H100, WINDOWS, plan

from gpuenv.formats.commands import render_commands
from gpuenv.formats.registry import FORMATS
from gpuenv.formats.shell import one_line, render_command, render_comment
from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Gpu
from gpuenv.model.plan import Step

WORDS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4).map(tuple)


def test_the_whole_script() -> None:
    assert render_commands(plan()) == (
        "# NVIDIA H100 (9.0), driver 535.104.05 (up to CUDA 12.2)\n"
        "# torch 2.14.1+cu126 · torchvision 0.29.1+cu126 · numpy>=1.26 · `setuptools<82` · Python 3.12 · uv\n"
        "# create an environment with Python 3.12\n"
        "uv venv --python 3.12 .venv\n"
        "# install torch from the source of its build\n"
        "uv pip install --python .venv torch==2.14.1+cu126 'numpy>=1.26'\n"
    )


def test_the_script_for_windows() -> None:
    steps = (Step((r"C:\Program Files\uv.exe", "pip", "install", "numpy>=1.26", "a & b"), "why & what"),)
    assert render_commands(plan(machines=(WINDOWS,), steps=steps)).splitlines()[2:] == [
        "# why   what",
        r'& "C:\Program Files\uv.exe" pip install "numpy>=1.26" "a & b"',
    ]


def test_uv_and_pip_are_formats() -> None:
    assert FORMATS["uv"](plan()) == FORMATS["pip"](plan()) == render_commands(plan())


@given(WORDS)
def test_a_posix_shell_reads_back_the_words(argv: tuple[str, ...]) -> None:
    assert tuple(shlex.split(render_command(argv, "linux-64"))) == argv


@given(WORDS)
def test_powershell_reads_back_the_words(argv: tuple[str, ...]) -> None:
    assert read_powershell(render_command(argv, "win-64")) == argv


def read_powershell(line: str) -> tuple[str, ...]:
    """Split as PowerShell does what `render_command` may write: bare, in double or in single quotes."""
    token = re.compile(
        r"""(?P<bare>[\w+:./\\=-]+)|"(?P<double>[^"$`“”„]*)"|'(?P<single>(?:''|‘‘|’’|‚‚|‛‛|[^'‘’‚‛])*)'""",
        re.ASCII,
    )
    words, at = [], 2 if line.startswith("& ") else 0
    while at < len(line):
        match = token.match(line, at)
        assert match, line[at:]
        single = match["single"]
        plain = re.sub("(['‘’‚‛])\\1", r"\1", single) if single is not None else None
        words.append(plain if plain is not None else match["bare"] or match["double"] or "")
        at = match.end()
        assert at == len(line) or line[at] == " "
        at += 1
    return tuple(words)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("torch==2.14.1+cu126", "torch==2.14.1+cu126"),
        ("numpy<2", '"numpy<2"'),  # a redirection in cmd
        ("a,b", '"a,b"'),  # an array in PowerShell
        ("@x", '"@x"'),
        ("$(calc)", "'$(calc)'"),
        ("`calc`", "'`calc`'"),
        ('numpy; python_version<"3.12"', "'numpy; python_version<\"3.12\"'"),
        ("%PATH%", "'%PATH%'"),
        ("it's", '"it\'s"'),
        ("it's $x", "'it''s $x'"),
        ("‘$x’", "'‘‘$x’’'"),
        ("C:\\my dir\\", "'C:\\my dir\\'"),
    ],
)
def test_words_are_quoted_for_powershell_and_where_it_can_be_for_cmd(word: str, quoted: str) -> None:
    assert render_command(("uv", word), "win-64") == f"uv {quoted}"


@given(st.text())
def test_a_comment_is_one_line_that_cmd_takes_for_no_command(text: str) -> None:
    comment = render_comment(text, "win-64")
    assert comment.startswith("# ")
    assert comment.isprintable()
    assert not set(comment) & set("&|<>^%")
    assert render_comment(text, "linux-64").isprintable()


@given(st.text())
def test_text_in_one_line_keeps_what_prints(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert [letter for letter in line if letter != " "] == [
        letter for letter in text if letter.isprintable() and letter != " "
    ]


@given(st.text(max_size=30))
def test_the_name_of_a_gpu_adds_no_command(name: str) -> None:
    hostile = replace(H100, gpus=(Gpu(0, f"{name}\nrm -rf /", ComputeCapability(9, 0)),))
    lines = render_commands(plan(machines=(hostile,))).split("\n")
    assert [line for line in lines if line and not line.startswith("#")] == [
        line for line in render_commands(plan()).split("\n") if line and not line.startswith("#")
    ]
