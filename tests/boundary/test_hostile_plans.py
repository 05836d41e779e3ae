"""A whole `plan` against an index that means harm: exit 4, the index by name, bounded memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from raw_server import serve_raw
from running import make_program
from test_hostile_http import PAGES

_SLOW = pytest.param("gzip bomb", marks=pytest.mark.slow)  # to pack
_CASES = ("gzip twice", "an endless header", "endless chunks", "two lengths", "too short", _SLOW)
_ASKED = ("torch", "--cuda", "cpu", "--manager", "uv", "--python", "3.12", "--json")
_LIMITS = {"RLIMIT_CPU": 60, "RLIMIT_AS": 3 << 30}
_PEAK_MIB = 400  # what a page of 64 MB may hold several times over, and gpuenv itself


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there are no forks")
@pytest.mark.parametrize("name", _CASES)
def test_an_index_that_means_harm_is_named_and_leaves_no_plan(name: str, tmp_path: Path) -> None:
    answer, _ = PAGES[name]
    program = replace(make_program(tmp_path / "user"), limits=_LIMITS)
    with serve_raw(answer) as server:
        done = program.run("plan", *_ASKED, "--mirror", f"{server.url}/simple", timeout_s=120)
        assert server.paths
    assert done.status == 4, done.said
    assert server.url in str(done.error)
    assert done.peak_mib < _PEAK_MIB, done.peak_mib
