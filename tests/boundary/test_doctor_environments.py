"""Doctor on environments that others made: where packages lie, what comes first, what may not be read."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian_python import debian_python
from patients import L4, Patient
from unprivileged import as_nobody, public_folder

from gpuenv.doctor.examine import locate_environment
from gpuenv.environments.interpreter import ask_interpreter
from gpuenv.model.errors import UsageError
from gpuenv.verification.locate import LocatedPython, locate

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")

VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path).with_gpu(L4)


@pytest.fixture
def open_patient() -> Iterator[Patient]:
    with public_folder() as folder:
        patient = Patient(folder).with_gpu(L4).with_torch()
        patient.python.unlink()  # the tests' own may lie where nobody else may go
        facts = {
            "version": f"{VERSION.removeprefix('python')}.1", "base_prefix": "/usr", "machine": "x86_64",
            "bits": 64, "free_threaded": False, "packages": [str(patient.site)], "own": [],
            "user_site": str(user_site(patient)), "stdlib": f"/usr/lib/{VERSION}",
        }  # fmt: skip
        patient.python.write_text(f"#!/bin/sh\nprintf '%s%s\\n' \"$6\" {shlex.quote(json.dumps(facts))}\n")
        patient.python.chmod(0o755)
        yield patient


def problems(patient: Patient) -> list[str]:
    return [problem.id for problem in patient.diagnosis().problems]


def user_site(patient: Patient) -> Path:
    return patient.folder / "home" / ".local" / "lib" / VERSION / "site-packages"


def shares_packages(patient: Patient) -> Patient:
    file = patient.prefix / "pyvenv.cfg"
    file.write_text(file.read_text().replace("false", "true"))
    return patient


def without_environment(patient: Patient) -> Patient:
    (patient.prefix / "pyvenv.cfg").unlink()
    return patient


# Debian's and Ubuntu's Python.


@pytest.fixture
def debians(patient: Patient) -> Patient:
    base = patient.folder / "usr"
    patient.python.unlink()
    debian_python(patient.python, base)
    (base / "lib" / "python3" / "dist-packages").mkdir(parents=True)
    (base / "local" / "lib" / VERSION / "dist-packages").mkdir(parents=True)
    return patient


def test_an_environment_of_debians_python_has_its_packages_in_site_packages(debians: Patient) -> None:
    value = debians.with_torch("2.7.1+cpu", None).diagnosis()
    assert value.root is not None
    assert value.root.id == "D01"
    assert debians.findings().python.packages == (str(debians.site),)


def test_an_environment_that_shares_debians_packages_has_them_after_its_own(debians: Patient) -> None:
    assert shares_packages(debians).findings().python.packages == (
        str(debians.site),
        str(debians.folder / "usr" / "local" / "lib" / VERSION / "dist-packages"),
        str(debians.folder / "usr" / "lib" / "python3" / "dist-packages"),
    )


def test_debians_own_python_has_dist_packages_alone(debians: Patient) -> None:
    (debians.folder / "usr" / "lib" / VERSION / "site-packages").mkdir(parents=True)
    assert ask_interpreter(debians.python, None, debians.environ).packages == (
        str(debians.folder / "usr" / "local" / "lib" / VERSION / "dist-packages"),
        str(debians.folder / "usr" / "lib" / "python3" / "dist-packages"),
    )


def test_packages_lie_where_the_environments_python_itself_looks(tmp_path: Path) -> None:
    """Whoever made the Python that these tests run with."""
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", "--without-pip", str(tmp_path / "e")], check=True)
    python = tmp_path / "e" / "bin" / "python"
    requested = [str(python), "-I", "-c", "import json, sys; print(json.dumps(sys.path))"]
    path = json.loads(subprocess.run(requested, check=True, capture_output=True, text=True).stdout)
    messages = ask_interpreter(python, tmp_path / "e", os.environ).packages
    assert messages
    assert list(messages) == [location for location in path if location in messages]
    assert str(tmp_path / "e" / "lib" / VERSION / "site-packages") in messages


# A Python that is gone.


@pytest.fixture
def broken(patient: Patient) -> Patient:
    patient.with_torch().python.unlink()
    patient.python.symlink_to("/nowhere/python3")
    return patient


def test_an_environment_whose_python_is_gone_is_found_in_every_way(broken: Patient) -> None:
    here = LocatedPython(broken.python, broken.prefix)
    assert locate_environment(str(broken.prefix), {}) == here
    assert locate_environment(str(broken.python), {}) == here
    assert locate_environment(None, {"VIRTUAL_ENV": str(broken.prefix)}) == here
    assert locate_environment(None, {"CONDA_PREFIX": str(broken.prefix)}) == here
    record = {"schema_version": 1, "state": "complete", "name": "lab", "created": "", "manager": "uv"}
    (broken.prefix / "gpuenv.json").write_text(json.dumps({**record, "plan": {}}))
    named = broken.folder / "data" / "envs" / "lab"
    named.parent.mkdir(parents=True)
    named.symlink_to(broken.prefix)
    environ = {**broken.environ, "GPUENV_DATA_DIR": str(broken.folder / "data")}
    assert locate_environment("lab", environ).root == named


def test_the_place_that_a_link_leads_to_is_told(broken: Patient) -> None:
    root = broken.diagnosis().problems[0]
    assert (root.id, root.command) == ("D39", "gpuenv create NAME")
    assert "/nowhere/python3" in str(root.cause)
    assert "cannot be run" in str(root.cause)


def test_a_python_by_itself_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "python3.12").symlink_to("/nowhere/python3.12")
    assert locate_environment(str(tmp_path / "python3.12"), {}) == LocatedPython(
        tmp_path / "python3.12", None
    )


def test_a_conda_environment_without_python_is_told(patient: Patient) -> None:
    patient.with_conda("r-base-4.4.1-h1_0").python.unlink()
    assert locate_environment(str(patient.prefix), {}) == LocatedPython(patient.python, patient.prefix)
    root = patient.diagnosis().root
    assert root is not None
    assert root.id == "D39"
    assert "without Python" in str(root.cause)
    assert root.command == f"conda install -p '{patient.prefix}' python"


def test_what_is_no_environment_stays_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("/nowhere/file")
    for env in ("empty", "missing", "link", "empty/bin/python", "a\0b", "x" * 5000):
        with pytest.raises(UsageError):
            locate_environment(str(tmp_path / env), {})
    with pytest.raises(UsageError):
        locate_environment(None, {"VIRTUAL_ENV": str(tmp_path / "missing")})


def test_what_has_to_run_takes_no_broken_environment(broken: Patient) -> None:
    with pytest.raises(UsageError, match="/nowhere/python3"):
        locate(str(broken.prefix), {}, lambda _: None)


# The user site.


def test_a_torch_in_the_user_site_of_a_python_by_itself_is_its_own(patient: Patient) -> None:
    without_environment(patient).with_torch("2.7.1+cpu", None, place=user_site(patient))
    assert problems(patient) == ["D01"]
    assert [warning.id for warning in patient.diagnosis().warnings] == ["D59"]
    torch = patient.findings().torch
    assert torch is not None
    assert torch.place == str(user_site(patient))


def test_metadata_alone_in_the_user_site_is_a_torch_that_is_gone(patient: Patient) -> None:
    without_environment(patient).with_dist("torch", "2.7.1", place=user_site(patient))
    assert problems(patient) == ["D44"]


def test_an_environment_with_a_torch_in_the_user_site_alone_has_one_problem(patient: Patient) -> None:
    shares_packages(patient).with_torch(place=user_site(patient))
    assert problems(patient) == ["D38"]


def test_a_virtual_environments_own_torch_comes_before_the_user_sites(patient: Patient) -> None:
    shares_packages(patient).with_torch().with_torch("2.1.0+cpu", None, place=user_site(patient))
    assert problems(patient) == []
    torch = patient.findings().torch
    assert torch is not None
    assert torch.version == "2.7.1+cu126"


def test_the_bases_torch_comes_after_the_user_sites(debians: Patient) -> None:
    base = debians.folder / "usr" / "lib" / "python3" / "dist-packages"
    shares_packages(debians).with_torch(place=base).with_torch("2.1.0+cpu", None, place=user_site(debians))
    assert problems(debians) == ["D38"]


def test_a_command_that_names_the_python_is_one_for_a_shell(patient: Patient) -> None:
    patient.with_conda("python-3.12.4-h1_0").with_torch(installer="pip")
    root = patient.with_torch("2.1.0+cpu", None, place=user_site(patient)).diagnosis().root
    assert root is not None
    assert f" '{patient.python}' -c " in str(root.command)


# The current directory.


def test_the_packages_own_directory_shadows_nothing(patient: Patient) -> None:
    patient.with_torch()
    patient.work.rmdir()
    patient.work.symlink_to(patient.site)
    assert problems(patient) == []


def test_another_environments_directory_of_packages_shadows(patient: Patient) -> None:
    patient.with_torch().with_torch("2.1.0+cpu", None, place=patient.work)
    assert problems(patient) == ["D38"]


# What this user may not read.


@pytest.mark.parametrize("closed", ["", "bin"])
def test_an_environment_that_may_not_be_entered_is_bad_usage(open_patient: Patient, closed: str) -> None:
    (open_patient.prefix / closed).chmod(0)
    active = {"VIRTUAL_ENV": str(open_patient.prefix)}
    for env, environ in ((str(open_patient.prefix), {}), (str(open_patient.python), {}), (None, active)):
        with as_nobody(), pytest.raises(UsageError, match="Permission denied") as caught:
            locate_environment(env, environ)
        assert (caught.value.code, caught.value.exit_code) == ("environment-unreadable", 2)


def test_a_name_of_an_environment_that_may_not_be_entered_is_bad_usage(open_patient: Patient) -> None:
    named = open_patient.folder / "data" / "envs" / "lab"
    named.parent.mkdir(parents=True)
    (open_patient.prefix / "gpuenv.json").write_text("{}")
    open_patient.prefix.rename(named).chmod(0)
    environ = {**open_patient.environ, "GPUENV_DATA_DIR": str(open_patient.folder / "data")}
    with as_nobody(), pytest.raises(UsageError, match="Permission denied"):
        locate_environment("lab", environ)


def test_a_python_in_a_home_that_may_not_be_entered_can_not_be_run(open_patient: Patient) -> None:
    home = open_patient.folder / "another" / "home"
    home.mkdir(parents=True)
    open_patient.python.rename(home / "python3")
    open_patient.python.symlink_to(home / "python3")
    home.parent.chmod(0)
    with as_nobody():
        located = locate_environment(str(open_patient.prefix), {})
        message = ask_interpreter(located.python, located.root, open_patient.environ).problem
        with pytest.raises(UsageError, match="no reachable Python"):
            locate(str(open_patient.prefix), {}, lambda _: None)
        with pytest.raises(UsageError):
            locate(str(open_patient.python), {}, lambda _: None)
    assert located == LocatedPython(open_patient.python, open_patient.prefix)
    assert str(home / "python3") in str(message)
    assert "Permission denied" in str(message)


@pytest.mark.parametrize("closed", ["lib", ".", "torch", "torch-2.7.1+cu126.dist-info"])
@pytest.mark.parametrize("mode", [0, 0o111, 0o444])
def test_what_may_not_be_read_is_not_told_as_missing(open_patient: Patient, closed: str, mode: int) -> None:
    location = open_patient.prefix / "lib" if closed == "lib" else open_patient.site / closed
    location.chmod(mode)
    with as_nobody():
        value = open_patient.diagnosis()
    if (closed, mode) == ("lib", 0o111):  # which keeps nobody from what is below
        assert value.root is None
        return
    assert [problem.id for problem in value.problems] == ["D39"]
    answer = open_patient.site if closed == "lib" else location
    assert f"this user may not read `{os.path.normpath(answer)}`" in str(value.problems[0].cause)


@pytest.mark.parametrize(("closed", "mode"), [("lib", 0), ("lib", 0o444), (".", 0), (".", 0o444)])
def test_a_python_that_is_gone_is_told_where_packages_may_not_be_read(
    open_patient: Patient, closed: str, mode: int
) -> None:
    open_patient.python.unlink()
    open_patient.python.symlink_to("/nowhere/python3")
    (open_patient.prefix / "lib" if closed == "lib" else open_patient.site).chmod(mode)
    with as_nobody():
        assert problems(open_patient)[0] == "D39"
