"""The packages of the install lines that are followed are required, each in the plan or named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from adapted_papers import adapt_for, bare_environ, save_machine

from gpuenv.adapt.model import Project, RequirementChange
from gpuenv.adapt.patch.apply import patched, unapplied
from gpuenv.adapt.read_project import read_project

INSTALL = """\
# Install
You may pip install gradio for the demo, and after it
pip install wandb once.
```shell
conda create -n paper python=3.8 ipython -y
$ pip install torch==1.9.1+cu111 torchvision==0.10.1+cu111 -f https://download.example/torch_stable.html
# pip install commented==1.0
pip install -U pip mmcv-full==1.4.0  # pip install later
python -m pip install mmdet==2.14.0 && pip install 'timm<0.5' \\
    git+https://x.example/a/panopticapi.git
git clone https://x.example/a/detectron.git
cd detectron && pip install -e .
pip install mmdet==2.15.0
pip install ${MORE}
```
- yacs: `pip install yacs==0.1.8`, see above

    $ pip install -e git+https://x.example/a/b.git#egg=ogb
"""
PACKAGES = {
    "ipython": (None, 5),
    "mmcv-full": ("mmcv-full==1.4.0", 8),
    "mmdet": ("mmdet==2.14.0", 9),
    "timm": ("timm<0.5", 9),
    "panopticapi": ("panopticapi @ git+https://x.example/a/panopticapi.git", 10),
    "yacs": ("yacs==0.1.8", 16),
    "ogb": ("ogb @ git+https://x.example/a/b.git#egg=ogb", 18),
}
SCRIPT = """\
#!/bin/sh
# pip install old
echo pip install echoed
pip install torch==1.9.0 lmdb
pip install ogb==1.3.2
"""
IMAGE = """\
FROM ubuntu
RUN apt-get install -y cmake && pip install ninja
RUN pip install torch==1.9.0 \\
    ogb==1.3.2
RUN pip install $MORE
"""
CELL = ["!pip install torch==1.9.0 ogb==1.3.2\n", "!pip install lmdb\n"]
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": CELL}]})
README = """\
```
conda install pytorch=1.9.0 cudatoolkit=11.1 -c pytorch
pip install yacs==0.1.8
```
"""
COG = """\
build:
  python_packages:
    - "torch==1.8.0"
    - ogb==1.3.2
  run:
    - pip install lmdb
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return Path()


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def read() -> Project:
    return read_project((Path(),), {}, "linux-64")


def required(project: Project) -> dict[str, tuple[str | None, int]]:
    return {item.project: (item.requirement, item.line) for item in project.declared if not item.hint}


def test_each_package_of_a_followed_document_is_required(folder: Path) -> None:
    write("docs/install.md", INSTALL)
    project = read()
    assert required(project) == PACKAGES
    assert {"torch", "torchvision", "python"} <= {item.project for item in project.declared if item.hint}
    told = "\n".join(project.warnings)
    assert "docs/install.md:12: `.` in `detectron`" in told
    assert "docs/install.md:13: `mmdet==2.15.0` is another way to install" in told
    assert "docs/install.md:14: `${MORE}` is not understood" in told


@pytest.mark.parametrize(
    ("path", "text", "packages"),
    [
        ("install.sh", SCRIPT, {"lmdb", "ogb"}),
        ("docker/Dockerfile", IMAGE, {"ninja", "ogb"}),
        ("demo.ipynb", NOTEBOOK, {"lmdb", "ogb"}),
        ("cog.yaml", COG, {"lmdb", "ogb"}),
        ("README.rst", "Setup::\n\n  pip install torch==1.9.0 ogb\n\npip install it and go on\n", {"ogb"}),
    ],
)
def test_the_packages_of_every_kind_of_install_line_are_required(
    path: str, text: str, packages: set[str], folder: Path
) -> None:
    write(path, text)
    assert set(required(read())) == packages


def test_a_sentence_that_says_which_torch_leaves_its_documents_packages_required(folder: Path) -> None:
    write("INSTALL.md", "Needs PyTorch 1.8.0.\n\n```\npip install yacs\n```\n")
    assert set(required(read())) == {"yacs"}


def test_the_adapted_file_counts_before_and_what_is_not_followed_requires_nothing(folder: Path) -> None:
    write("requirements.txt", "timm==0.3.2\n")
    write("INSTALL.md", "```\npip install torch==1.9.0 timm==0.4.12 yacs\n```\n")
    write("demo/install.sh", "pip install torch==1.10.0 gradio\n")
    assert required(read()) == {"timm": ("timm==0.3.2", 1), "yacs": ("yacs", 2)}


def test_a_changed_package_of_a_document_is_for_the_reader_to_do(folder: Path) -> None:
    write("requirements.txt", "scipy\n")
    write("INSTALL.md", "```\npip install torch==1.9.0 yacs==0.1.8\n```\n")
    project = read()
    line = next(item for item in project.declared if item.project == "yacs")
    move = RequirementChange("yacs", line, "yacs==0.1.8", "yacs==0.1.9", "", "")
    new = RequirementChange("numpy", None, None, "numpy<2", "", "")
    assert unapplied(project, (move, new)) == (move,)
    texts = {file.path: file.text for file in patched(project, (move, new))}
    assert texts == {"requirements.txt": "scipy\nnumpy<2\n", "INSTALL.md": project.files[1].text}


def test_a_plan_has_the_packages_of_install_lines_and_names_those_of_conda(
    tmp_path: Path, folder: Path
) -> None:
    write("docs/install.md", INSTALL.replace("mmcv-full==1.4.0", "lmdb"))
    adaptation = adapt_for(Path(), save_machine("V100", tmp_path), bare_environ(tmp_path))
    assert {"lmdb", "mmdet==2.14.0", "timm<0.5", "yacs==0.1.8"} <= set(adaptation.plan.requirements)
    assert any(text.startswith("panopticapi @ git+") for text in adaptation.plan.requirements)
    (line,) = adaptation.left_out
    assert (line.line, line.text) == (5, "ipython")
    assert "environment.yml" in line.reason


def test_an_environment_file_that_leaves_torch_to_a_readme_has_its_packages_in_the_plan(
    tmp_path: Path, folder: Path
) -> None:
    write("environment.yml", "name: a\ndependencies:\n- python=3.8\n- scipy\n")
    write("README.md", README)
    adaptation = adapt_for(Path(), save_machine("V100", tmp_path), bare_environ(tmp_path))
    assert "yacs==0.1.8" in adaptation.plan.requirements


def test_what_an_image_installs_and_is_not_understood_is_named(folder: Path) -> None:
    write("Dockerfile", IMAGE)
    assert "Dockerfile:5: `$MORE` is not understood and is left unchanged" in read().warnings
