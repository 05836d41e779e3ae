"""What a project says anywhere is found, ranked and told with its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gpuenv.adapt.model import Project
from gpuenv.adapt.nearest.request import request_of
from gpuenv.adapt.read_project import read_project
from gpuenv.adapt.render import render_sources
from gpuenv.model.errors import UsageError
from gpuenv.resolution.request import Request

CONDA = "dependencies:\n- python=3.7\n- pytorch=1.4\n- cudatoolkit=10.1\n"
LOCKED = (
    '[[package]]\nname = "numpy"\nversion = "1.2"\n\n[[package]]\nname = "torch"\nversion = "1.12.1"\n\n'
    '[metadata]\npython-versions = "^3.8"\n'
)
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["!pip install torch==9\n"]},
            {"cell_type": "code", "outputs": [{"text": ["pip install torch==8"]}],
             "source": ["import torch\n", '!pip install "torch==1.9.0" torchvision==0.10.0\n']},
        ]
    },
    indent=1,
)  # fmt: skip
CONDA_LOCK = """version: 1
package:
- name: pytorch
  version: 1.12.1
  manager: conda
  platform: osx-64
  url: https://c.example/pytorch/osx-64/pytorch-1.12.1-py3.8_0.tar.bz2
- name: pytorch
  version: 1.12.0
  manager: conda
  platform: linux-64
  url: https://c.example/pytorch/linux-64/pytorch-1.12.0-py3.8_cuda11.3_cudnn8.3.2_0.tar.bz2
