"""The readers of what is not adapted: whatever a file holds, its places are where they say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.sources.names import known_name
from gpuenv.adapt.sources.readers import read_source
from gpuenv.adapt.sources.settle import releases_of, settle

NAMES = (
    "poetry.lock", "uv.lock", "Pipfile.lock", "conda-lock.yml", "conda-linux-64.lock", "Pipfile",
    "cog.yaml", "Dockerfile", ".devcontainer/devcontainer.json", ".github/workflows/ci.yml", "a.ipynb",
    "tox.ini", "install.sh", "README.md", "runtime.txt", "setup.py", "pyproject.toml", "setup.cfg",
    "env/a.yml", "a/requirements.txt",
)  # fmt: skip
PIECES = st.sampled_from(
    (
        "torch", "torch==1.7.1+cu110", "pytorch", "PyTorch 1.7.1", "cuda 11.0", "CUDA >= 10.2 or later",
        "Python 3.6+", "python-3.8.1", "python = ", '"3.8"', "[[package]]\n", 'name = "torch"\n',
        'version = "1.12.1"\n', "[metadata]\n", 'python-versions = "^3.8"\n',
        'requires-python = ">=3.9"\n', "{", "}", "[", "]", '"', "'", ":", ",", "\n", "\r\n", "  ", "- ",
        "\t", "\ufeff", "é", "\\", "`", "&&", "RUN ", "FROM ", "ARG A=1.6\n", "${A}",
        "pytorch/pytorch:1.7.1-cuda11.0", "nvidia/cuda:11.3.1", "pip install ", "conda install ",
        "build:\n", "  cuda: ", "  python_packages:\n", "  python_version: ", "- name: pytorch\n",
        "  version: 1.12.1\n", "  platform: linux-64\n",
        "  url: https://c/linux-64/pytorch-1.7-py3_0.conda\n", "@EXPLICIT\n", '"default": {',
        '"develop"', '"version": "==1.7.1"', '"cells": [', '"cell_type": "code"', '"source": [',
        "!pip install torch==1.9\\n", "[packages]\n", "[requires]\n", "python_version = ", "deps =",
        "dependencies:\n", "Programming Language :: Python :: 3.7", "setup(", ")", "=", ">=", "==",
        "111111111111111111111111111111", "{{ x }}", "&a", "*a", "!!python/object",
    )
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=24).map("".join) | st.text(max_size=60)


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_a_fact_stands_where_it_says_and_only_value_errors_are_raised(name: str, text: str) -> None:
    row = known_name(name)
    assert row is not None
    try:
        sources = read_source(DependencyFile(name, "readme", text), row, name, "linux-64")
    except ValueError:
        return
    for source in sources:
        for fact in source.declared:
            assert 0 <= fact.start < fact.end <= len(text)
            assert fact.line == text.count("\n", 0, fact.start) + 1
            assert fact.hint or fact.project not in {"torch", "python", "cuda"}
            releases_of(fact)
        assert all(warning.isprintable() for warning in source.warnings)


@given(texts=st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), max_size=5))
def test_whatever_the_sources_say_what_counts_does_not_contradict_itself(
    texts: list[tuple[str, str]],
) -> None:
    sources = []
    for name, text in texts:
        row = known_name(name)
        try:
            sources += read_source(DependencyFile(name, "readme", text), row, name, "linux-64") if row else ()
        except ValueError:
            continue
    sources.sort(key=lambda source: source.rank)
    settled = settle((), sources)
    assert len(settled.sources) == len(sources)
    used = {id(fact.declared) for source in settled.sources for fact in source.facts if fact.used}
    assert {id(item) for item in settled.counting} <= used
    for source in settled.sources:
        assert not any(fact.used and fact.contradicts for fact in source.facts)


def test_a_notebook_of_one_line_and_one_of_many_say_the_same() -> None:
    cells = {
        "cells": [
            {"cell_type": "code", "source": ["!pip install 'torch==1.9.0'\n", "x = '!pip install torch==2'"]}
        ]
    }
    for text in (json.dumps(cells), json.dumps(cells, indent=2)):
        row = known_name("a.ipynb")
        assert row is not None
        (source,) = read_source(DependencyFile("a.ipynb", "readme", text), row, "a.ipynb", "linux-64")
        assert [(item.requirement, text[item.start : item.end]) for item in source.declared] == [
            ("torch==1.9.0", "torch==1.9.0")
        ]
