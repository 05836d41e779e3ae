"""Conda environments: found without running a tool, named as conda names them, run as if active."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from entering import run_inside

from gpuenv.activation.entering import activated
from gpuenv.environments.listing import find_environment, list_environments, note_external
from gpuenv.environments.record import Record, write_record
from gpuenv.environments.store import find_place, find_store
from gpuenv.host.software.package_managers import find_conda_environments
from gpuenv.model.errors import UsageError
from gpuenv.operations.find import foreign, list_foreign
from gpuenv.operations.manage import check_removable, render_foreign


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "GPUENV_DATA_DIR": str(tmp_path / "data"), "PATH": os.defpath}


def conda_environment(path: Path, torch: str | None = None, python: str = "3.12.4") -> Path:
    """An environment as conda leaves it, as far as its files tell."""
    meta = path / "conda-meta"
    meta.mkdir(parents=True)
    (meta / "history").write_text("==> 2026-11-21 <==\n")
    (meta / f"python-{python}-h1_0.json").write_text(
        json.dumps({"name": "python", "version": python, "build": "h1_0", "build_number": 0})
    )
    (path / "bin").mkdir()
    (path / "bin" / "python").symlink_to(sys.executable)
    if torch:
        packages = path / "lib" / "python3.12" / "site-packages"
        info = packages / f"torch-{torch}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n")
        (packages / "torch").mkdir()
        (packages / "torch" / "version.py").write_text("cuda = '12.6'\n")
    return path


def made_by_gpuenv(path: Path, name: str, environ: dict[str, str]) -> None:
    conda_environment(path)
    write_record(path, Record(name, "2026-11-21T00:00:00+00:00", "micromamba", {"python": "3.12"}))
    note_external(find_place(name, environ, path.parent))


def test_environments_are_found_in_every_place_that_conda_keeps_them(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    home = tmp_path / "home"
    places = (
        tmp_path / "opt" / "conda" / "envs" / "shared",
        home / "miniforge3" / "envs" / "own",
        home / ".conda" / "envs" / "fallback",
        tmp_path / "named" / "elsewhere",
        tmp_path / "noted",
    )
    for path in places:
        conda_environment(path)
    (home / "miniforge3" / "envs" / "broken").mkdir()
    noted = f"{tmp_path / 'noted'}\nrelative/path\n{tmp_path / 'gone'}\n"
    (home / ".conda" / "environments.txt").write_text(noted)
    environ["CONDA_ENVS_DIRS"] = str(tmp_path / "named")
    assert set(find_conda_environments(environ, tmp_path)) == set(places)


def test_a_name_leads_to_the_folder_of_the_conda_tool(tmp_path: Path, environ: dict[str, str]) -> None:
    home = tmp_path / "home" / "mamba" / "envs"
    made_by_gpuenv(home / "paper", "paper", environ)
    environment = find_environment("paper", environ)
    assert environment is not None
    assert (environment.paths.name, environment.paths.path) == ("paper", home / "paper")
    assert [list_environment.paths.name for list_environment in list_environments(find_store(environ))] == [
        "paper"
    ]
    assert foreign("paper", environ, tmp_path) is None


def test_what_lies_in_the_store_goes_before_a_namesake_of_conda(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    made_by_gpuenv(tmp_path / "envs" / "paper", "paper", environ)
    inside = find_place("paper", environ).path
    inside.mkdir(parents=True)
    write_record(inside, Record("paper", "2026-11-21T00:00:00+00:00", "uv", {}))
    environment = find_environment("paper", environ)
    assert environment is not None
    assert environment.record.manager == "uv"


def test_what_gpuenv_did_not_make_is_listed_with_what_its_files_tell(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    path = conda_environment(tmp_path / "home" / "miniconda3" / "envs" / "old", torch="2.5.1")
    assert list_foreign(environ, tmp_path) == (path,)
    assert render_foreign(path) == {
        "name": "old", "path": str(path), "manager": "conda", "torch": "2.5.1", "variant": "cu126",
        "python": "3.12", "verified": None,
    }  # fmt: skip


def test_what_gpuenv_did_not_make_is_found_by_name_and_path_and_never_removed(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = conda_environment(tmp_path / "home" / "miniconda3" / "envs" / "old")
    assert foreign("old", environ, tmp_path) == path
    assert foreign(str(path), environ, tmp_path) == path
    assert foreign("none", environ, tmp_path) is None
    with pytest.raises(UsageError) as refused:
        check_removable("old", environ)
    assert refused.value.code == "foreign-environment"
    assert path.is_dir()


def test_a_command_runs_in_what_gpuenv_did_not_make(tmp_path: Path, environ: dict[str, str]) -> None:
    conda_environment(tmp_path / "home" / "miniconda3" / "envs" / "old")
    code = "import os, sys; sys.exit(0 if os.environ['CONDA_PREFIX'].endswith('envs/old') else 1)"
    assert run_inside("old", ["python", "-c", code], environ) == 0


def test_activating_one_kind_leaves_nothing_of_the_other(tmp_path: Path) -> None:
    conda = conda_environment(tmp_path / "conda")
    before = {"VIRTUAL_ENV": "/venv", "CONDA_PREFIX": "/conda", "PYTHONHOME": "/x", "PATH": "/usr/bin"}
    inside = activated(conda, before)
    assert "VIRTUAL_ENV" not in inside
    assert "PYTHONHOME" not in inside
    assert (inside["CONDA_PREFIX"], inside["PATH"]) == (str(conda), f"{conda / 'bin'}:/usr/bin")
    plain = tmp_path / "venv"
    assert activated(plain, before) == {
        "VIRTUAL_ENV": str(plain), "VIRTUAL_ENV_PROMPT": "venv", "PATH": f"{plain / 'bin'}:/usr/bin"
    }  # fmt: skip
