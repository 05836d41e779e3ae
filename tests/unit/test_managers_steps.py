"""The steps of uv and pip are what a person would paste: exact pins, torch's page by find-links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.installers import (
    CONDA_MANAGERS,
    WHEEL_MANAGERS,
    InstallRequest,
    get_conda_manager,
    get_manager,
    pip,
    uv,
)
from gpuenv.model.access import Access
from gpuenv.model.conda import CondaWanted
from gpuenv.model.errors import UsageError
from gpuenv.model.plan import HeldFiles, Sources

PAGE = "https://wheels.example.com/whl/cu126/torch/"
INDEX = "https://index.example.com/simple"


def wanted(
    *,
    sources: Sources | None = None,
    python: str = "3.12",
    python_path: str | None = None,
    system: str = "linux",
    constraints: tuple[str, ...] = (),
) -> InstallRequest:
    return InstallRequest(
        pins=("torch==2.14.1+cu126", "torchvision==0.29.1+cu126"),
        requirements=("numpy",),
        constraints=constraints,
        sources=sources or Sources(INDEX, (), (PAGE,)),
        python=python,
        python_path=python_path,
        target="/envs/paper" if system == "linux" else "C:\\envs\\paper",
        system=system,
    )


def test_uv_makes_the_environment_and_installs_into_it() -> None:
    assert [step.argv for step in uv.steps(wanted(constraints=("numpy<2",)))] == [
        ("uv", "venv", "--python", "3.12", "/envs/paper"),
        (
            "uv", "pip", "install", "--python", "/envs/paper",
            "torch==2.14.1+cu126", "torchvision==0.29.1+cu126", "numpy", "numpy<2",
            "--default-index", INDEX, "--find-links", PAGE,
        ),
    ]  # fmt: skip


def test_uv_installs_by_hash_what_was_resolved() -> None:
    request = replace(wanted(), held=HeldFiles("/cache/lock.txt", complete=True))
    assert uv.steps(request)[-1].argv == (
        "uv", "pip", "install", "--python", "/envs/paper", "--no-deps", "--verify-hashes",
        "-r", "/cache/lock.txt", "--default-index", INDEX, "--find-links", PAGE,
    )  # fmt: skip
    not_written = replace(request, held=HeldFiles(None, complete=True))
    assert uv.steps(not_written) == uv.steps(wanted())


def test_pip_uses_the_environments_own_interpreter() -> None:
    assert [step.argv for step in pip.steps(wanted(python_path="/usr/bin/python3.12"))] == [
        ("/usr/bin/python3.12", "-I", "-m", "venv", "/envs/paper"),
        (
            "/envs/paper/bin/python", "-I", "-m", "pip", "install",
            "torch==2.14.1+cu126", "torchvision==0.29.1+cu126", "numpy",
            "--index-url", INDEX, "--find-links", PAGE,
        ),
    ]  # fmt: skip


def test_pip_on_windows_uses_its_launcher_and_scripts_directory() -> None:
    first, second = pip.steps(wanted(system="windows"))
    assert first.argv == ("py", "-3.12", "-I", "-m", "venv", "C:\\envs\\paper")
    assert second.argv[0] == "C:\\envs\\paper\\Scripts\\python.exe"


@pytest.mark.parametrize(("python", "steps"), [("3.6", 3), ("3.9", 3), ("3.10", 2), ("3.13t", 2)])
def test_a_pip_that_may_be_too_old_is_upgraded_first(python: str, steps: int) -> None:
    result = pip.steps(wanted(python=python, python_path="/usr/bin/python"))
    assert len(result) == steps
    assert ("--upgrade" in result[1].argv) == (steps == 3)


def test_the_why_tells_what_the_constraints_are_for() -> None:
    for manager in (uv, pip):
        assert "numpy<2" in manager.steps(wanted(constraints=("numpy<2",)))[-1].why


def test_of_a_locks_files_the_hash_decides_on_whichever_index_they_lie() -> None:
    sources = Sources(INDEX, ("https://extra.example.com/simple",), ())
    request = InstallRequest((), (), (), sources, "3.12", "/p", "/e", "linux", hashed="/cache/lock.txt")
    assert uv.install_step(request, "/e").argv[-2:] == ("--index-strategy", "unsafe-best-match")


def test_the_users_extra_indexes_are_passed_on_in_each_tools_way() -> None:
    sources = Sources(INDEX, ("https://extra.example.com/simple",), (PAGE,))
    assert uv.source_options(sources) == (
        "--default-index", INDEX, "--index", "https://extra.example.com/simple",
        "--find-links", PAGE,
    )  # fmt: skip
    assert pip.source_options(sources) == (
        "--index-url", INDEX, "--extra-index-url", "https://extra.example.com/simple", "--find-links", PAGE,
    )  # fmt: skip


@pytest.mark.parametrize("manager", [uv, pip])
def test_without_an_index_only_wheelhouses_are_named(manager: object) -> None:
    sources = Sources(INDEX, ("https://extra.example.com/simple",), ("/wheels",), no_index=True)
    assert manager.source_options(sources) == ("--no-index", "--find-links", "/wheels")  # type: ignore[attr-defined]


def test_the_installers_own_default_index_is_not_named() -> None:
    assert uv.source_options(Sources(None, (), ())) == ()


@given(name=st.sampled_from(CONDA_MANAGERS), text=st.text(max_size=20))
def test_no_spec_can_become_an_option(name: str, text: str) -> None:
    with pytest.raises(ValueError, match="option"):
        get_conda_manager(name).steps(
            CondaWanted((), ("python 3.12.*", f"-{text}"), (), None, "linux-64", "/e")
        )


@given(name=st.sampled_from(WHEEL_MANAGERS), text=st.text(max_size=20))
def test_no_requirement_can_become_an_option(name: str, text: str) -> None:
    request = InstallRequest(
        ("torch==2.14.1",), (f"-{text}",), (), Sources(None, (), ()), "3.12", "/p", "/e", "linux"
    )
    with pytest.raises(ValueError, match="option"):
        get_manager(name).steps(request)


def test_every_manager_is_found_by_its_name() -> None:
    assert [get_manager(name).NAME for name in WHEEL_MANAGERS] == list(WHEEL_MANAGERS)
    assert [get_conda_manager(name).NAME for name in CONDA_MANAGERS] == list(CONDA_MANAGERS)


def test_an_unknown_manager_is_bad_usage() -> None:
    for get, name in ((get_manager, "../uv"), (get_manager, "conda"), (get_conda_manager, "uv")):
        with pytest.raises(UsageError) as raised:
            get(name)
        assert raised.value.code == "unknown-manager"


def test_what_would_send_an_installer_elsewhere_is_not_passed_on() -> None:
    stray = {
        "PYTHONPATH": "/x",
        "PIP_TARGET": "/y",
        "UV_TORCH_BACKEND": "cu118",
        "PYTHONHOME": "/z",
        "KEPT": "1",
    }
    sources = Sources(None, (), ())
    assert set(uv.environment(stray, sources)) & set(stray) == {"KEPT", "PIP_TARGET"}
    assert set(pip.environment(stray, sources)) & set(stray) == {"KEPT", "UV_TORCH_BACKEND"}


def test_pips_certificates_reach_uv_unless_the_user_named_others() -> None:
    sources = Sources(None, (), (), access=Access(ca_bundle="/etc/ca.pem"))
    assert uv.environment({}, sources)["SSL_CERT_FILE"] == "/etc/ca.pem"
    assert uv.environment({"SSL_CERT_FILE": "/mine"}, sources)["SSL_CERT_FILE"] == "/mine"
    assert pip.environment({}, sources)["PIP_CERT"] == "/etc/ca.pem"
    assert "PIP_CERT" not in pip.environment({"REQUESTS_CA_BUNDLE": "/mine"}, sources)


def test_the_users_own_time_limit_for_downloads_holds() -> None:
    sources = Sources(None, (), ())
    assert uv.environment({"UV_HTTP_TIMEOUT": "7"}, sources)["UV_HTTP_TIMEOUT"] == "7"
    assert int(uv.environment({}, sources)["UV_HTTP_TIMEOUT"]) > 30
