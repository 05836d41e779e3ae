"""Dockerfiles built for real, by buildah, from tiny wheels of a real index; no Docker, no network, no GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from image_builder import CAN_BUILD, PYTHON, Builder
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_torch, tiny_wheel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CAN_BUILD, reason="wants buildah, root, and a Python with pip"),
]

LISTED = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
BY_TAG = ("--base", f"python:{PYTHON}-slim-bookworm")  # a base made here has not Docker Hub's digest
WANTED = ("torch==2.14.1", "--cuda", "12.6", "--python", PYTHON, *BY_TAG)
ELSEWHERE = ("--gpu", "8.6", "--gpu", "9.0")
CHECK = "/opt/gpuenv/check.py"
BASE = f"localhost/library/python:{PYTHON}-slim-bookworm"


@pytest.fixture(autouse=True)
def _wheels(server: IndexServer, tmp_path: Path) -> None:
    torch = tiny_torch(tmp_path, "2.14.1+cu126", cuda="12.6", architectures=LISTED)
    server.publish(torch, "pytorch", "cu126")
    server.publish(tiny_wheel(tmp_path, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(tmp_path, "mylib", "2.0", requires=("tinydep>=1",)), "pypi")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    made = Builder(tmp_path_factory.mktemp("images"))
    made.base(BASE)
    yield made
    made.remove()


@pytest.fixture
def write(program: Program, mirrors: tuple[str, ...]) -> Any:
    """Return what runs `gpuenv dockerfile` and gives the file."""

    def dockerfile(*more: str) -> Path:
        path = program.root / "work" / "Dockerfile.gpu"
        done = program.run("dockerfile", *WANTED, *more, *mirrors, "-o", path)
        assert done.status == 0, done.err
        return path

    return dockerfile


def build(builder: Builder, dockerfile: Path, name: str = "localhost/gpu:1") -> tuple[int, str]:
    done = builder.build(dockerfile, name, "--build-arg", "REGISTRY=localhost")
    return done.returncode, done.stdout + done.stderr


def labels_of(builder: Builder, name: str) -> dict[str, str]:
    return dict(builder.configuration(name)["config"]["Labels"])


def test_the_image_has_what_was_planned_and_nothing_of_how_it_was_made(
    builder: Builder, write: Any, server: IndexServer
) -> None:
    status, message = build(builder, write("mylib", *ELSEWHERE))
    assert status == 0, message
    image = builder.configuration("localhost/gpu:1")
    assert server.url not in json.dumps(image)
    container = builder.do("from", "localhost/gpu:1")
    run = ("run", "--isolation", "chroot", container, "--")
    listed = json.loads(
        builder.do(*run, "python", "-m", "pip", "--disable-pip-version-check", "list", "--format", "json")
    )
    ours = {item["name"]: item["version"] for item in listed if item["name"] not in ("pip", "setuptools")}
    assert ours == {"torch": "2.14.1+cu126", "mylib": "2.0", "tinydep": "1.0"}
    path = Path(builder.do("mount", container))
    assert not (path / "root/.cache").exists()
    assert server.url not in (path / "opt/gpuenv/requirements.txt").read_text(encoding="utf-8")
    assert builder.do(*run, "python", "-c", "import os; print(os.getuid(), os.getcwd())") == "1000 /workspace"
    assert builder.do(*run, "python", "-c", "open('mine', 'w')") == ""
    gone = builder.run(*run, "python", CHECK, "driver", "--driver", "525.60.13")
    assert (gone.returncode, "start the container with --gpus all" in gone.stderr) == (1, True)
    seen = ("--env", "FAKE_TORCH=" + json.dumps({"gpus": [["RTX", [8, 6]]]}))
    assert builder.do(*run[:-2], *seen, *run[-2:], "python", CHECK, "gpus") == "RTX: done"
    assert_described(image["config"])


def assert_described(config: dict[str, Any]) -> None:
    """Assert that the image says what it is for, to people and to the container toolkit."""
    named = {name: config["Labels"][f"gpuenv.{name}"] for name in ("torch", "driver", "gpus")}
    assert named == {"torch": "2.14.1+cu126", "driver": "525.60.13", "gpus": "8.6, 9.0"}
    assert "NVIDIA_REQUIRE_CUDA=driver>=525.60.13" in config["Env"]
    assert config["Healthcheck"]["Test"][:3] == ["CMD", "python", CHECK]
    assert (config["Cmd"], config["User"]) == (["python", CHECK, "gpus"], "1000")


def test_a_torch_without_code_for_a_gpu_fails_the_build(
    builder: Builder, write: Any, server: IndexServer, tmp_path: Path
) -> None:
    """The wheel tells another list than the matrix, by which was planned."""
    server.publish(
        tiny_torch(tmp_path, "2.14.1+cu126", cuda="12.6", architectures=("sm_80", "sm_86")),
        "pytorch",
        "cu126",
    )
    status, message = build(builder, write(*ELSEWHERE), "localhost/unfit:1")
    assert status != 0
    assert "GPU 9.0 is not supported: torch 2.14.1+cu126 has code for sm_80 sm_86" in message
    assert "GPU 8.6" not in message


def test_a_file_that_is_another_by_now_fails_the_build(
    builder: Builder, write: Any, server: IndexServer, tmp_path: Path
) -> None:
    dockerfile = write(*ELSEWHERE)
    other = tiny_torch(tmp_path, "2.14.1+cu126", cuda="12.6", architectures=("sm_90",))
    server.publish(other, "pytorch", "cu126")
    status, message = build(builder, dockerfile, "localhost/changed:1")
    assert status != 0
    assert "DO NOT MATCH THE HASHES" in message


def test_a_base_with_another_python_fails_the_build(builder: Builder, write: Any) -> None:
    dockerfile = write(*ELSEWHERE, "--base", BASE)
    text = dockerfile.read_text(encoding="utf-8")
    dockerfile.write_text(text.replace(f'found != "{PYTHON}"', 'found != "3.0"'), encoding="utf-8")
    status, message = build(builder, dockerfile, "localhost/other:1")
    assert status != 0
    assert f"Python {PYTHON} was planned, this image has {PYTHON}" in message


def test_what_a_gpu_is_called_is_text(builder: Builder, write: Any, program: Program) -> None:
    name = 'RTX "A" $HOME ${PATH} $(id) `id` it\'s 100% #1 \\'
    fake_nvidia_smi(program.bin, "550.54.14", FakeGpu(name, "8.6"))
    text = write().read_text(encoding="utf-8")
    labels = text[text.index("LABEL") : text.index("USER ${UID}")]
    dockerfile = program.root / "work" / "Dockerfile"
    dockerfile.write_text(f"FROM {BASE}\n{labels}", encoding="utf-8")
    assert build(builder, dockerfile, "localhost/named:1")[0] == 0
    assert labels_of(builder, "localhost/named:1")["gpuenv.gpus"] == f"{name} (8.6)"