"""
EXPLICIT = (
    "@EXPLICIT\nhttps://c.example/pytorch/linux-64/pytorch-1.7.1-py3.8_cuda11.0.221_cudnn8.0.5_0.tar.bz2\n"
)
IMAGE = 'ARG PYTORCH="1.6.0"\nARG CUDA="10.1"\nFROM pytorch/pytorch:${PYTORCH}-cuda${CUDA}-cudnn7-devel\n'
COG = 'build:\n  cuda: "11.1"\n  python_version: "3.8"\n  python_packages:\n    - "torch==1.8.0"\n'
WORKFLOW = "jobs:\n  t:\n    steps:\n    - run: |\n        pip install torch==1.5.0\n"
PIPENV = (
    '{"_meta": {"requires": {"python_version": "3.8"}}, '
    '"default": {"torch": {"hashes": [], "version": "==1.7.1"}}}'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return Path()


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def read(source: str | None = None) -> Project:
    return read_project((Path(),), {}, "linux-64", Path(source) if source else None)


def counts(project: Project) -> dict[str, tuple[str | None, str]]:
    """What counts of each project, with its place; pages are left out."""
    return {
        item.project: (item.requirement, f"{item.file}:{item.line}")
        for item in project.declared
        if item.project != "index"
    }


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "Tested with **PyTorch 1.7.1**, CUDA 10.1\nand Python 3.6+.\n",
         {"torch": ("torch==1.7.1", 1), "cuda": ("10.1", 1), "python": (">=3.6", 2)}),
        ("README.md", "We use torch version 1.4 (Python >= 3.7).\n",
         {"torch": ("torch==1.4.*", 1), "python": (">=3.7", 1)}),
        ("docs/INSTALL.md", "- PyTorch 1.3 or later\n", {"torch": ("torch>=1.3", 1)}),
        ("docs/en/get_started/installation.md", "a\n\npip install torch==1.8.0+cu111\n",
         {"torch": ("torch==1.8.0+cu111", 3)}),
        ("getting_started.md", "conda install pytorch=1.2 cudatoolkit=10.0\n",
         {"torch": ("torch==1.2.*", 1), "cuda": ("10.0", 1)}),
        ("docker/Dockerfile", IMAGE, {"torch": ("torch==1.6.0", 3), "cuda": ("10.1", 3)}),
        ("Dockerfile.gpu", "FROM nvidia/cuda:11.3.1-base\nRUN pip3 install \\\n    torch==1.10.0\n",
         {"torch": ("torch==1.10.0", 3), "cuda": ("11.3", 1)}),
        (".devcontainer/devcontainer.json", '{"image": "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime"}',
         {"torch": ("torch==1.13.1", 1), "cuda": ("11.6", 1)}),
        (".github/workflows/ci.yml", WORKFLOW, {"torch": ("torch==1.5.0", 5)}),
        ("demo.ipynb", NOTEBOOK, {"torch": ("torch==1.9.0", 20), "torchvision": ("torchvision==0.10.0", 20)}),
        ("cog.yaml", COG, {"cuda": ("11.1", 2), "python": ("==3.8.*", 3), "torch": ("torch==1.8.0", 5)}),
        ("tox.ini", "[testenv]\ndeps =\n    torch==1.6.0\n", {"torch": ("torch==1.6.0", 3)}),
        ("install.sh", "#!/bin/sh\npip install torch==1.1.0\n", {"torch": ("torch==1.1.0", 2)}),
        ("Pipfile", '[packages]\ntorch = "==1.7.1"\n[requires]\npython_version = "3.8"\n',
         {"torch": ("torch==1.7.1", 2), "python": ("==3.8.*", 4)}),
        ("Pipfile.lock", PIPENV, {"torch": ("torch==1.7.1", 1), "python": ("==3.8.*", 1)}),
        ("poetry.lock", LOCKED, {"torch": ("torch==1.12.1", 7), "python": ("<4,>=3.8", 10)}),
        ("uv.lock", 'version = 1\nrequires-python = ">=3.9"\n\n' + LOCKED.partition("[metadata]")[0],
         {"torch": ("torch==1.12.1", 10), "python": (">=3.9", 2)}),
        ("conda-lock.yml", CONDA_LOCK, {"torch": ("torch==1.12.0+cu113", 8)}),
        ("conda-linux-64.lock", EXPLICIT, {"torch": ("torch==1.7.1+cu110", 2)}),
    ],
)  # fmt: skip
def test_what_one_file_alone_says_counts(
    path: str, text: str, expected: dict[str, tuple[str, int]], folder: Path
) -> None:
    write(path, text)
    project = read()
    assert counts(project) == {name: (said, f"{path}:{line}") for name, (said, line) in expected.items()}
    assert {source.path for source in project.sources} == {path}


@pytest.mark.parametrize(
    "path",
    ["gym/conda_env.yml", "env/paper.yml", "envs/a/b.yml", "inference/environment.yaml", "Paper-linux.yml"],
)
def test_an_environment_file_in_a_folder_is_adapted(path: str, folder: Path) -> None:
    write(path, CONDA)
    project = read()
    assert [file.path for file in project.files] == [path]
    assert not any(item.hint for item in project.declared)
    assert counts(project)["torch"] == ("torch==1.4.*", f"{path}:3")


def test_a_list_at_the_root_that_leaves_torch_open_takes_it_from_a_folder_below(folder: Path) -> None:
    write("requirements.txt", "timm==0.3.2\n")
    write("env/paper.yml", CONDA)
    project = read()
    assert [file.path for file in project.files] == ["requirements.txt", "env/paper.yml"]
    assert counts(project)["torch"] == ("torch==1.4.*", "env/paper.yml:3")
    assert [item.project for item in project.declared if not item.hint] == ["timm"]


def test_each_kind_binds_more_than_those_after_it(folder: Path) -> None:
    """Without the file that binds most the next one counts, down to a sentence."""
    files = {
        "poetry.lock": LOCKED,
        "Pipfile": '[packages]\ntorch = "==1.11.0"\n',
        "docs/install.md": "pip install torch==1.9.0\n",
        "Dockerfile": "RUN pip install torch==1.8.0\n",
        "README.md": "PyTorch 1.7.1\n",
    }
    for path, text in files.items():
        write(path, text)
    expected = ["1.12.1", "1.11.0", "1.9.0", "1.8.0", "1.7.1"]
    for path, version in zip(files, expected, strict=True):
        project = read()
        assert counts(project)["torch"] == (f"torch=={version}", f"{path}:{counts(project)['torch'][1][-1]}")
        others = sum("which is not followed" in text for text in project.warnings)
        assert others == len(expected) - 1 - expected.index(version)
        Path(path).unlink()


def test_a_lock_narrows_the_range_of_the_file_that_is_adapted_and_a_sentence_does_not(folder: Path) -> None:
    write("pyproject.toml", '[project]\ndependencies = ["torch>=1.10"]\n')
    write("README.md", "PyTorch 2.0.1 is what we used\n")
    assert counts(read())["torch"] == ("torch>=1.10", "pyproject.toml:2")
    write("poetry.lock", LOCKED)
    project = read()
    assert counts(project)["torch"] == ("torch==1.12.1", "poetry.lock:7")
    assert [file.path for file in project.files] == ["pyproject.toml", "poetry.lock"]


def test_the_bounds_of_a_setup_count_beside_a_requirements_file(folder: Path) -> None:
    write("requirements.txt", "torch==1.7.1\n")
    write("setup.py", 'from setuptools import setup\nsetup(python_requires=">=3.6,<3.9")\n')
    assert counts(read())["python"] == (">=3.6,<3.9", "setup.py:2")
    write("setup.py", 'setup(classifiers=[\n"Programming Language :: Python :: 3.6",\n'
                      '"Programming Language :: Python :: 3.8"])\n')  # fmt: skip
    assert counts(read())["python"] == (">=3.6,<3.9", "setup.py:2")
    assert [file.kind for file in read().files] == ["requirements", "readme"]


@pytest.mark.parametrize(
    ("first", "second"), [("demo", "train"), ("docs", "train"), ("a/b", "c"), ("tests", "x/y")]
)
def test_what_the_paper_ran_comes_before_its_demos_and_nearer_before_deeper(
    first: str, second: str, folder: Path
) -> None:
    write(f"{first}/requirements.txt", "torch==1.7.1\n")
    write(f"{second}/requirements.txt", "torch==1.8.0\n")
    assert counts(read())["torch"] == ("torch==1.8.0", f"{second}/requirements.txt:1")


EQUALS = [
    ({"requirements.txt": "torch==1.7.1\n", "environment.yml": CONDA}, "environment.yml", "1.4"),
    ({"a/requirements.txt": "torch==1.7.1\n", "b/requirements.txt": "torch==1.4.0\n"},
     "b/requirements.txt", "1.4"),
    ({"a/Dockerfile": "RUN pip install torch==1.7.1\n", "b/Dockerfile": "RUN pip install torch==1.4.0\n"},
     "b/Dockerfile", "1.4"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "path", "release"), EQUALS)
def test_equals_that_collide_are_asked_about_and_source_answers(
    files: dict[str, str], path: str, release: str, folder: Path
) -> None:
    for name, text in files.items():
        write(name, text)
    with pytest.raises(UsageError) as info:
        read()
    assert info.value.code == "several-sources"
    assert sorted(because.source for because in info.value.because) == sorted(files)
    assert all(any(f"--source {name}" in fix.text for fix in info.value.fixes) for name in files)
    assert (counts(read(path))["torch"][0] or "").startswith(f"torch=={release}")


def test_a_source_that_cannot_be_adapted_takes_the_place_of_lines_that_say_otherwise(folder: Path) -> None:
    write("requirements.txt", "torch==1.6.0\ntimm==0.3.2\n")
    write("README.md", "pip install torch==1.7.1+cu110\n")
    assert counts(read())["torch"] == ("torch==1.6.0", "requirements.txt:1")
    project = read("README.md")
    assert counts(project)["torch"] == ("torch==1.7.1+cu110", "README.md:1")
    assert counts(project)["timm"] == ("timm==0.3.2", "requirements.txt:2")
    assert "requirements.txt:1 has `torch==1.6.0`, which is not followed" in project.warnings
    with pytest.raises(UsageError, match="not a file of the folder"):
        read("elsewhere.txt")


def test_the_table_shows_every_place_and_what_is_not_followed(folder: Path) -> None:
    write("requirements.txt", "numpy\n\ntorch==1.6.0\n")
    assert render_sources(read()) == ""
    write("README.md", "PyTorch 1.7.1\nPython 3.7\n")
    assert render_sources(read()).splitlines() == [
        "what the files say:",
        "  requirements.txt  torch==1.6.0 (line 3)",
        "  README.md         torch==1.7.1 (line 1, not followed), python==3.7.* (line 2)",
    ]


def test_what_others_wrote_is_not_read(folder: Path) -> None:
    """Checkouts in the checkout, environments, links to elsewhere and folders of other projects."""
    write("requirements.txt", "timm\n")
    for path in ("third_party/x", "sub", "venv", "made", "a/b/c/d"):
        write(f"{path}/requirements.txt", "torch==6.6\n")
    write("sub/.git", "gitdir: ../.git/modules/sub\n")
    write("made/pyvenv.cfg", "home = /usr\n")
    away = folder.resolve().parent / "away"
    write(str(away / "requirements.txt"), "torch==6.6\n")
    (folder / "linked").symlink_to(away)
    write("docs/a", "")
    (folder / "docs" / "install.md").symlink_to(away / "requirements.txt")
    project = read()
    assert list(counts(project)) == ["timm"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name")
def test_what_is_no_text_or_no_file_or_too_large_is_passed_over(folder: Path) -> None:
    write("requirements.txt", "torch==1.7.1\n")
    os.mkfifo("Dockerfile")
    Path("INSTALL.md").write_bytes(b"torch\0")
    write("cog.yaml", "python: [")
    write("x.ipynb", "torch {")
    write("environment.yml", "pytorch: &a [*a")
    write("poetry.lock", "torch" * 500_000)
    assert counts(read())["torch"] == ("torch==1.7.1", "requirements.txt:1")


INSTALL = """1. Install torch:

   pip install torch==1.9.1+cu111 -f https://x.example/torch_stable.html
   pip install mmcv-full==1.4.0 'timm<0.6' git+https://x.example/a/nvdiffrast.git  # more
   pip install --upgrade pip
   conda install -c conda-forge faiss-gpu

