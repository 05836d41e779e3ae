"""What a Dockerfile tells pip brings the same files through mirrors; pip really runs, without an image."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from replica_network import Network
from running import Program
from tiny_stack import CPU, TORCH, publish_stack

LAYOUTS = [("official",), ("nju", "tuna"), ("aliyun", "tuna"), ("sjtu",)]


@pytest.fixture(scope="module", autouse=True)
def _wheels(network: Network, tmp_path_factory: pytest.TempPathFactory) -> None:
    publish_stack(network, tmp_path_factory.mktemp("wheels"))


def dockerfile(user: Program, *mirrors: str) -> str:
    named = [word for mirror in mirrors for word in ("--mirror", mirror)]
    done = user.run("dockerfile", *TORCH, "mylib", *CPU, *named)
    assert done.status == 0, done.err
    return done.out


def requirements(text: str) -> list[str]:
    """The lines of requirements.txt, as the file holds them."""
    return text.partition("<<'EOF' /opt/gpuenv/requirements.txt\n")[2].partition("\nEOF\n")[0].split("\n")


def arguments(text: str) -> dict[str, str]:
    return dict(re.findall(r'^ARG (PIP_\w+)="(.*)"$', text, re.MULTILINE))


@pytest.mark.slow
def test_each_mirror_has_the_same_set(user: Program) -> None:
    official, *mirrored = (requirements(dockerfile(user, *mirrors)) for mirrors in LAYOUTS)
    assert all(lines == official for lines in mirrored)


@pytest.mark.slow
@pytest.mark.parametrize("mirrors", LAYOUTS, ids=" ".join)
def test_pip_finds_every_file_where_it_is_told_to_look(
    user: Program, network: Network, mirrors: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip("ensurepip")
    text = dockerfile(user, *mirrors)
    (tmp_path / "requirements.txt").write_text("\n".join(requirements(text)), encoding="utf-8")
    path = tmp_path / "there"
    argv = [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", "--target", str(path)]
    environ = {**user.environ, **arguments(text), "PIP_NO_CACHE_DIR": "1"}
    if "PIP_INDEX_URL" not in environ:  # pip's own default is the official index, whose replica is meant here
        environ["PIP_INDEX_URL"] = network.address("pypi")
    network.forget()
    argv += ["-r", str(tmp_path / "requirements.txt")]
    subprocess.run(argv, env=environ, check=True, capture_output=True)
    assert len(list(path.glob("*.dist-info"))) == len(requirements(text))
    requested = {name.removesuffix("_store") for name in network.files_from()}
    assert not requested & {"tuna", "nju", "aliyun", "sjtu"} - set(mirrors)
