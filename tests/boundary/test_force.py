"""`create --force` replaces one environment, and nothing that lies beside it or that others made unasked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_conda import conda_environment
from installers import a_plan, behave, fake_uv, plan_data

from gpuenv.environments.conda.foreign import render_export, what_is_in
from gpuenv.model.errors import InstallFailed, UsageError
from gpuenv.operations.create import CreateResult, Options, check_name, create
from gpuenv.operations.manage import check_removable, remove

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake is a shell script")

Make = Callable[..., CreateResult]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def environ(data: Path) -> dict[str, str]:
    return {"GPUENV_DATA_DIR": str(data), "PATH": "", "HOME": str(data.parent)}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return fake_uv(tmp_path / "programs")


@pytest.fixture
def make(environ: dict[str, str], program: Path) -> Make:
    def make_it(path: Path, *, foreign: bool = True) -> CreateResult:
        options = Options(force=True, foreign=foreign, show=False, wait_s=0, executables={"uv": str(program)})
        return create(str(path), a_plan(path), plan_data(), environ=environ, options=options)

    return make_it


def pip_package(path: Path, name: str, version: str, installer: str = "pip") -> None:
    info = path / "lib" / "python3.11" / "site-packages" / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    (info / "INSTALLER").write_text(f"{installer}\n", "utf-8")


def whole(path: Path) -> dict[str, str]:
    """What lies in a folder, with the text of its files."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.read_text(encoding="utf-8") for file in files}


def _folder(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).mkdir()


def _another(path: Path) -> None:
    conda_environment(path / "work" / "inner")


def _venv(path: Path) -> None:
    (path / "work" / "bin").mkdir(parents=True)
    (path / "work" / "bin" / "python").touch()
    (path / "work" / "pyvenv.cfg").touch()


