"""Lines of people's files that are no requirement: they are read or named, and nothing ends in a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import adapt_for, bare_environ, save_machine

from gpuenv.adapt.model import Adaptation

ODD = """\
name: paper
channels: [pytorch, defaults]
variables: {OMP_NUM_THREADS: 1}
dependencies:
  - python=3.8
  - pytorch=1.7.1
  - cudatoolkit=11.0
  - numpy>=1.3.2+ecbda83
  - scipy[version='>1']
  - https://conda.example/linux-64/foo-1.0-0.tar.bz2
  - pip:
    - git+https://git.example/openai/CLIP.git
    - ./submodules/diff
    - torch-cluster -f https://data.pyg.example/whl/torch-1.7.1+cu110.html
    - -r other.txt
    - -e .
    - -e git+https://git.example/ada/yy.git#egg=yy
    - --extra-index-url https://x.example/simple
    - foo>=1.3.2+ecbda83
    - some thing odd
"""


def adapted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Adaptation:
    monkeypatch.chdir(folder)
    return adapt_for(Path(), save_machine("RTX 3090", folder), bare_environ(folder))


def test_an_environment_of_odd_lines_is_planned_and_what_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "environment.yml").write_text(ODD)
    (tmp_path / "other.txt").write_text("einops==0.3.0\n")
    plan = adapted(tmp_path, monkeypatch).plan
    wanted = ["CLIP @ git+https://git.example/openai/CLIP.git", "einops==0.3.0", "torch-cluster"]
    assert sorted({*plan.requirements} & {*wanted}) == wanted
    assert "yy @ git+https://git.example/ada/yy.git#egg=yy" in plan.requirements
    assert plan.conda is not None
    assert "scipy[version='>1']" in plan.conda.specs
    assert plan.conda.kept == (("name", "paper"), ("variables", {"OMP_NUM_THREADS": 1}))
    named = "\n".join(warning.message for warning in plan.warnings)
    for number in (10, 13, 16, 19, 20):
        assert f"environment.yml:{number}: " in named
