"""Lines of people's files that are no requirement: they are read or named, and nothing ends in a crash."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine
from packaging.requirements import Requirement

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.planning.options import PlanOptions

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


def adapted(folder: Path, monkeypatch: pytest.MonkeyPatch, manager: str = "auto") -> Adaptation:
    monkeypatch.chdir(folder)
    options = PlanOptions(machines=(save_machine("RTX 3090", folder),), offline=True, manager=manager)
    return adapt(AdaptOptions((Path(),), patch_alone=True), options, bare_environ(folder), target=".venv")


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


def test_the_bounds_of_a_constraints_file_hold_for_what_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_text("-c bounds.txt\ntorch==1.13.1\nnumpy\nscipy>=1\n")
    bounds = "torch<2\nnumpy<1.20\nscipy<1.9; python_version >= '3.9'\npandas==1.2\nscipy @ file:///a\n"
    (tmp_path / "bounds.txt").write_text(bounds)
    plan = adapted(tmp_path, monkeypatch).plan
    assert plan.requirements == ("numpy<1.20", "scipy>=1", 'scipy<1.9; python_version >= "3.9"')


def test_bounds_hold_for_the_pip_part_of_an_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "channels: [pytorch]\ndependencies: [pytorch=1.13.1, {pip: [numpy, '-c bounds.txt']}]\n"
    (tmp_path / "environment.yml").write_text(text)
    (tmp_path / "bounds.txt").write_text("numpy<1.20\n")
    assert "numpy<1.20" in adapted(tmp_path, monkeypatch).plan.requirements


# each line with the project that a plan has for it; None: it is told
OF_PIP = {
    "numpy==1.19.5": "numpy",
    "einops ; python_version >= '3'": "einops",
    "tqdm ; os_name ~= 'posix'": None,
    "foo>=1.3.2+ecbda83": "foo",
    "bar>=1.*": "bar",
    "baz @ file:///croot/baz": "baz",
    "git+https://git.example/ada/one.git": "one",
    "git+https://git.example/ada/two.git#subdirectory=python": None,
    "-e git+https://git.example/ada/three.git#egg=three": "three",
    "-e .": None,
    "./submodules/four": None,
    "five.tar.gz": None,
    "-r more.txt": "six",
    "-r gone.txt": None,
    "-c bounds.txt": "",  # it is read
    "-i https://pypi.example/simple": None,
    "--find-links=https://wheels.example": None,
    "--pre": None,
    "seven -f https://wheels.example/seven": "seven",
    "some thing odd": None,
}
OF_CONDA = {
    "python=3.8": "python",
    "conda-forge::scipy>=1.5,<2": "scipy",
    "pandas[version='>=1.2']": "pandas",
    "_libgcc_mutex=0.1=main": "_libgcc_mutex",
    "openssl=1.1.1k=h27cfd23_0": "openssl",
    "https://conda.example/linux-64/foo-1.0-0.tar.bz2": None,
    "pip=20.2": None,
    "a b c d": None,
}


def lines_of(folder: Path, name: str) -> dict[int, str]:
    lines = (folder / name).read_text().split("\n")
    return {number: line.strip().removeprefix("- ") for number, line in enumerate(lines, start=1)}


def check_no_line_is_lost(
    adaptation: Adaptation, folder: Path, name: str, lines: dict[str, str | None]
) -> None:
    plan = adaptation.plan
    names = {"python", *(Requirement(text).name for text in (*plan.pins, *plan.requirements))}
    specs = plan.conda.specs if plan.conda else ()
    names |= {re.split(r"[\[\s=<>!]", spec.rpartition("::")[2])[0] for spec in specs}
    changed = {change.declared.line for change in adaptation.changes if change.declared}
    named = changed | {line.line for line in adaptation.left_out if line.file == name}
    reasons = {line.reason for line in adaptation.left_out}
    assert all(f": {reason}" in told(adaptation) for reason in reasons)
    for number, line in lines_of(folder, name).items():
        project = lines.get(line.strip('"'), "")
        if project is None or (project and project not in names):
            assert number in named or f"{name}:{number}: " in told(adaptation), line


def told(adaptation: Adaptation) -> str:
    return "\n".join(warning.message for warning in adaptation.plan.warnings)


def write_more(folder: Path) -> None:
    (folder / "more.txt").write_text("six\n")
    (folder / "bounds.txt").write_text("numpy<2\nunknown<1\n")


def test_no_line_of_a_requirements_file_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = OF_PIP | {"jpeg=9e=h7f8727e_0": None}  # of `conda list --export`
    (tmp_path / "requirements.txt").write_text("\n".join(("torch==1.13.1", *lines)))
    write_more(tmp_path)
    adaptation = adapted(tmp_path, monkeypatch)
    check_no_line_is_lost(adaptation, tmp_path, "requirements.txt", lines)
    assert ("bounds.txt", 2) in {(line.file, line.line) for line in adaptation.left_out}
    assert {name for name in OF_PIP.values() if name} <= {
        Requirement(text).name for text in adaptation.plan.requirements
    }


@pytest.mark.parametrize("manager", ["auto", "uv"])
def test_no_line_of_an_environment_is_lost(
    manager: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conda = "\n".join(f'  - "{line}"' for line in OF_CONDA)
    pip = "\n".join(f'    - "{line}"' for line in OF_PIP)
    head = "channels:\n  - pytorch\n  - defaults\ndependencies:\n  - pytorch=1.13.1\n  - cudatoolkit=11.6\n"
    (tmp_path / "environment.yml").write_text(f"{head}{conda}\n  - pip:\n{pip}\n")
    write_more(tmp_path)
    adaptation = adapted(tmp_path, monkeypatch, manager)
    kinds = {"cudatoolkit=11.6": None, "defaults": None} if manager == "uv" else {"defaults": None}
    check_no_line_is_lost(adaptation, tmp_path, "environment.yml", OF_CONDA | OF_PIP | kinds)
