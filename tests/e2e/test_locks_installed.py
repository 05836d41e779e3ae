"""A lock names no mirror, and whoever installs it gets what `create` makes: uv, pip, `--from-lock`.

pip and uv really run, with tiny wheels, against replicas of every layout.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.pylock import Pylock
from packaging.version import Version
from replica_network import Network
from running import Program, make_program
from tiny_stack import CPU, TORCH, WANTED, installed, publish_stack

from gpuenv.process.uv_binary import find_embedded_uv
from gpuenv.untrusted.documents import load_toml

LAYOUTS = {"official": ("official",), "nju": ("nju", "tuna"), "aliyun": ("aliyun", "tuna"), "sjtu": ("sjtu",)}
OFFICIAL = {"official", "r2", "pypi", "pypi_files"}
PYTHON = CPU[2:]
PIP = Version(version("pip") if find_spec("pip") else "0")


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_stack(network, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def sharer(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Someone else, who has uv and the official indexes, and nothing of gpuenv's."""
    program = make_program(tmp_path_factory.mktemp("sharer") / "user")
    (program.bin / "uv").symlink_to(str(find_embedded_uv() or shutil.which("uv")))
    index = f"{network.pypi.url}/simple"
    return program.with_(
        NO_PROXY=network.no_proxy, UV_DEFAULT_INDEX=index, PIP_INDEX_URL=index, UV_PYTHON=sys.executable
    )


