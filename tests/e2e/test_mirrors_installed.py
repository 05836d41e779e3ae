"""What a plan with mirrors prints can be pasted, and what `create` makes through them tells of no mirror.

pip and uv really run, with tiny wheels, against replicas of every layout.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from replica_network import Network
from running import Program, make_program
from sampling import every
from tiny_stack import CPU, TORCH, WANTED, installed, publish_stack

from gpuenv.process.uv_binary import find_embedded_uv

# the options, where the torch stack must come from
LAYOUTS = {
    "nju": (("nju", "tuna"), "nju"),
    "aliyun": (("aliyun", "tuna"), "aliyun"),
    "sjtu": (("sjtu", "tuna"), "sjtu_store"),
    "cernet": (("cernet", "tuna"), "nju"),
    "one page": (("{elsewhere}/whl/torch_stable.html", "tuna"), "elsewhere"),
    "apache": (("{elsewhere}/pub/torch/cpu", "tuna"), "elsewhere"),
    "official": (("official",), "r2"),
}
BOTH = pytest.mark.parametrize("manager", ["uv", "pip"])


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_stack(network, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(autouse=True)
def _nothing_asked_yet(network: Network) -> None:
    network.forget()


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment with pip in it, which takes seconds, once."""
    pytest.importorskip("ensurepip")
    path = tmp_path_factory.mktemp("pip") / "work" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def paster(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Someone else's shell: nothing of gpuenv's; uv and Python on the PATH."""
    program = make_program(tmp_path_factory.mktemp("paster") / "user")
    (program.bin / "uv").symlink_to(str(find_embedded_uv() or shutil.which("uv")))
    for name in ("python3", f"python{sys.version_info[0]}.{sys.version_info[1]}"):
        (program.bin / name).symlink_to(sys.executable)
    return program


def options(network: Network, layout: str) -> Iterator[str]:
    for location in LAYOUTS[layout][0]:
        yield "--mirror"
        yield location.format(elsewhere=network.elsewhere.url)


def printed(user: Program, network: Network, layout: str, manager: str) -> list[str]:
    """The commands of the plan, without the comments."""
    done = user.run(
        "plan", *TORCH, "mylib", *CPU, "--manager", manager, "--format", manager, *options(network, layout)
    )
    assert done.status == 0, done.err
    return [line for line in done.out.splitlines() if not line.startswith("#")]


def paste(lines: list[str], paster: Program, network: Network, cwd: Path, **variables: str) -> None:
    environ = {**paster.environ, "NO_PROXY": network.no_proxy, **variables}
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", "\n".join(lines)], env=environ, cwd=cwd, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (lines, done.stdout, done.stderr)


def check_came_from(network: Network, layout: str) -> None:
    """Torch's stack from where it was asked for, the rest from the mirror of PyPI, nothing from elsewhere."""
    general = "pypi_files" if layout == "official" else "tuna"
    assert set(network.files_from()) == {LAYOUTS[layout][1], general}
    assert not network.nvidia.asked
    if layout != "official":
        assert not {"official", "r2", "pypi", "pypi_files"} & set(network.asked())


@pytest.mark.slow
@pytest.mark.parametrize("layout", every(4, LAYOUTS))
def test_the_commands_for_uv_install_from_every_layout(
    user: Program, paster: Program, network: Network, tmp_path: Path, layout: str
) -> None:
    lines = printed(user, network, layout, "uv")
    network.forget()
    paste(lines, paster, network, tmp_path, UV_NO_CACHE="1")
    (environment,) = [path.parent for path in tmp_path.rglob("pyvenv.cfg")]
    assert installed(environment) == WANTED
    check_came_from(network, layout)


@pytest.mark.slow
@pytest.mark.parametrize("layout", every(len(LAYOUTS), LAYOUTS, first=1))
def test_the_commands_for_pip_install_from_every_layout(
    user: Program, paster: Program, network: Network, venv: Path, layout: str
) -> None:
    lines = [line for line in printed(user, network, layout, "pip") if " -m venv " not in line]
    network.forget()
    paste(lines, paster, network, venv.parent, PIP_FORCE_REINSTALL="1", PIP_NO_CACHE_DIR="1")
    assert installed(venv) == WANTED
    check_came_from(network, layout)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_commands_pin_and_never_pool_indexes(
    user: Program, network: Network, layout: str, manager: str
) -> None:
    """Indexes are one pool to pip; `--torch-backend` goes upstream whatever mirror is named."""
    words = shlex.split(" ".join(printed(user, network, layout, manager)))
    assert "torch==2.14.1+cpu" in words
    assert "torchvision==0.29.1+cpu" in words
    never = {"--extra-index-url", "--index", "--torch-backend", "--trusted-host", "--allow-insecure-host"}
    assert not never & {word.partition("=")[0] for word in words}
    assert not any(network.replica_of(word) in {"nvidia", "huawei"} for word in words)


# environments made through mirrors


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "manager"), [("nju", "uv"), ("nju", "pip"), ("aliyun", "uv")])
def test_an_environment_made_through_a_mirror_tells_of_none(
    user: Program, network: Network, layout: str, manager: str
) -> None:
    made = user.with_(UV_TORCH_BACKEND="cu118").run(
        "create", "trial", *TORCH, "mylib", *CPU, "--manager", manager, "--yes", "--json",
        *options(network, layout),
    )  # fmt: skip
    assert made.status == 0, made.out + made.err
    path = user.environments / "trial"
    assert installed(path) == WANTED
    check_came_from(network, layout)
    assert telling(path, network) == []
    assert not list(path.rglob("direct_url.json"))
    assert frozen(path, manager) == {f"{name}=={version}" for name, version in WANTED.items()}


def telling(environment: Path, network: Network) -> list[Path]:
    """The files that name a replica; gpuenv's own record of the plan may."""
    hosts = [replica.url.removeprefix("http://").encode() for replica in network.replicas.values()]
    files = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()]
    own = environment / "gpuenv.json"
    texts = [path for path in files if path != own and path.stat().st_size < 1 << 20]
    return [path for path in texts if any(host in path.read_bytes() for host in hosts)]


def frozen(environment: Path, manager: str) -> set[str]:
    """What pip or uv says is installed: names and versions, or an address where a file's was recorded."""
    uv = str(find_embedded_uv() or shutil.which("uv"))
    by_pip = [str(environment / "bin" / "python"), "-m", "pip", "freeze", "--all"]
    argv = by_pip if manager == "pip" else [uv, "pip", "freeze", "--python", str(environment)]
    variables = {"PATH": os.defpath, "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull}
    process = subprocess.run(argv, capture_output=True, text=True, check=True, env=variables)
    lines = {line.replace("_", "-") for line in process.stdout.splitlines() if line}
    return {line for line in lines if line.partition("==")[0] not in {"pip", "setuptools"}}
