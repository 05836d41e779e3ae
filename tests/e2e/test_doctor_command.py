"""`doctor` as a user runs it, and `--fix`: the least change, kept where it helps, undone elsewhere."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import pty
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from index_server import IndexServer
from json_schemas import complaints
from pages import DOCS, LANGUAGES
from running import Done, Program
from tiny_wheels import tiny_torch, tiny_torchvision, tiny_wheel

from gpuenv import matrices
from gpuenv.environments import snapshot
from gpuenv.operations.interrupted_change import place_at
from gpuenv.process.uv_binary import find_embedded_uv

H100 = FakeGpu("NVIDIA H100 PCIe", "9.0")
ARCHITECTURES = ["sm_50", "sm_80", "sm_90"]
WORKS = {"gpus": [["NVIDIA H100 PCIe", [9, 0]]], "architectures": ARCHITECTURES}
PIP = importlib.util.find_spec("ensurepip") is not None
INSTALLERS = ("uv", pytest.param("pip", marks=pytest.mark.skipif(not PIP, reason="this Python is no pip")))


@pytest.fixture(scope="module")
def wheels(server: IndexServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("wheels")
    server.publish(tiny_torch(here, "2.14.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torch(here, "2.14.1+cu126", cuda="12.6"), "pytorch", "cu126")
    server.publish(tiny_torchvision(here, "0.29.1+cpu"), "pytorch", "cpu")
    server.publish(tiny_torchvision(here, "0.29.1+cu126"), "pytorch", "cu126")
    server.publish(tiny_torch(here, "2.15.0+cu130", cuda="13.0"), "pytorch", "cu130")
    server.publish(tiny_torch(here, "2.13.0+cpu"), "pytorch", "cpu")
    server.publish(_broken(tiny_torch(here, "2.13.0+cu126", cuda="12.6")), "pytorch", "cu126")
    server.publish(tiny_wheel(here, "tinydep", "1.0"), "pypi")
    return here


def _broken(wheel: Path) -> Path:
    """Spoil a member that is read only when the wheel is unpacked."""
    data = wheel.read_bytes()
    wheel.write_bytes(data.replace(b"import math", b"import hath", 1))
    return wheel


class Lab:
    """A machine with a GPU, and an environment on it that another tool made."""

    def __init__(self, program: Program, mirrors: tuple[str, ...], wheels: Path) -> None:
        fake_nvidia_smi(program.bin, "570.133.07", H100)
        toolkit = _toolkit(program.root / "toolkit")  # else one that this machine happens to have
        self.program = program.with_(FAKE_TORCH=json.dumps(WORKS), CUDA_HOME=str(toolkit))
        self.mirrors, self.wheels = mirrors, wheels
        self.path = program.root / "work" / "lab"

    def install(self, *packages: str, installer: str = "uv") -> Lab:
        uv = find_embedded_uv() or shutil.which("uv")
        assert uv
        make = [uv, "venv", "--python", sys.executable, str(self.path)]
        put = [uv, "pip", "install", "--python", str(self.path)]
        if installer == "pip":
            make = [sys.executable, "-m", "venv", str(self.path)]
            put = [str(self.path / "bin" / "python"), "-m", "pip", "install"]
        put += ["--no-index", "--find-links", str(self.wheels), *packages]
        for argv in (make, put):
            subprocess.run(argv, env=self.program.environ, check=True, capture_output=True)
        return self

    def doctor(self, *more: str) -> Done:
        return self.program.run("doctor", self.path, *more)

    def fix(self, *more: str) -> Done:
        return self.doctor("--fix", "--json", "--yes", *more, *self.mirrors)

    def installed(self) -> dict[str, str]:
        places = [str(path) for path in self.path.glob("lib/*/site-packages")]
        fields = {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}
        return {name: version for name, version in fields.items() if name not in {"pip", "setuptools"}}

    def files(self) -> dict[str, str]:
        """Return every file with its digest, but for what Python compiles."""
        paths = (path for path in self.path.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def _toolkit(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "nvcc").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "nvcc").chmod(0o755)
    (folder / "version.json").write_text('{"cuda": {"version": "12.6.3"}}')
    return folder


@pytest.fixture
def lab(program: Program, mirrors: tuple[str, ...], wheels: Path) -> Lab:
    return Lab(program, mirrors, wheels)


def test_the_root_stands_first_and_alone_tells_what_it_needs(lab: Lab) -> None:
    done = lab.install("torch==2.14.1+cpu").doctor()
    assert done.status == 6
    first, needs, *_ = done.out.splitlines()
    assert (
        first
        == "problem: torch 2.14.1+cpu is a build for the CPU, and this machine has NVIDIA H100 PCIe [D01]"
    )
    assert needs == "    needs a CUDA build of torch; found torch 2.14.1+cpu"
    assert f"    run: gpuenv doctor {lab.path} --fix" in done.out.splitlines()
    assert "✗" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_reference_shows_is_printed(lab: Lab, language: str) -> None:
    page = (DOCS / language / "reference" / "failing.md").read_text(encoding="utf-8")
    example = page.partition("    $ gpuenv doctor paper\n")[2].partition("\n\n")[0]
    done = lab.install("torch==2.14.1+cpu").program.run("--lang", language, "doctor", lab.path)
    sign = done.out.partition("torch 2.14.1")[0]
    *shown, more = [line.removeprefix("    ").replace("✗ ", sign) for line in example.splitlines()]
    assert more == "…"
    assert done.out.replace(str(lab.path), "paper").splitlines()[: len(shown)] == shown


def test_the_json_has_every_check_and_the_root(lab: Lab) -> None:
    document = lab.install("torch==2.14.1+cpu").doctor("--json", "--no-verify").envelope
    assert document["error"]["code"] == document["data"]["root"]["id"] == "D01"
    assert complaints(document) == []
    assert len(document["data"]["checks"]) == len(matrices.load("checks"))
    assert set(document["data"]["root"]) >= {
        "id", "group", "verdict", "read", "needs", "cause", "fix", "command"
    }  # fmt: skip


def test_a_sound_environment_is_told_in_two_lines(lab: Lab) -> None:
    done = lab.install("torch==2.14.1+cu126", "torchvision==0.29.1+cu126").doctor()
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == (
        f"torch 2.14.1+cu126 · Python {platform.python_version()} · NVIDIA H100 PCIe (9.0), "
        "driver 570.133.07 (up to CUDA 12.8)"
    )
    assert len(done.out.splitlines()) == 2


@pytest.mark.slow
def test_a_terminal_shows_signs(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu")
    ours, theirs = pty.openpty()
    with lab.program.start("doctor", lab.path, "--no-verify", stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    assert process.returncode == 6
    assert shown.decode().startswith("✗ torch 2.14.1+cpu is a build for the CPU")
    os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # closed on the other side
        return b""


def test_verbose_tells_what_was_passed(lab: Lab) -> None:
    done = lab.install("torch==2.14.1+cu126").doctor("-v", "--no-verify")
    assert "  ok: D01 " in done.out


@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_cpu_build_becomes_the_cuda_build_of_the_same_torch(lab: Lab, installer: str) -> None:
    lab.install("torch==2.14.1+cpu", "torchvision==0.29.1+cpu", "tinydep", installer=installer)
    done = lab.fix()
    assert done.status == 0, done.out + done.err
    assert lab.installed() == {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "tinydep": "1.0"}
    changes = [(item["name"], item["before"], item["after"]) for item in done.data["repair"]["changes"]]
    assert changes == [
        ("torch", "2.14.1+cpu", "2.14.1+cu126"), ("torchvision", "0.29.1+cpu", "0.29.1+cu126")
    ]  # fmt: skip
    assert done.data["repair"]["steps"][0]["argv"][0] == (
        "uv" if installer == "uv" else str(lab.path / "bin" / "python")
    )
    assert lab.doctor().status == 0
    assert not list(lab.path.glob(".gpuenv-repair*"))


@pytest.mark.slow
def test_a_repair_that_does_not_help_is_undone_byte_for_byte(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu", "torchvision==0.29.1+cpu")
    before = lab.files()
    lab.program = lab.program.with_(
        FAKE_TORCH=json.dumps({**WORKS, "faults": [["kernel", "cuda:0", "an illegal memory access"]]})
    )
    done = lab.fix()
    assert done.status == 6, done.out
    assert done.error["code"] == "repair-undone"
    assert lab.files() == before


@pytest.mark.slow
def test_an_installer_that_fails_leaves_what_was_there(lab: Lab) -> None:
    lab.install("torch==2.13.0+cpu")
    before = lab.files()
    done = lab.fix()
    assert (done.status, done.error["code"]) == (5, "install-failed"), done.out
    assert "2.13.0+cu126" in done.error["because"][0]["text"]
    assert lab.files() == before
    assert not list(lab.path.glob(".gpuenv-repair*"))


@pytest.mark.slow
def test_an_installer_that_refuses_is_told(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu")
    lab.program = lab.program.with_(UV_OFFLINE="1")
    done = lab.fix()
    assert (done.status, done.error["code"]) == (5, "install-failed"), done.out


@pytest.mark.slow
def test_a_build_for_a_newer_driver_becomes_an_older_torch(lab: Lab) -> None:
    fake_nvidia_smi(lab.program.bin, "535.104.05", H100)
    lab.install("torch==2.15.0+cu130", "tinydep")
    done = lab.fix("--no-verify")
    assert done.status == 0, done.out + done.err
    assert lab.installed() == {"torch": "2.14.1+cu126", "tinydep": "1.0"}


@pytest.mark.slow
def test_damaged_files_are_installed_anew(lab: Lab) -> None:
    lab.install("torch==2.14.1+cu126")
    (site,) = lab.path.glob("lib/*/site-packages")
    (site / "torch" / "version.py").unlink()
    assert lab.doctor("--json").error["code"] == "D44"
    done = lab.fix()
    assert done.status == 0, done.out + done.err
    assert (site / "torch" / "version.py").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_torch_over_another_becomes_one_torch(lab: Lab, installer: str) -> None:
    lab.install("torch==2.14.1+cu126", installer=installer)
    (site,) = lab.path.glob("lib/*/site-packages")
    own = site / "torch-2.14.1+cu126.dist-info"
    stale = shutil.copytree(own, site / "torch-2.13.0+cpu.dist-info")
    for name in ("METADATA", "RECORD"):
        (stale / name).write_text((own / name).read_text().replace("2.14.1+cu126", "2.13.0+cpu"))
    answer = lab.doctor("--json").envelope
    assert answer["error"]["code"] == "D44", answer
    assert "2.13.0+cpu, 2.14.1+cu126" in answer["error"]["message"]
    done = lab.fix()
    assert done.status == 0, done.out + done.err
    assert [path.name for path in site.glob("torch-*.dist-info")] == ["torch-2.14.1+cu126.dist-info"]
    assert lab.doctor().status == 0


@pytest.mark.slow
def test_an_environment_whose_python_is_gone_is_told_by_its_path_and_as_the_active_one(lab: Lab) -> None:
    python = lab.install("torch==2.14.1+cu126").path / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    active = lab.program.with_(VIRTUAL_ENV=str(lab.path))
    for done in (lab.doctor(), lab.program.run("doctor", "--python", python), active.run("doctor")):
        assert done.status == 6, done.err
        assert "/nowhere/python3" in done.out
        assert "[D39]" in done.out.splitlines()[0]
    assert lab.program.run("verify", lab.path).status == 2


@pytest.mark.slow
def test_without_a_terminal_a_yes_is_asked_for_beforehand(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu")
    before = lab.files()
    done = lab.doctor("--fix", *lab.mirrors)
    assert done.status == 2
    assert "- torch 2.14.1+cpu\n+ torch 2.14.1+cu126\n" in done.out
    assert lab.files() == before


@pytest.mark.slow
def test_what_packages_can_not_repair_is_not_planned(lab: Lab) -> None:
    lab.install("torch==2.14.1+cu126")
    lab.program = lab.program.with_(CUDA_VISIBLE_DEVICES="7", FAKE_TORCH="{}")
    done = lab.fix("--no-verify")
    assert done.status == 3
    assert done.error["code"] == "not-repairable"


@pytest.mark.slow
def test_what_an_interrupted_repair_left_is_undone_by_the_next(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu")
    before = lab.files()
    (site,) = lab.path.glob("lib/*/site-packages")
    snapshot.take(place_at(lab.path, lab.program.environ), (str(site),), ("torch",))
    shutil.rmtree(site / "torch")
    (site / "torch-2.14.1+cpu.dist-info").rename(site / "torch-9.dist-info")
    looked = lab.doctor("--json")
    assert (looked.status, looked.error["code"]) == (6, "change-interrupted")
    assert lab.files() != before
    lab.doctor("--fix", "--yes")
    assert lab.files() == before


@pytest.mark.slow
def test_findings_can_be_judged_elsewhere(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu").doctor("--save", "read.json", "--no-verify")
    (lab.program.bin / "nvidia-smi").unlink()
    assert lab.program.run("doctor", "--findings", "read.json", "--json").error["code"] == "D01"


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 1, "python": 3}', "[" * 100_000])
def test_findings_of_another_kind_are_refused(program: Program, text: str) -> None:
    (program.root / "work" / "read.json").write_text(text)
    assert program.run("doctor", "--findings", "read.json").status == 2


@pytest.mark.slow
def test_the_python_can_be_named(lab: Lab) -> None:
    lab.install("torch==2.14.1+cpu")
    done = lab.program.run("doctor", "--python", lab.path / "bin" / "python", "--json", "--no-verify")
    assert done.envelope["data"]["environment"] == str(lab.path)
    assert lab.program.run("doctor", lab.path, "--python", os.devnull).status == 2


@pytest.mark.slow
def test_an_environment_without_torch_is_told_so(lab: Lab) -> None:
    lab.install("tinydep")
    document = lab.doctor("--json").envelope
    assert document["error"]["code"] == "D39"
    assert [item["id"] for item in document["data"]["checks"] if item["verdict"] == "problem"] == ["D39"]
