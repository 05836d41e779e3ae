"""What Slurm's programs print, which nodes a limit means, and the script for sbatch."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from base64 import b64decode, b64encode
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import packed

from gpuenv.fleet import render
from gpuenv.fleet.engines.slurm import START, START_SHELL
from gpuenv.fleet.engines.slurm_limit import parse_limit
from gpuenv.fleet.engines.slurm_text import SlurmNode, last_words, parse_jobs, parse_nodes
from gpuenv.fleet.render.slurm import TEMPLATE, Carried, SlurmGroup, render_slurm
from gpuenv.model.errors import UsageError
from gpuenv.node.main import in_words

_ECHO = packed("import json, sys; print(json.dumps([sys.argv[1:], json.load(sys.stdin)]))")


# nodes


def test_nodes_are_read_with_their_gpus_and_why_no_job_can_start_there() -> None:
    text = """\
gpu1|idle|gpu:a100:4(S:0-1)|none
gpu2|mixed|gpu:tesla:1,gpu:kepler:2(IDX:0,3),mps:400|none
gpu3|drained|(null)|bad | fan
gpu4|idle*|gpu|Not responding
gpu5|idle~|gpu:1g.5gb:7(S:0)|none
gpu6|DOWN$|gpu:8|none
gpu1|idle|gpu:a100:4(S:0-1)|none
"""
    assert parse_nodes(text) == (
        SlurmNode("gpu1", 4),
        SlurmNode("gpu2", 3),
        SlurmNode("gpu3", 0, "Slurm reports it as `drained`: bad | fan"),
        SlurmNode("gpu4", 1, "Slurm reports it as `idle*`: Not responding"),
        SlurmNode("gpu5", 7),
        SlurmNode("gpu6", 8, "Slurm reports it as `DOWN$`"),
    )
    assert parse_nodes("\n \n") == ()


@pytest.mark.parametrize(
    "line",
    ["gpu1", "gpu1|idle|(null)", "-x|idle|(null)|none", "a b|idle|(null)|none", "gpu1||(null)|none", "\x00"],
)
def test_what_is_no_node_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a valid Slurm node"):
        parse_nodes(f"gpu0|idle|(null)|none\n{line}\n")


@given(st.text())
def test_any_text_is_nodes_or_refused(text: str) -> None:
    try:
        nodes = parse_nodes(text)
    except ValueError:
        return
    for node in nodes:
        assert re.fullmatch(r"[\w.-]+", node.name)
        assert node.away is None or node.away.isprintable()


def test_the_queue_is_read_and_what_is_none_left_out() -> None:
    text = "gpu1|PENDING|Resources\nnothing\ngpu2|RUNNING|None\ngpu3|PENDING|a|b\x1b[0m\n"
    assert parse_jobs(text) == {
        "gpu1": ("PENDING", "Resources"), "gpu2": ("RUNNING", "None"), "gpu3": ("PENDING", "a|b [0m"),
    }  # fmt: skip


@given(st.text())
def test_any_text_is_a_queue_and_has_last_words(text: str) -> None:
    parse_jobs(text)
    words = last_words(text)
    assert all(line.isprintable() and line for line in words.split("\n") if words)


# the limit


@st.composite
def _names(draw: st.DrawFn) -> tuple[str, set[str]]:
    """Draw a host list, and the names that it stands for."""
    pieces: list[tuple[str, list[str]]] = []
    for _ in range(draw(st.integers(1, 3))):
        literal = draw(st.sampled_from(["gpu", "n-", "rack", "x."]))
        pieces.append((literal, [literal]))
        if draw(st.booleans()):
            first, width = draw(st.integers(0, 20)), draw(st.integers(1, 3))
            last = first + draw(st.integers(0, 5))
            ends = f"{first:0{width}}-{last:0{width}}" if last > first else f"{first:0{width}}"
            width = len(ends.partition("-")[0])
            pieces.append(
                (f"[{ends},77]", [f"{number:0{width}}" for number in range(first, last + 1)] + ["77"])
            )
            pieces.append(("e", ["e"]))
    text = "".join(piece for piece, _ in pieces)
    return text, {"".join(parts) for parts in product(*(ways for _, ways in pieces))}


@given(st.lists(_names(), min_size=1, max_size=3), _names())
def test_a_host_list_means_just_the_hosts_that_it_stands_for(
    listed: list[tuple[str, set[str]]], other: tuple[str, set[str]]
) -> None:
    patterns = parse_limit(",".join(text for text, _ in listed))
    meant = set[str]().union(*(names for _, names in listed))
    for name in meant | other[1]:
        assert any(pattern.fits(name) for pattern in patterns) == (name in meant)


def test_patterns_and_padded_numbers() -> None:
    def fitting(limit: str, *names: str) -> list[str]:
        return [name for name in names if any(pattern.fits(name) for pattern in parse_limit(limit))]

    assert fitting("gpu*,n?", "gpu", "gpu12", "n1", "n12", "xgpu") == ["gpu", "gpu12", "n1"]
    assert fitting("n[001-012]", "n1", "n001", "n012", "n0012", "n013") == ["n001", "n012"]
    assert fitting("n[8-12]", "n8", "n08", "n12", "n012", "n13") == ["n8", "n12"]
    assert fitting("a.b", "a.b", "aab") == ["a.b"]
    assert fitting("n[0-999999999999999999]*", "n5", "n5-ib") == ["n5", "n5-ib"]
    assert fitting("*[10-12]*", "gpu12", "gpu12-ib", "gpu112", "gpu123") == ["gpu12", "gpu12-ib"]
    assert fitting("gpu1[0-3]", "gpu13", "gpu3") == ["gpu13"]
    assert fitting("*" * 60 + "x", "a" * 60) == []


@pytest.mark.parametrize(
    "text", ["", ",", " ", "gpu[", "gpu]", "gpu[1", "gpu[]", "gpu[a-b]", "gpu[1-]", "g[[1]]", "n[²]"]
)
def test_what_is_no_host_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a valid list of hosts"):
        parse_limit(text)


@given(st.text(alphabet="gpu019[]-,*?. \\(|+é"))
def test_any_text_is_a_limit_or_refused(text: str) -> None:
    try:
        patterns = parse_limit(text)
    except ValueError:
        return
    for pattern in patterns:
        pattern.fits("gpu01")


# the script


def script(*groups: SlurmGroup, program: bytes = b"program", name: str = "torch") -> str:
    template = (files(render) / TEMPLATE).read_text(encoding="utf-8")
    return render_slurm(groups, name, "gpuenv 1.2.3", Carried(program, "echo sh", "print('py')"), template)


def called(text: str, words: str) -> str:
    """Call a function of the script."""
    upto = text.partition("# <<< what is asked for")[0]
    done = subprocess.run(
        ["/bin/bash", "-c", f"{upto}\n{words}"], capture_output=True, check=True, timeout=60
    )
    return done.stdout.decode()


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash")
@given(
    texts=st.dictionaries(st.text(), st.text(), max_size=3),
    program=st.binary(max_size=400),
    about=st.text(max_size=30),
)
def test_texts_from_outside_stay_what_they_are(texts: dict[str, str], program: bytes, about: str) -> None:
    nasty = {"END_OF_FILE": "\nEND_OF_FILE\n$(touch pwned) `x` '\"", **texts}
    text = script(SlurmGroup((), "", about, nasty), program=program)
    assert json.loads(called(text, "request 1")) == nasty
    assert b64decode(called(text, "program")) == program


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="there is no bash")
def test_each_node_finds_its_group() -> None:
    text = script(
        SlurmGroup(("gpu1", "gpu2.lab"), "-cu126", "old", {"a": 1}),
        SlurmGroup(("n-1",), "-cu130", "new", {"a": 2}),
    )
    requested = (
        "for host in gpu1 gpu2.lab n-1 gpu2xlab gpu3; do group_of $host; done; suffix_of 1; suffix_of 2;"
    )
    assert called(text, f"{requested} request 2").split() == [
        "1",
        "1",
        "2",
        "0",
        "0",
        "-cu126",
        "-cu130",
        "{",
        '"a":',
        "2",
        "}",
    ]
    assert called(script(SlurmGroup((), "", "any", {})), "group_of whatever; suffix_of 1") == "1\n\n"


@pytest.mark.parametrize("name", ["*", "a b", "$(x)", "a)", "-x", "gpu[1-9]", "a|b", "", "ä"])
def test_a_node_whose_name_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        script(SlurmGroup((name,), "", "", {}))
    assert caught.value.code == "no-host-name"


def test_what_slurm_would_not_take_is_refused_and_passwords_are_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        script(SlurmGroup((), "", "", {"lines": "x" * 5_000_000}))
    assert caught.value.code == "script-too-large"
    assert "secret" not in script(SlurmGroup((), "", "from https://me:secret@example.com/simple\nx", {}))
    assert called(script(SlurmGroup((), "", "", {}), name="a'b $x"), 'echo "$name"') == "a'b $x\n"


# the node's answer in words


def words(answer: dict[str, Any]) -> tuple[list[str], bool]:
    return in_words(answer, {"SLURMD_NODENAME": "gpu1"})


def test_an_answer_in_words() -> None:
    device = {"name": "T4", "index": 0, "tests": [{"id": "matmul", "ok": True, "detail": ""}]}
    torch = {"version": "2.14.1", "cuda": "12.6"}
    report = {"torch": torch, "devices": [device], "complete": True}
    answer = {"ok": True, "environment": "/e", "report": report, "printed": ["Killed"]}
    assert words(answer) == (["gpu1: it works: /e"], True)
    wrong = {**device, "tests": [{"id": "matmul", "ok": False, "detail": "wrong"}]}
    for changed, said in (
        (None, ["error: the tests of /e left no report", "Killed"]),
        ({**report, "torch": None, "failure": "no"}, ['error: torch cannot be imported in /e: "no"']),
        (
            {**report, "devices": [{**device, "index": None}]},
            ["error: torch sees no GPU in /e: none is visible"],
        ),
        ({**report, "devices": [wrong]}, ["error: T4: matmul: wrong"]),
        ({**report, "complete": False}, ["error: the tests of /e did not come to their end"]),
    ):
        assert words({**answer, "report": changed}) == ([f"gpu1: {line}" for line in said], False)
    failed = {"ok": False, "error": {"message": "no luck", "because": ["a", "b"]}, "log": "one\ntwo"}
    assert words(failed) == ([f"gpu1: {item}" for item in ("one", "two", "error: no luck", "a", "b")], False)
    assert words({"ok": True, "state": "made", "environment": "/e"}) == (["gpu1: made: /e"], True)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize(("file", "shell"), [(files(render) / TEMPLATE, "bash"), (START_SHELL, "sh")])
def test_what_runs_on_nodes_is_clean(file: Path, shell: str) -> None:
    argv = [shutil.which("shellcheck") or "", "-s", shell, str(file)]
    assert subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout == ""


def test_the_program_starts_with_the_first_python_on_path_that_is_new_enough(tmp_path: Path) -> None:
    """And goes again with its folder; where there is none, that is said."""
    tried = []
    for name, body in (("old", "exit 1"), ("odd folder", f'exec {shlex.quote(sys.executable)} "$@"')):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "python3.9"
        file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        file.chmod(0o755)
        tried.append(str(file.parent))
    (tmp_path / "tmp").mkdir()
    shell = START_SHELL.read_text(encoding="utf-8")
    request = {
        "request": {"name": "ä", "force": False},
        "also": {"force": True},
        "program": b64encode(_ECHO).decode(),
    }
    argv = ["/bin/sh", "-c", shell, START.read_text(encoding="utf-8"), "create", "--in-words"]

    def started(*folders: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": ":".join(folders), "TMPDIR": str(tmp_path / "tmp")}
        given = json.dumps(request)
        return subprocess.run(
            argv, env=environ, input=given, capture_output=True, text=True, check=False, timeout=60
        )

    assert started(tried[0]).returncode == 127
    assert "no Python 3.8 or newer on PATH" in started(tried[0]).stderr
    done = started(*tried)
    assert json.loads(done.stdout) == [["create", "--in-words"], {"name": "ä", "force": True}]
    assert not list((tmp_path / "tmp").iterdir())
