"""What pip or uv is asked for where an environment.yml has its torch from pip: never conda's names."""

from __future__ import annotations

from pathlib import Path

import pytest
from adapted_papers import bare_environ, save_machine

from gpuenv.adapt.adapt import AdaptOptions, adapt
from gpuenv.adapt.model import Adaptation
from gpuenv.planning.options import PlanOptions

LIBRARIES = ("bzip2=1.0.8", "libffi=3.4.4", "blas=1.0", "boost-cpp=1.74.0", "ninja=1.10.0")


def environment(*specs: str, pip: tuple[str, ...]) -> str:
    """An environment.yml of specs of conda's and a pip part."""
    conda = "".join(f"  - {spec}\n" for spec in (*specs, "pip"))
    return f"channels: [conda-forge]\ndependencies:\n{conda}  - pip:\n" + "".join(
        f"    - {line}\n" for line in pip
    )


def adapted(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, manager: str = "uv") -> Adaptation:
    """Adapt one environment.yml for a V100, by what ships with gpuenv."""
    monkeypatch.chdir(folder)
    Path("environment.yml").write_text(text, encoding="utf-8")
    options = PlanOptions(machines=(save_machine("V100", folder),), offline=True, manager=manager)
    return adapt(AdaptOptions((Path(),)), options, bare_environ(folder), target=".venv")


SPECS = ("python=3.9", *LIBRARIES, "numpy=1.23.0", "setuptools=59.5.0")
FILE = environment(*SPECS, pip=("torch==1.13.1", "timm==0.6.12"))


def test_what_stands_in_condas_part_is_asked_of_no_index_but_what_has_the_same_name_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bzip2` on PyPI would be whoever took the name."""
    value = adapted(FILE, tmp_path, monkeypatch)
    assert set(value.plan.requirements) == {"timm==0.6.12", "numpy==1.23.0.*", "setuptools==59.5.0.*"}
    assert {line.text for line in value.left_out if "=" in line.text} == set(LIBRARIES)
    (told,) = (warn.message for warn in value.plan.warnings if "bzip2" in warn.message)
    assert all(spec.partition("=")[0] in told for spec in LIBRARIES)
    assert "--manager conda" in told


def test_a_line_of_condas_that_changes_is_named_as_left_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = ("python=3.6.7=h0371630_0", "libffi=3.2.1=hd88cf55_4", "tk=8.6=py36_1")
    value = adapted(environment(*specs, pip=("torch==1.10.1",)), tmp_path, monkeypatch)
    assert {"libffi=3.2.1=hd88cf55_4", "tk=8.6=py36_1"} <= {line.text for line in value.left_out}


def test_condas_pip_moves_with_its_python_and_is_never_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build of pip's for Python 3.6 stands beside no other Python."""
    text = environment("python=3.6.7=h0371630_0", "pip=20.0.2=py36_3", pip=("torch==1.10.1",))
    value = adapted(text, tmp_path, monkeypatch)
    assert [change.new for change in value.changes if change.project == "pip"] == ["pip>=20.0.2"]
    asked = environment("python=3.7", "pip=20.0.2", "pytorch=1.10.1", pip=("timm",))
    plan = adapted(asked, tmp_path, monkeypatch, "micromamba").plan
    assert "20.0.2" not in str((plan.conda, plan.requirements))
    assert any("pip=20.0.2" in warning.message for warning in plan.warnings)


def test_a_conda_tool_brings_condas_part_and_pip_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = adapted(FILE, tmp_path, monkeypatch, "micromamba").plan
    assert plan.conda is not None
    assert {*LIBRARIES, "numpy=1.23.0", "setuptools=59.5.0"} <= set(plan.conda.specs)
    assert plan.requirements == ("timm==0.6.12",)
    assert {package.name for package in plan.packages} == {"torch"}


@pytest.mark.parametrize("named", [True, False])
def test_a_spec_that_names_its_channel_needs_no_other_order_of_channels(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "channels:\n  - conda-forge\n  - pytorch\ndependencies:\n  - python=3.9\n"
    text = f"{head}  - {'pytorch::' if named else ''}pytorch=1.12.1\n  - cudatoolkit=10.2\n"
    value = adapted(text, tmp_path, monkeypatch, "micromamba")
    moved = [change.new for change in value.changes if change.project == "index"]
    assert moved == ([] if named else ["pytorch", "conda-forge"])
