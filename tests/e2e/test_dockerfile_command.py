"""`gpuenv dockerfile` as it is called: the file, what lies beside it, what is refused, what hadolint says."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from running import Done, Program
from tiny_wheels import PYTHON as TAG
from tiny_wheels import tiny_torch, tiny_wheel

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
WANTED = ("torch==2.14.1", "mylib", "--cuda", "12.6", "--python", PYTHON)
GPUS = ("--gpu", "8.6", "--gpu", "9.0")
_BESIDE = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
HADOLINT = shutil.which("hadolint", path=_BESIDE)


@pytest.fixture(scope="module", autouse=True)
def _wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cu126", cuda="12.6"), "pytorch", "cu126")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    ubuntus = f"cp312-cp312-manylinux_2_28_{platform.machine()}"
    server.publish(tiny_wheel(here / "312", "torch", "2.14.1+cu126", tag=ubuntus), "pytorch", "cu126")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    server.publish(tiny_wheel(here, "mylib", "2.0", requires=("tinydep>=1",)), "pypi")


def dockerfile(program: Program, mirrors: tuple[str, ...], *more: str) -> Done:
    return program.run("dockerfile", *WANTED, *mirrors, *more)


def test_the_whole_set_is_named_with_hashes(
    program: Program, mirrors: tuple[str, ...], server: IndexServer
) -> None:
    text = dockerfile(program, mirrors, *GPUS).out
    for file in server.files.values():
        if (
            file.filename.startswith(("mylib-2.0", "tinydep-1.0", f"torch-2.14.1+cu126-{TAG}"))
            and file.content
        ):
            name, version = file.filename.split("-")[:2]
            assert f"\n{name}=={version} --hash=sha256:{file.sha256}\n" in text
    assert text.count("--hash=sha256:") == 3
    assert f'ARG PIP_INDEX_URL="{server.pypi}"\n' in text
    assert f"FROM ${{REGISTRY}}/library/python:{PYTHON}-slim-bookworm@sha256:" in text
    assert "needs driver 525.60.13 or newer" in text
    named = [line for line in text.splitlines() if server.url in line and not line.startswith("#")]
    assert all(line.startswith("ARG PIP_") for line in named)


@pytest.mark.slow
def test_plan_has_it_as_a_format(program: Program, mirrors: tuple[str, ...]) -> None:
    item = dockerfile(program, mirrors, *GPUS).out
    other = program.run("plan", *WANTED, *mirrors, *GPUS, "--format", "dockerfile").out
    assert other.replace("gpuenv plan --format dockerfile", "gpuenv dockerfile") == item


@pytest.mark.slow
def test_what_lies_beside_is_written_once(program: Program, mirrors: tuple[str, ...]) -> None:
    folder = program.root / "work"
    done = dockerfile(program, mirrors, *GPUS, "-o", "Dockerfile.gpu")
    assert done.err.splitlines()[-2:] == ["wrote Dockerfile.gpu", "wrote .dockerignore"]
    assert ".git\n" in (folder / ".dockerignore").read_text(encoding="utf-8")
    (folder / ".dockerignore").write_text("mine\n", encoding="utf-8")
    assert dockerfile(program, mirrors, *GPUS, "-o", "Dockerfile.gpu").status == 0
    assert (folder / ".dockerignore").read_text(encoding="utf-8") == "mine\n"
    assert dockerfile(program, mirrors, *GPUS, "-o", "-").out == (folder / "Dockerfile.gpu").read_text(
        encoding="utf-8"
    )


def test_a_dockerfile_that_somebody_wrote_is_kept(program: Program, mirrors: tuple[str, ...]) -> None:
    path = program.root / "work" / "Dockerfile"
    path.write_text("FROM scratch\n", encoding="utf-8")
    for command in (("dockerfile",), ("plan", "--format", "dockerfile")):
        done = program.run(*command, *WANTED, *GPUS, *mirrors, "-o", path, "--json")
        assert (done.status, done.error["code"]) == (2, "would-be-lost")
    assert path.read_text(encoding="utf-8") == "FROM scratch\n"


@pytest.mark.slow
def test_the_json_is_that_of_a_plan_with_the_text(program: Program, mirrors: tuple[str, ...]) -> None:
    data = dockerfile(program, mirrors, *GPUS, "--json").data
    assert data["dockerfile"].startswith("# torch 2.14.1+cu126")
    assert [item["name"] for item in data["packages"]] == ["torch", "mylib", "tinydep"]


@pytest.mark.slow
def test_what_this_machine_runs_does_not_count(program: Program, mirrors: tuple[str, ...]) -> None:
    """Its glibc, its Pythons and its wheelhouses are not in the image; its GPU and its driver are."""
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("NVIDIA A10", "8.6"))
    here = program.root / "wheels"
    tiny_wheel(here, "mylib", "9.0")
    text = dockerfile(program.with_(PIP_FIND_LINKS=str(here)), mirrors).out
    assert "# for GPU NVIDIA A10 (8.6)\n" in text
    assert "\nmylib==2.0 " in text


def test_a_cpu_image_that_nobody_asked_for_is_told(program: Program, mirrors: tuple[str, ...]) -> None:
    wanted = ("torch==2.14.1", "--python", PYTHON)
    answer = program.run("dockerfile", *wanted, *mirrors)
    assert "# a CPU build: torch will not use a GPU\n" in answer.out
    assert "specify the target, such as --gpu 8.6" in answer.err
    assert "such as --gpu" not in program.run("dockerfile", *wanted, "--cuda", "cpu", *mirrors).err


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        (("--base", "python"), 2, "unpinned-image"),
        (("--base", "a b"), 2, "bad-image"),
        (("--base", "registry.example.com/lab/base:1.2"), 2, "usage"),  # which Python has it?
        (("--base", "cuda-devel", "--python", "3.9"), 3, None),
        (("--manager", "conda"), 2, "usage"),
        (("--platform", "win-64"), 2, "usage"),
    ],
)
def test_what_makes_no_image_is_refused(
    program: Program, mirrors: tuple[str, ...], more: tuple[str, ...], status: int, code: str | None
) -> None:
    done = program.run("dockerfile", "torch==2.14.1", *GPUS, *mirrors, *more, "--json", "-o", "Dockerfile")
    assert done.status == status
    assert code in (None, done.error["code"])
    assert not (program.root / "work" / "Dockerfile").exists()


@pytest.mark.slow
def test_a_wheelhouse_of_this_machine_is_refused(program: Program, mirrors: tuple[str, ...]) -> None:
    here = program.root / "wheels"
    tiny_wheel(here, "mylib", "9.0")
    done = dockerfile(program, mirrors, *GPUS, "--find-links", str(here))
    assert (done.status, "is on this machine only" in done.err) == (2, True)


@pytest.mark.slow
def test_what_compiles_starts_from_nvidias_image(program: Program, mirrors: tuple[str, ...]) -> None:
    wanted = ("torch==2.14.1", "--cuda", "12.6", *GPUS, *mirrors)
    text = program.run("dockerfile", *wanted, "--base", "cuda-devel").out
    first, second = text.split("\nFROM ")[1:]
    assert first.startswith("${REGISTRY}/nvidia/cuda:12.6.3-devel-ubuntu24.04 AS build\n")
    assert second.startswith("${REGISTRY}/nvidia/cuda:12.6.3-runtime-ubuntu24.04\n")


@pytest.mark.slow
@pytest.mark.skipif(HADOLINT is None, reason="wants hadolint")
@pytest.mark.parametrize(
    "more",
    [
        ("mylib", "--python", PYTHON),
        ("--python", PYTHON, "--base", "registry.example.com/lab/base:1.2"),
        ("--python", "3.12", "--base", "cuda-runtime"),
        ("--python", "3.12", "--base", "cuda-devel"),
    ],
    ids=str,
)
def test_hadolint_finds_nothing(program: Program, mirrors: tuple[str, ...], more: tuple[str, ...]) -> None:
    path = program.root / "work" / "Dockerfile.gpu"
    wanted = ("torch==2.14.1", "--cuda", "12.6", *GPUS, *more, *mirrors)
    assert program.run("dockerfile", *wanted, "-o", path).status == 0
    argv = [str(HADOLINT), "--no-color", path]
    process = subprocess.run(argv, capture_output=True, encoding="utf-8", check=False)
    assert (process.returncode, process.stdout) == (0, "")