def _project(path: Path) -> None:
    (path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")


@pytest.mark.parametrize(
    "add",
    [*map(_folder, ("envs", "pkgs", "condabin", ".git")), _another, _venv, _project],
    ids=["envs", "pkgs", "condabin", "a repository", "an environment", "a venv", "a project"],
)
def test_what_is_more_than_an_environment_is_never_replaced(
    make: Make, environ: dict[str, str], tmp_path: Path, add: Callable[[Path], None]
) -> None:
    """A whole installation of conda was taken for an environment: it has a conda-meta, too."""
    path = conda_environment(tmp_path / "miniforge3", conda="26.7.1 py311_0")
    add(path)
    before = whole(path)
    for act in (make, lambda path: check_name(str(path), environ=environ, force=True, foreign=True)):
        with pytest.raises(UsageError) as raised:
            act(path)
        assert raised.value.code == "not-one-environment"
        assert str(path) in raised.value.because[0].text
    assert whole(path) == before


def test_what_lies_in_gpuenvs_own_is_not_lost_with_it(
    make: Make, environ: dict[str, str], tmp_path: Path
) -> None:
    path = make(tmp_path / "mine").path
    inner = conda_environment(path / "inner")
    for refused in (lambda: make(path), lambda: check_removable(str(path), environ)):
        with pytest.raises(UsageError) as raised:
            refused()
        assert raised.value.code == "not-one-environment"
        assert str(inner) in raised.value.because[0].text
    inner.rename(tmp_path / "inner")
    remove(str(path), environ)
    assert not path.exists()


def test_what_a_link_leads_to_is_not_in_the_environment(make: Make, tmp_path: Path) -> None:
    elsewhere = conda_environment(tmp_path / "elsewhere")
    path = make(tmp_path / "mine").path
    (path / "link").symlink_to(elsewhere)
    assert make(path).path == path
    assert (elsewhere / "conda-meta" / "history").is_file()


@pytest.mark.parametrize("prefix", ["prefix", "base_prefix"])
def test_the_environment_that_gpuenv_runs_in_is_not_replaced(
    make: Make, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """Its own modules would be gone before it has ended, or the Python that its environment was made of."""
    path = make(tmp_path / "mine").path
    before = whole(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    monkeypatch.setattr(sys, prefix, str(link))
    with pytest.raises(UsageError) as raised:
        check_name(str(path), environ=environ, force=True, foreign=True)
    assert raised.value.code == "own-environment"
    assert whole(path) == before
    monkeypatch.undo()
    assert make(path).path == path


def test_a_conda_environment_of_others_is_not_replaced_unasked(make: Make, tmp_path: Path) -> None:
    path = conda_environment(tmp_path / "theirs", python="3.11.9 h955ad1f_0", numpy="2.1.3 py311_0")
    pip_package(path, "mylib", "2.0")
    before = whole(path)
    with pytest.raises(UsageError) as raised:
        make(path, foreign=False)
    assert raised.value.code == "foreign-environment"
    told = " ".join(reason.text for reason in raised.value.because)
    assert "2 packages of conda and 1 of pip" in told
    assert "python 3.11.9" in told
    assert "--replace-foreign" in " ".join(fix.text for fix in raised.value.fixes)
    assert whole(path) == before


def test_of_what_is_replaced_an_export_is_kept(make: Make, data: Path, tmp_path: Path) -> None:
    path = conda_environment(tmp_path / "theirs", python="3.11.9 h955ad1f_0", numpy="2.1.3 py311_0")
    pip_package(path, "mylib", "2.0")
    pip_package(path, "numpy", "2.1.3", installer="conda")
    (path / "conda-meta" / "state").write_text('{"version": 1, "env_vars": {"A": "b: c"}}', "utf-8")
    made = make(path)
    assert made.export is not None
    assert made.export.parent == data / "exports"
    assert made.export.stat().st_mode & 0o077 == 0
    assert made.export.read_text(encoding="utf-8") == (
        "name: theirs\n"
        "channels:\n- https://conda.example/conda-forge\n"
        "dependencies:\n- numpy=2.1.3=py311_0\n- python=3.11.9=h955ad1f_0\n- pip:\n  - mylib==2.0\n"
        "variables:\n  A: 'b: c'\n"
    )
    assert not (path / "conda-meta").exists()


def test_what_conda_brought_under_another_name_is_not_exported_as_pips(tmp_path: Path) -> None:
    """Conda's `pytorch` is PyPI's torch: pip would put its own over it. Not all say INSTALLER."""
    path = conda_environment(tmp_path / "theirs", pytorch="2.8.0 cuda128_0")
    for name in ("torch", "mylib"):
        pip_package(path, name, "2.8.0", installer="")
    file = path / "conda-meta" / "pytorch-2.8.0-cuda128_0.json"
    files = ["lib/python3.11/site-packages/torch-2.8.0.dist-info/METADATA", "bin/torchrun"]
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "files": files}), "utf-8")
    assert render_export(path).endswith("- pytorch=2.8.0=cuda128_0\n- pip:\n  - mylib==2.8.0\n")


def test_where_it_fails_what_was_there_is_back_and_no_export_is_left(
    make: Make, program: Path, data: Path, tmp_path: Path
) -> None:
    path = conda_environment(tmp_path / "theirs", python="3.11.9 h955ad1f_0")
    before = whole(path)
    behave(program, install="fail")
    with pytest.raises(InstallFailed):
        make(path)
    assert whole(path) == before
    assert list((data / "exports").iterdir()) == []


def test_without_room_for_an_export_nothing_is_replaced(make: Make, data: Path, tmp_path: Path) -> None:
    path = conda_environment(tmp_path / "theirs", python="3.11.9 h955ad1f_0")
    before = whole(path)
    data.mkdir()
    (data / "exports").write_text("not a folder", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        make(path)
    assert raised.value.code == "data-dir-unwritable"
    assert whole(path) == before


def test_records_that_can_not_be_read_are_exported_by_their_names(tmp_path: Path) -> None:
    path = conda_environment(tmp_path / "theirs", numpy="2.1.3 py311_0")
    (path / "conda-meta" / "numpy-2.1.3-py311_0.json").write_text("{", encoding="utf-8")
    (path / "conda-meta" / "state").write_text("[", encoding="utf-8")
    assert "- numpy=2.1.3=py311_0\n" in render_export(path)
    assert "1 packages of conda" in what_is_in(path)[0]
