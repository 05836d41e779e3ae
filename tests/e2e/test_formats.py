"""One plan, many files: each format names the same set, no shared one a mirror, and no text breaks out."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from deciding import gpu_machine
from msgspec.structs import replace
from replica_network import Network
from running import make_program
from tiny_stack import publish_stack
from tiny_wheels import tiny_torch

from gpuenv.model.machine_json import render_machine

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EVIL = "x\n[evil]\nRUN evil\r\x1b[31m`evil`$(evil)\"'#\u2028\\"
SET = {"torch": "2.14.1+cu126", "mylib": "2.0", "tinydep": "1.0", "nvidia-tiny": "1.0"}
COMMENTED = ("environment.yml", "requirements.txt", "pylock.toml", "pyproject", "pixi.toml", "pip", "uv")
SHARED = (*COMMENTED[:5], "devcontainer")
EXACTLY = re.compile(r"^[ '\"-]*([a-z-]+)==([0-9a-z.+]+)", re.MULTILINE)


def of_pylock(text: str) -> dict[str, str]:
    return {load["name"]: load["version"] for load in tomllib.loads(text)["packages"]}


def of_pyproject(text: str) -> dict[str, str]:
    document = tomllib.loads(text)
    uv = document["tool"]["uv"]
    lines = "\n".join((*document["project"]["dependencies"], *uv["constraint-dependencies"]))
    return dict(EXACTLY.findall(lines))


def of_pixi(text: str) -> dict[str, str]:
    facts: dict[str, Any] = tomllib.loads(text)["pypi-dependencies"]
    versions = {name: item if isinstance(item, str) else item["version"] for name, item in facts.items()}
    return {name: version.removeprefix("==") for name, version in versions.items()}


def of_lines(text: str) -> dict[str, str]:
    return dict(EXACTLY.findall(text))


READERS: dict[str, Callable[[str], dict[str, str]]] = {
    "requirements.txt": of_lines, "pylock.toml": of_pylock, "pyproject": of_pyproject, "pixi.toml": of_pixi,
    "dockerfile": of_lines,
}  # fmt: skip


@pytest.fixture(scope="module")
def written(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return what is written in a format for a machine whose GPU has an evil name, through mirrors."""
    here = tmp_path_factory.mktemp("formats")
    publish_stack(network, here)
    network.publish(tiny_torch(here / "gpu", SET["torch"], cuda="12.6"), "cu126")
    machine = gpu_machine("570.133.07", "RTX 3080 Ti")
    evil = replace(machine, gpus=(replace(machine.gpus[0], name=EVIL),))
    (here / "machine.json").write_text(json.dumps(render_machine(evil)), encoding="utf-8")
    program = make_program(here / "user")
    (program.home / "mirrors.toml").write_text(network.configuration, encoding="utf-8")
    program = program.with_(
        GPUENV_CONFIG=str(program.home / "mirrors.toml"), NO_PROXY=network.no_proxy,
        GPUENV_MACHINE=str(here / "machine.json"), GPUENV_MIRROR="nju tuna",
        GPUENV_PYTHON=f"{sys.version_info[0]}.{sys.version_info[1]}",
    )  # fmt: skip
    made: dict[str, str] = {}

    def write(name: str) -> str:
        if name not in made:
            done = program.run("plan", "torch==2.14.1", "mylib", "--cuda", "12.6", "--format", name)
            assert done.status == 0, done.err
            made[name] = done.out
        return made[name]

    return write


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_each_format_names_the_same_set(written: Callable[[str], str], name: str) -> None:
    assert READERS[name](written(name)) == SET


@pytest.mark.parametrize("name", SHARED)
def test_no_shared_file_names_a_mirror(written: Callable[[str], str], network: Network, name: str) -> None:
    assert not [item for item in ("nju", "tuna") if network.replicas[item].url in written(name)]


@pytest.mark.parametrize("name", COMMENTED)
def test_the_name_of_a_gpu_stays_in_a_comment(written: Callable[[str], str], name: str) -> None:
    lines = [line for line in written(name).splitlines() if "evil" in line]
    assert lines
    assert all(line.startswith("# ") for line in lines)


@pytest.mark.slow
def test_the_devcontainer_opens_an_image_of_the_same_torch(written: Callable[[str], str]) -> None:
    document = json.loads(written("devcontainer"))
    assert SET["torch"] in document["name"]
    assert SET["torch"] in written("dockerfile")
    assert document["build"]["dockerfile"] == "../Dockerfile.gpu"