@pytest.fixture(scope="module")
def maker(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Run gpuenv with the mirrors at the replicas' addresses, and with a cache that stays."""
    program = make_program(tmp_path_factory.mktemp("maker") / "user")
    file = program.home / "mirrors.toml"
    file.write_text(network.configuration, encoding="utf-8")
    return program.with_(GPUENV_CONFIG=str(file), NO_PROXY=network.no_proxy)


@pytest.fixture(scope="module")
def lock(maker: Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a lock through a mirror, once."""
    file = tmp_path_factory.mktemp("lock") / "pylock.toml"
    write(maker, file, "nju", *TORCH, "mylib")
    return file


def options(layout: str) -> Iterator[str]:
    for mirror in LAYOUTS[layout]:
        yield from ("--mirror", mirror)


def write(maker: Program, file: Path, layout: str, *asked: str) -> str:
    done = maker.run("plan", *asked, *CPU, "--format", file.name, "-o", file, *options(layout))
    assert done.status == 0, done.err
    return file.read_text(encoding="utf-8")


def run(program: Program, *argv: str | Path) -> None:
    done = subprocess.run(
        [str(item) for item in argv], env=program.environ, cwd=program.root / "work", capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def replicas_in(text: str, network: Network) -> set[str]:
    return {name for name, item in network.replicas.items() if item.url in text}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_lock_names_no_mirror_and_uv_makes_the_same_set_of_it(
    maker: Program, sharer: Program, network: Network, tmp_path: Path, layout: str
) -> None:
    file = tmp_path / "pylock.toml"
    text = write(maker, file, layout, *TORCH, "mylib")
    assert replicas_in(text, network) <= OFFICIAL
    packages = Pylock.from_dict(load_toml(text)).packages
    assert {str(package.name): str(package.version) for package in packages} == WANTED
    assert all(package.wheels and package.wheels[0].hashes.keys() == {"sha256"} for package in packages)
    network.forget()
    run(sharer, sharer.bin / "uv", "venv", "-q", tmp_path / "venv")
    run(sharer, sharer.bin / "uv", "pip", "sync", "-q", "--python", tmp_path / "venv", file)
    assert installed(tmp_path / "venv") == WANTED
    assert set(network.asked()) <= OFFICIAL


@pytest.mark.slow
def test_what_create_leaves_to_the_installer_is_locked_as_well(
    maker: Program, network: Network, tmp_path: Path
) -> None:
    """No resolver runs for a plan of torch alone; nor is a whole wheel fetched for its hash."""
    network.forget()
    text = write(maker, tmp_path / "pylock.toml", "aliyun", *TORCH)
    assert [str(package.name) for package in Pylock.from_dict(load_toml(text)).packages] == [
        "torch", "torchvision",
    ]  # fmt: skip
    assert replicas_in(text, network) <= OFFICIAL
    whole = [path for method, path, status in network.aliyun.asked if (method, status) == ("GET", 200)]
    assert not [path for path in whole if path.endswith(".whl")]


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_requirements_with_hashes_are_the_same_set(
    maker: Program, sharer: Program, network: Network, tmp_path: Path, tool: str
) -> None:
    file = tmp_path / "requirements.txt"
    text = write(maker, file, "sjtu" if tool == "pip" else "nju", *TORCH, "mylib")
    assert replicas_in(text, network) <= OFFICIAL
    lines = [line for line in text.splitlines() if not line.startswith(("#", "--"))]
    assert len(lines) == len(WANTED)
    assert all(re.search(r"== ?\S+ --hash=sha256:[0-9a-f]{64}$", line) for line in lines)
    venv = tmp_path / "venv"
    if tool == "uv":
        run(sharer, sharer.bin / "uv", "venv", "-q", venv)
        run(sharer, sharer.bin / "uv", "pip", "install", "-q", "--python", venv, "-r", file)
    else:
        pytest.importorskip("ensurepip")
        run(sharer, sys.executable, "-m", "venv", venv)
        run(sharer, venv / "bin" / "python", "-m", "pip", "install", "-q", "-r", file)
    assert installed(venv) == WANTED


@pytest.mark.parametrize(
    ("layout", "manager", "came_from"),
    [
        (None, "uv", {"official", "pypi_files"}),
        ("aliyun", "uv", {"aliyun", "tuna"}),
        ("nju", "pip", {"nju", "tuna"}),
    ],
)
def test_an_environment_from_a_lock_is_the_locked_one_wherever_its_files_come_from(
    user: Program, network: Network, lock: Path, layout: str | None, manager: str, came_from: set[str]
) -> None:
    network.forget()
    mirrors = tuple(options(layout)) if layout else ()
    for name in ("one", "two"):
        made = user.run(
            "create", name, "--from-lock", lock, "--yes", "--json", "--manager", manager, *PYTHON, *mirrors
        )
        assert made.status == 0, made.out + made.err
        assert installed(user.environments / name) == WANTED
        assert made.data["verify"]["devices"][0]["ok"]
        if name == "one":
            assert set(network.files_from()) == came_from
    hashed = {package["name"]: package["sha256"] for package in made.data["packages"]}
    locked = Pylock.from_dict(load_toml(lock.read_text(encoding="utf-8"))).packages
    assert hashed == {package.name: (package.wheels or ())[0].hashes["sha256"] for package in locked}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tinydep", "torch"])
def test_a_file_with_other_bytes_is_not_installed(
    user: Program, lock: Path, tmp_path: Path, name: str
) -> None:
    text = lock.read_text(encoding="utf-8")
    changed = re.sub(
        rf'(?s)(name = "{name}"\n.*?sha256 = ")[0-9a-f]{{64}}', r"\g<1>" + "0" * 64, text, count=1
    )
    file = tmp_path / "pylock.toml"
    file.write_text(changed, encoding="utf-8")
    made = user.run("create", "trial", "--from-lock", file, "--yes", "--json", *PYTHON)
    assert made.status == 5, made.out
    assert not user.environments.joinpath("trial").exists()


@pytest.mark.slow
@pytest.mark.skipif(Version("26.1") > PIP, reason="this pip reads no pylock.toml")
def test_pip_makes_the_same_set_of_a_lock(sharer: Program, lock: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run(sharer, sharer.bin / "uv", "venv", "-q", venv)
    run(sharer, sys.executable, "-m", "pip", "--python", venv, "install", "-q", "-r", lock)
    assert installed(venv) == WANTED
