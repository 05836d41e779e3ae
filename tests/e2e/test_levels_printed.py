"""What -q, -qq, -v and -vv print."""

from __future__ import annotations

import pytest
from running import Program

PLAN = ("plan", "--gpu", "RTX 3090", "--platform", "linux-64")


def test_the_quietest_level_prints_errors_alone(program: Program) -> None:
    done = program.run(*PLAN, "--offline", "-qq")
    assert (done.status, done.out, done.err) == (0, "", "")
    refused = program.run(*PLAN, "torch==0.0.1", "--offline", "-qq")
    assert (refused.status, refused.out) == (3, "")
    assert refused.err.startswith("error: ")
    assert program.run(*PLAN, "--offline", "-qq", "--json").torch


@pytest.mark.slow
def test_a_variable_counts_as_the_option(program: Program) -> None:
    program.environ["GPUENV_QUIET"] = "2"
    assert program.run(*PLAN, "--offline").out == ""
    program.environ["GPUENV_QUIET"] = "1"
    assert program.run(*PLAN, "--offline").out
    program.environ["GPUENV_VERBOSE"] = "much"
    wrong = program.run(*PLAN, "--offline")
    assert wrong.status == 2
    assert "GPUENV_VERBOSE" in wrong.err


def test_the_most_verbose_level_tells_requests_and_commands_but_no_password(
    program: Program, mirrors: tuple[str, ...]
) -> None:
    told = program.run(*PLAN, "-vv", "--mirror", "http://me:secret@127.0.0.1:9/simple")
    assert "GET http://" in told.err
    assert "$ " in told.err
    assert "secret" not in told.err + told.out
    assert "GET " not in program.run(*PLAN, "-v", *mirrors).err
