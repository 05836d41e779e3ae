"""A plan runs nothing that a file names: no back end of an archive, a checkout or a folder is started."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from attacks import attack, held_off
from index_server import IndexServer
from running import Program
from tiny_wheels import tiny_wheel

SETUP = """
import pathlib
from setuptools import setup
pathlib.Path({marker!r}).write_text("x")
setup(name="evil", version="1.0")
"""
# a back end of its own needs nothing from any index to be run
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "evil"
dynamic = ["version", "dependencies"]
"""
BACKEND = """
import pathlib
pathlib.Path({marker!r}).write_text("x")
def build_wheel(folder, settings=None, metadata=None):
    raise SystemExit(1)
prepare_metadata_for_build_wheel = get_requires_for_build_wheel = build_wheel
"""


@pytest.fixture
def marker(program: Program) -> Path:
    return program.root / "ran"


@pytest.fixture
def sources(program: Program, marker: Path) -> Path:
    """A project whose back end leaves a mark as soon as it is imported."""
    folder = program.root / "evil-1.0"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "backend.py").write_text(BACKEND.format(marker=str(marker)), encoding="utf-8")
    (folder / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: evil\nVersion: 1.0\n", encoding="utf-8")
    return folder


@pytest.fixture
def archive(program: Program, sources: Path) -> Path:
    path = program.root / "evil-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        file.add(sources, "evil-1.0")
    return path


def in_version_control(program: Program, sources: Path) -> Program:
    """Make the sources a repository, and let gpuenv find git."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("no git is here")
    said = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    for words in (("init", "-q"), ("add", "."), (*said, "commit", "-q", "-m", "x")):
        subprocess.run([git, "-C", sources, *words], check=True, env=program.environ)
    return program.with_(PATH=os.pathsep.join((program.environ["PATH"], "/usr/bin", "/bin")))


def codes(program: Program, *words: str | Path, marker: Path | None = None) -> list[str]:
    done = program.run("plan", *words, "--json")
    held_off(marker is None or not marker.exists())
    assert done.status == 0, (done.out, done.err)
    return [item["code"] for item in done.envelope["warnings"]]


@attack(
    "names an archive, a folder or a repository in requirements.txt",
    "their build back end run by `plan -r`",
    without="builds-what-is-named",
)
@pytest.mark.parametrize("kind", ["archive", "folder", "git"])
def test_what_a_requirements_file_names_by_address_is_not_built(
    program: Program,
    checkout: Path,
    asked: tuple[str, ...],
    sources: Path,
    archive: Path,
    marker: Path,
    kind: str,
) -> None:
    if kind == "git":
        program = in_version_control(program, sources)
    url = {"archive": archive.as_uri(), "folder": sources.as_uri(), "git": f"git+{sources.as_uri()}"}[kind]
    (checkout / "requirements.txt").write_text(f"evil @ {url}\n", encoding="utf-8")
    shown = codes(program, *asked, "-r", "requirements.txt", marker=marker)
    assert "not-resolved" in shown


@pytest.mark.slow
@attack(
    "names an archive in environment.yml",
    "their build back end run by `plan -f`",
    without="builds-what-is-named",
)
def test_what_an_environment_yml_names_by_address_is_not_built(
    program: Program, checkout: Path, server: IndexServer, archive: Path, marker: Path
) -> None:
    text = f"dependencies:\n- pip:\n  - torch==2.14.1\n  - evil @ {archive.as_uri()}\n"
    (checkout / "environment.yml").write_text(text, encoding="utf-8")
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi, "--cuda", "cpu")
    assert "not-resolved" in codes(program, "-f", "environment.yml", *mirrors, marker=marker)


@pytest.mark.slow
def test_what_a_left_project_names_by_address_is_not_built(
    program: Program, checkout: Path, server: IndexServer, archive: Path, marker: Path
) -> None:
    location = server.publish(archive, "pypi")
    text = f"torch==2.14.1\nevil @ {server.url}{location.path}\n"
    (checkout / "requirements.txt").write_text(text, encoding="utf-8")
    mirrors = ("--mirror", server.pytorch, "--mirror", server.pypi, "--cuda", "cpu")
    program.run("plan", "--adapt", ".", *mirrors, "--json")
    assert not marker.exists()


@pytest.mark.slow
@attack(
    "names a wheel whose metadata names an archive",
    "their build back end run by `plan`",
    without="builds-what-is-named",
)
def test_a_wheel_by_address_leads_to_nothing_that_is_built(
    program: Program, checkout: Path, asked: tuple[str, ...], archive: Path, marker: Path
) -> None:
    wheel = tiny_wheel(program.root / "wheels", "trap", "1.0", requires=(f"evil @ {archive.as_uri()}",))
    (checkout / "requirements.txt").write_text(f"trap @ {wheel.as_uri()}\n", encoding="utf-8")
    shown = codes(program, *asked, "-r", "requirements.txt", marker=marker)
    assert "not-resolved" in shown


def test_a_wheel_by_address_is_resolved(
    program: Program, checkout: Path, asked: tuple[str, ...], server: IndexServer
) -> None:
    wheel = tiny_wheel(program.root / "wheels", "good", "1.0", requires=("tinydep<1",))
    (checkout / "requirements.txt").write_text(f"good @ {wheel.as_uri()}\n", encoding="utf-8")
    done = program.run("plan", *asked, "-r", "requirements.txt", "--json")
    assert {("good", "1.0"), ("tinydep", "0.9")} <= {
        (item["name"], item["version"]) for item in done.data["packages"]
    }


@pytest.mark.parametrize("typed", [False, True])
def test_a_relative_wheel_is_relative_to_the_file_or_to_where_one_stands(
    program: Program, checkout: Path, asked: tuple[str, ...], typed: bool
) -> None:
    folder = checkout if typed else checkout / "sub"
    wheel = tiny_wheel(folder / "wheels", "good", "1.0")
    line = f"good @ ./wheels/{wheel.name}"
    (folder / "requirements.txt").write_text(f"{line}\n", encoding="utf-8")
    done = program.run("plan", *asked, *([line] if typed else ["-r", "sub/requirements.txt"]), "--json")
    assert ("good", "1.0") in {(item["name"], item["version"]) for item in done.data["packages"]}


def publish_sdist(server: IndexServer, folder: Path, marker: Path) -> None:
    """Publish a project without a wheel: its back end marks that it ran, and tells its metadata."""
    backend = (
        f"import os, pathlib\npathlib.Path({str(marker)!r}).write_text('x')\n"
        "def prepare_metadata_for_build_wheel(folder, settings=None):\n"
        "    os.mkdir(os.path.join(folder, 'sourced-1.0.dist-info'))\n"
        "    with open(os.path.join(folder, 'sourced-1.0.dist-info', 'METADATA'), 'w') as file:\n"
        "        file.write('Metadata-Version: 2.1\\nName: sourced\\nVersion: 1.0\\n')\n"
        "    return 'sourced-1.0.dist-info'\n"
        "def get_requires_for_build_wheel(settings=None):\n    return []\n"
        "def build_wheel(folder, settings=None, metadata=None):\n    raise SystemExit(1)\n"
    )
    project = PROJECT.replace("evil", "sourced")
    path = folder / "sourced-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name, text in (("pyproject.toml", project), ("backend.py", backend)):
            member = tarfile.TarInfo(f"sourced-1.0/{name}")
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    server.publish(path, "pypi")


@pytest.mark.slow
def test_a_project_of_a_trusted_index_may_be_built_for_its_metadata_and_that_is_told(
    program: Program, asked: tuple[str, ...], server: IndexServer, marker: Path
) -> None:
    publish_sdist(server, program.root, marker)
    assert "built-for-metadata" in codes(program, *asked, "sourced")
    assert marker.exists()


@pytest.mark.slow
@attack(
    "has a project without a wheel on an index, and `--only-binary` is given",
    "their back end run",
    without="builds-where-told-not-to",
)
def test_only_binary_builds_nothing(
    program: Program, asked: tuple[str, ...], server: IndexServer, archive: Path, marker: Path
) -> None:
    publish_sdist(server, program.root, marker)
    refused = program.run("plan", *asked, "sourced", "--only-binary", "--json")
    held_off(not marker.exists())
    assert refused.status == 3, (refused.out, refused.err)
    named = program.run("plan", *asked, f"evil @ {archive.as_uri()}", "--only-binary", "--json")
    assert (named.status, named.error["code"]) == (2, "needs-building")
    assert not marker.exists()


@pytest.mark.slow
def test_a_lock_never_leaves_out_what_was_not_resolved(
    program: Program, asked: tuple[str, ...], archive: Path, marker: Path
) -> None:
    done = program.run("plan", *asked, f"evil @ {archive.as_uri()}", "--format", "pylock.toml", "--json")
    assert (done.status, done.error["code"]) == (2, "not-lockable")
    assert not marker.exists()
