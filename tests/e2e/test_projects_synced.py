"""`--format pyproject`: `uv sync` makes of it what `create` makes, whatever mirrors the plan went through."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from replica_network import Network
from running import Program, make_program
from tiny_stack import CPU, TORCH, WANTED, installed, publish_stack
from tiny_wheels import tiny_torch, tiny_wheel

from gpuenv.process.uv_binary import find_embedded_uv

LAYOUTS = {"official": ("official",), "nju": ("nju", "tuna"), "aliyun": ("aliyun", "tuna")}


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_stack(network, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def sharer(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Someone else, who has uv and the official indexes, and nothing of gpuenv's."""
    program = make_program(tmp_path_factory.mktemp("sharer") / "user")
    (program.bin / "uv").symlink_to(str(find_embedded_uv() or shutil.which("uv")))
    return program


def options(layout: str) -> Iterator[str]:
    for mirror in LAYOUTS[layout]:
        yield from ("--mirror", mirror)


def write(user: Program, project: Path, *arguments: str) -> str:
    """Plan into a project's folder and return what was written."""
    project.mkdir(exist_ok=True)
    file = project / "pyproject.toml"
    done = user.run("plan", *arguments, *CPU, "--format", "pyproject", "-o", file)
    assert done.status == 0, done.err
    return file.read_text(encoding="utf-8")


def uv(command: str, project: Path, sharer: Program, network: Network, *arguments: str) -> str:
    environ = {
        **sharer.environ,
        "NO_PROXY": network.no_proxy,
        "UV_DEFAULT_INDEX": f"{network.pypi.url}/simple",
        "UV_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [str(sharer.bin / "uv"), command, *arguments], cwd=project, env=environ, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize("layout", LAYOUTS)
def test_uv_sync_makes_the_plans_set_and_nothing_of_it_again(
    user: Program, sharer: Program, network: Network, tmp_path: Path, layout: str
) -> None:
    project = tmp_path / "project"
    text = write(user, project, *TORCH, "mylib", *options(layout))
    for name in ("tuna", "nju", "aliyun"):
        assert network.replicas[name].url not in text
    network.forget()
    uv("sync", project, sharer, network)
    assert installed(project / ".venv") == WANTED
    assert set(network.files_from()) <= {"r2", "official", "pypi_files"}
    lock = (project / "uv.lock").read_bytes()
    again = uv("sync", project, sharer, network)
    assert "Installed" not in again
    assert "Uninstalled" not in again
    assert (project / "uv.lock").read_bytes() == lock


@pytest.mark.slow
def test_what_is_published_later_changes_nothing(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    network.publish(tiny_wheel(tmp_path, "asking", "1.0", requires=("answering",)))
    network.publish(tiny_wheel(tmp_path, "answering", "1.0"))
    project = tmp_path / "project"
    write(user, project, *TORCH, "asking", *options("nju"))
    network.publish(tiny_wheel(tmp_path, "asking", "1.1", requires=("answering",)))
    network.publish(tiny_wheel(tmp_path, "answering", "1.1"))
    uv("sync", project, sharer, network)
    made = installed(project / ".venv")
    assert {name: made[name] for name in ("asking", "answering")} == {"asking": "1.0", "answering": "1.0"}


@pytest.mark.slow
def test_a_wheelhouse_and_a_page_of_wheels_serve_their_files(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    house = tmp_path / "my wheels"
    tiny_wheel(house, "housed", "1.0", requires=("tinydep",))
    network.shelf("elsewhere").add(tiny_wheel(tmp_path, "paged", "1.0", requires=("tinydep",)), "cpu")
    page = f"{network.elsewhere.url}/whl/torch_stable.html"
    project = tmp_path / "project"
    houses = ("--find-links", str(house), "--find-links", page)
    text = write(user, project, *TORCH, "housed", "paged", *options("official"), *houses)
    assert "paged @ http" in text
    uv("sync", project, sharer, network)
    made = installed(project / ".venv")
    assert made["housed"] == made["paged"] == "1.0"
    assert made["torch"] == WANTED["torch"]


@pytest.mark.slow
def test_wheelhouses_alone_serve_all_that_was_taken_from_them(
    user: Program, sharer: Program, network: Network, tmp_path: Path
) -> None:
    """As on a machine without a network, with `no-index` in pip's configuration."""
    house = tmp_path / "house"
    tiny_torch(house, "2.14.1+cpu")
    tiny_wheel(house, "housed", "1.0", requires=("torch", "beneath"))
    tiny_wheel(house, "beneath", "1.0")
    project = tmp_path / "project"
    offline = user.with_(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(house))
    write(offline, project, "torch", "housed")
    network.forget()
    uv("sync", project, sharer, network)
    assert installed(project / ".venv") == {"torch": "2.14.1+cpu", "housed": "1.0", "beneath": "1.0"}
    assert not network.asked()


@pytest.mark.parametrize("format_name", ["pyproject", "pixi.toml", "devcontainer"])
@pytest.mark.parametrize("own", ["[project]\nname = 'mine'\n", "{}\n", "\x00\xff", "# mine"])
def test_a_file_of_the_users_own_is_never_written_over(
    user: Program, network: Network, tmp_path: Path, format_name: str, own: str
) -> None:
    file = tmp_path / "mine"
    file.write_text(own, encoding="latin-1")
    before = network.asked()
    done = user.run("plan", *TORCH, *CPU, "--format", format_name, "-o", file)
    assert done.status == 2
    assert "would be overwritten" in done.err
    assert file.read_text(encoding="latin-1") == own
    assert network.asked() == before


@pytest.mark.slow
def test_what_gpuenv_made_is_made_anew(user: Program, tmp_path: Path) -> None:
    project = tmp_path / "project"
    first = write(user, project, *TORCH, *options("official"))
    assert write(user, project, *TORCH, *options("official")) == first
    assert "mylib" in write(user.with_(GPUENV_LANG="zh"), project, *TORCH, "mylib", *options("official"))