You can pip install wandb and it works too, or `pip install einops`.
"""


def test_what_is_installed_in_the_commands_beside_the_torch_that_counts_counts_too(folder: Path) -> None:
    write("docs/install.md", INSTALL)
    project = read()
    assert [item.requirement for item in project.declared if item.project not in ("index", "torch")] == [
        "mmcv-full==1.4.0", "timm<0.6", "nvdiffrast @ git+https://x.example/a/nvdiffrast.git", None, "einops",
    ]  # fmt: skip
    requested = [item.name for item in request_of(project, Request(requirements=())).requirements]
    assert requested == ["torch", "mmcv-full", "timm", "nvdiffrast", "einops"]


def test_the_commands_of_a_document_whose_torch_does_not_count_install_nothing(folder: Path) -> None:
    write("docs/install.md", INSTALL)
    write("requirements.txt", "torch==1.7.1\ntimm==0.3.2\n")
    assert [item.requirement for item in read().declared] == ["torch==1.7.1", "timm==0.3.2"]
    write("requirements.txt", "torch\ntimm==0.3.2\n")
    assert [item.requirement for item in read().declared if item.project != "index"] == [
        "torch", "timm==0.3.2", "torch==1.9.1+cu111", "mmcv-full==1.4.0",
        "nvdiffrast @ git+https://x.example/a/nvdiffrast.git", None, "einops",
    ]  # fmt: skip


def test_many_notebooks_hide_no_install_instructions(folder: Path) -> None:
    for number in range(80):
        write(f"a/{number}.ipynb", NOTEBOOK)
    write("docs/b/c/install.md", "pip install torch==1.5.0\n")
    assert counts(read())["torch"] == ("torch==1.5.0", "docs/b/c/install.md:1")


def test_a_lock_that_no_list_stands_beside_counts_whole_but_for_what_torch_brings(folder: Path) -> None:
    locked = {
        "tqdm": {"version": "==4.64.0"},
        "torch": {"version": "==1.11.0"},
        "nvidia-cublas-cu11": {"version": "==11.1"},
    }
    write(
        "Pipfile.lock", json.dumps({"default": locked, "develop": {"pytest": {"version": "==7.0"}}}, indent=1)
    )
    write("Pipfile", '[packages]\ntorch = "*"\ntqdm = "*"\n')
    assert [item.requirement for item in read().declared] == ["tqdm==4.64.0", "torch==1.11.0"]


def test_the_table_names_the_one_file_that_torch_was_read_in_where_another_is_adapted(folder: Path) -> None:
    write("requirements.txt", "timm\n")
    write("cog.yaml", 'build:\n  python_packages:\n    - "torch==1.8.0"\n    - ipython==7.3\n')
    project = read()
    assert render_sources(project).splitlines()[1:] == ["  cog.yaml  torch==1.8.0 (line 3)"]
    assert [item.requirement for item in project.declared] == ["timm", "torch==1.8.0", "ipython==7.3"]


def test_commands_count_where_a_sentence_alone_names_torch(folder: Path) -> None:
    write("INSTALL.md", "- PyTorch 1.0\n\npip install yacs\nconda install pytorch-nightly -c pytorch\n")
    write("docs/install.md", "pip install sphinx\n")
    requirements = {item.project: item.requirement for item in read().declared}
    assert requirements == {"torch": "torch==1.0.*", "yacs": "yacs", "pytorch-nightly": None}

    write("INSTALL.md", "pip install yacs\n")
    with pytest.raises(UsageError, match="no file there lists"):
        read()
