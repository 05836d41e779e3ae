"""What was left, on disk: folders, checkouts with a will of their own, patches, files written."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpuenv.adapt.model import DependencyFile, Project, RequirementChange
from gpuenv.adapt.patch.apply import patched
from gpuenv.adapt.read_project import read_project
from gpuenv.adapt.render import unified_diff
from gpuenv.adapt.write import write_files
from gpuenv.model.errors import UsageError

GIT = shutil.which("git")
PATCH = shutil.which("patch")
TORCH = "torch==1.7.1\n"

needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return Path()


def git(*argv: str, day: str = "2020-03-14") -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    when = {"GIT_AUTHOR_DATE": f"{day}T10:00:00+0100", "GIT_COMMITTER_DATE": f"{day}T23:30:00-0800"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    done = subprocess.run(
        [str(GIT), *who, *argv], env=own | when, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def commit(day: str) -> None:
    git("add", "-A", day=day)
    git("commit", "-qm", "a", day=day)


def moved(project: Project, **new: str | None) -> tuple[DependencyFile, ...]:
    declarations = {declared.project: declared for declared in project.declared}
    return patched(
        project,
        tuple(RequirementChange(name, declarations[name], None, text, "", "") for name, text in new.items()),
    )


def read(*paths: str) -> Project:
    return read_project(tuple(map(Path, paths)), {})


def test_a_folders_likeliest_file_counts_and_the_others_are_told(folder: Path) -> None:
    (folder / "setup.py").write_text("setup(install_requires=['torch==1.0'])")
    (folder / "environment_gpu.yml").write_text("dependencies: [pytorch=1.1]")
    (folder / "requirements.txt").write_text(TORCH)
    project = read(".")
    assert [file.path for file in project.files] == ["requirements.txt"]
    assert [declared.requirement for declared in project.declared] == ["torch==1.7.1"]
    assert project.warnings == (
        "environment_gpu.yml:1 has `pytorch=1.1`, which is not followed",
        "setup.py:1 has `torch==1.0`, which is not followed",
    )


def test_a_file_that_asks_for_nothing_leaves_it_to_the_next(folder: Path) -> None:
    (folder / "requirements.txt").write_text("# none\n")
    (folder / "environment.yml").write_text("]")
    (folder / "pyproject.toml").write_text("[tool.black]\n")
    (folder / "setup.py").write_text("setup(install_requires=open('requirements/base.txt').read())")
    (folder / "requirements").mkdir()
    (folder / "requirements" / "base.txt").write_text("-r ../more.txt\n")
    (folder / "more.txt").write_text(TORCH)
    project = read(".")
    assert [declared.file for declared in project.declared] == ["more.txt"]
    assert any("environment.yml" in text for text in project.warnings)


def test_a_readme_fills_what_the_files_leave_open_and_nothing_else(folder: Path) -> None:
    (folder / "requirements.txt").write_text("torch\nnumpy==1.2\n")
    (folder / "README.md").write_text(
        "conda create -n x python=3.7\n\npip install torch==1.7.1+cu110 torchvision==0.8.2 numpy==9 "
        "-f https://x.example/a\n"
    )
    project = read(".")
    assert [(declared.project, declared.line) for declared in project.declared if declared.hint] == [
        ("python", 1), ("torch", 3), ("torchvision", 3), ("index", 3),
    ]  # fmt: skip
    (folder / "requirements.txt").write_text("torch==1.6\n")
    assert [declared.project for declared in read(".").declared if declared.hint] == ["python"]


def test_a_readme_alone_is_enough_and_a_folder_without_anything_is_not(folder: Path) -> None:
    with pytest.raises(UsageError) as info:
        read(".")
    assert (info.value.code, bool(info.value.fixes)) == ("nothing-left", True)
    (folder / "readme.rst").write_text("::\n\n    pip3 install torch==1.7.1\n")
    assert [declared.requirement for declared in read(".").declared] == ["torch==1.7.1"]


@pytest.mark.parametrize("content", [None, b"torch\0==1", b"\xff\xfe\x00", b"#" * 3_000_000, b"a\n" * 20_001])
def test_a_named_file_that_can_not_be_read_is_told(folder: Path, content: bytes | None) -> None:
    if content is not None:
        (folder / "a.txt").write_bytes(content)
    with pytest.raises(UsageError) as info:
        read("a.txt")
    assert info.value.code == "bad-left-file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "a.txt")
    (folder / "b.txt").write_text(f"-r a.txt\n{TORCH}")
    assert len(read("b.txt").files) == 1


def test_files_that_name_each_other_are_read_once(folder: Path) -> None:
    (folder / "a.txt").write_text("-r b.txt\n-c c.txt\n-e .\n-r gone.txt\n-r https://x.example/a.txt\n")
    (folder / "b.txt").write_text(f"-r a.txt\n{TORCH}")
    (folder / "c.txt").write_text("numpy<2\n")
    (folder / "setup.cfg").write_text("[options]\ninstall_requires = timm\n")
    project = read("a.txt")
    assert [(declared.project, declared.constraint) for declared in project.declared] == [
        ("torch", False), ("numpy", True), ("timm", False),
    ]  # fmt: skip
    assert [text.split(":")[1] for text in project.warnings] == ["3", "4", "5"]


def test_nothing_outside_of_the_folder_is_read(folder: Path) -> None:
    (folder.resolve().parent / "secret.txt").write_text("torch==6.6\n")
    (folder / "link.txt").symlink_to("../secret.txt")
    (folder / "a.txt").write_text(f"-r ../secret.txt\n-r link.txt\n-r /etc/passwd\n{TORCH}")
    project = read("a.txt")
    assert [declared.requirement for declared in project.declared] == ["torch==1.7.1"]
    assert len(project.warnings) == 3


@needs_git
def test_the_day_is_that_of_the_last_commit_that_touched_the_file(folder: Path) -> None:
    git("init", "-q")
    (folder / ":(top)*.txt").write_text(TORCH)
    commit("2020-03-14")
    (folder / "other.txt").write_text("a")
    commit("2021-05-06")
    project = read_project((folder / ":(top)*.txt",), {"PATH": os.environ["PATH"]})
    assert project.date == "2020-03-14"


@needs_git
def test_nothing_that_a_checkout_configures_is_run(folder: Path) -> None:
    git("init", "-q")
    (folder / "requirements.txt").write_text(TORCH)
    commit("2020-03-14")
    script = folder.resolve() / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{script}.ran'\nexit 0\n")
    script.chmod(0o755)
    keys = (
        "core.fsmonitor core.pager gpg.program core.sshCommand diff.external pager.log core.askPass alias.log"
    )
    for key in keys.split():
        git("config", key, f"!{script}" if key.startswith("alias") else str(script))
    git("config", "log.showSignature", "true")
    assert read_project((folder,), {"PATH": os.environ["PATH"]}).date == "2020-03-14"
    assert not Path(f"{script}.ran").exists()


def test_without_git_or_a_checkout_the_day_is_not_known(folder: Path) -> None:
    (folder / "requirements.txt").write_text(TORCH)
    assert read(".").date is None
    assert read_project((folder,), {"PATH": os.environ["PATH"]}).date is None


CONTENTS = {
    "plain": b"# a\ntorch==1.7.1\nnumpy\n",
    "crlf": b"# a\r\ntorch==1.7.1\r\nnumpy\r\n",
    "no final line end": b"numpy\ntorch==1.7.1",
    "a mark": b"\xef\xbb\xbftorch==1.7.1\n",
    "latin-1": b"# caf\xe9\ntorch==1.7.1  # na\xefve\nnumpy\n",
    "form feeds and lone carriage returns": b"# a\x0cb\rc\ntorch==1.7.1\n# \xe2\x80\xa8\n",
    "many lines": b"".join(b"a%d\n" % number for number in range(3000)) + b"torch==1.7.1\n" + b"b\n" * 3000,
}


@needs_git
@pytest.mark.parametrize("tool", ["git", "patch"])
@pytest.mark.parametrize("name", ["requirements.txt", "a b/ré \"q'.txt"])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_the_patch_is_taken_by_git_and_by_patch(folder: Path, content: bytes, name: str, tool: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    project = read(name)
    files = moved(project, torch="torch==2.7.0+cu128")
    diff = folder / "a.patch"
    diff.write_bytes(unified_diff(project, files).encode("utf-8", "surrogateescape"))
    if tool == "git":
        git("init", "-q")
        git("apply", "--whitespace=nowarn", "a.patch")
    elif PATCH is None:
        pytest.skip("patch is not installed")
    else:
        subprocess.run([PATCH, "-p1", "--binary", "-s", "-i", "a.patch"], check=True, timeout=60)
    assert path.read_bytes() == content.replace(b"torch==1.7.1", b"torch==2.7.0+cu128")


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_what_is_written_differs_in_the_change_alone_and_the_old_bytes_are_kept(
    folder: Path, content: bytes
) -> None:
    path = folder / "requirements.txt"
    path.write_bytes(content)
    path.chmod(0o640)
    project = read(".")
    (written,) = write_files(project, moved(project, torch="torch==2.7.0"))
    assert path.read_bytes() == content.replace(b"==1.7.1", b"==2.7.0")
    assert path.stat().st_mode & 0o777 == 0o640 or os.name == "nt"
    assert (written.path, Path(written.kept).read_bytes()) == ("requirements.txt", content)
    assert sorted(file.name for file in folder.iterdir()) == ["requirements.txt", "requirements.txt.orig"]


def test_a_file_of_powershells_stays_utf_16(folder: Path) -> None:
    (folder / "requirements.txt").write_bytes("torch==1.7.1\r\nnumpy\r\n".encode("utf-16"))
    project = read(".")
    write_files(project, moved(project, torch="torch==2.7.0"))
    assert (folder / "requirements.txt").read_bytes().decode("utf-16") == "torch==2.7.0\r\nnumpy\r\n"
    assert "UTF-16" in project.warnings[0]


def test_no_kept_file_is_ever_overwritten(folder: Path) -> None:
    path = folder / "requirements.txt"
    (folder / "requirements.txt.orig").write_text("mine")
    for release in ("1.7.1", "1.8", "1.9"):
        path.write_text(f"torch=={release}\n")
        project = read(".")
        write_files(project, moved(project, torch="torch==2.7.0"))
    kept = sorted(folder.glob("*.orig*"))
    assert [file.read_text() for file in kept] == ["mine", "torch==1.7.1\n", "torch==1.8\n", "torch==1.9\n"]


def two_files(folder: Path) -> tuple[Project, tuple[DependencyFile, ...]]:
    (folder / "requirements.txt").write_text(f"-r more.txt\n{TORCH}")
    (folder / "more.txt").write_text("numpy==1.19\n")
    project = read(".")
    return project, moved(project, torch="torch==2.7.0", numpy="numpy<2")


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_file_that_was_changed_meanwhile_stops_all(folder: Path) -> None:
    project, files = two_files(folder)
    (folder / "more.txt").write_text("numpy==1.20\n")
    before = held(folder)
    with pytest.raises(UsageError) as info:
        write_files(project, files)
    assert info.value.code == "changed-meanwhile"
    assert held(folder) == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_when_one_can_not_be_written_all_are_as_they_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    project, files = two_files(folder)
    before = held(folder)
    whole = Path.replace
    seen: list[Path] = []

    def full(path: Path, target: Path) -> Path:
        seen.append(path)
        if len(seen) == 2:
            raise error
        return whole(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises((UsageError, KeyboardInterrupt)):
        write_files(project, files)
    assert held(folder) == before


def test_a_link_to_another_folder_is_not_followed_when_written(folder: Path) -> None:
    there = folder.resolve().parent / "there.txt"
    there.write_text(TORCH)
    (folder / "requirements.txt").symlink_to(there)
    project = read("requirements.txt")
    with pytest.raises(UsageError) as info:
        write_files(project, moved(project, torch="torch==2.7.0"))
    assert info.value.code == "link-elsewhere"
    assert there.read_text() == TORCH


def test_a_link_of_a_folder_to_elsewhere_is_not_read_and_told(folder: Path) -> None:
    there = folder.resolve().parent / "there.txt"
    there.write_text(f"{TORCH}secret==1\n")
    (folder / "requirements.txt").symlink_to(there)
    (folder / "README.md").symlink_to(there)
    (folder / "setup.py").write_text('setup(install_requires=["torch==1.8.0"])\n')
    project = read(".")
    assert [declared.requirement for declared in project.declared] == ["torch==1.8.0"]
    assert "`requirements.txt` is outside the project and was skipped" in project.warnings


def test_a_file_in_which_nothing_is_understood_says_nothing(folder: Path) -> None:
    (folder / "requirements.txt").write_text("root:x:0:0:root:/root:/bin/bash\n")
    with pytest.raises(UsageError) as info:
        read("requirements.txt")
    assert info.value.code == "nothing-left"
    assert "requirements.txt:1" in info.value.because[0].text


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_no_half_of_a_kept_file_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    project, files = two_files(folder)
    before = held(folder)
    opened = os.fdopen

    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise error

    def open_full(descriptor: int, *how: Any, **more: Any) -> Any:
        opened(descriptor, *how, **more).close()
        return Full()

    with monkeypatch.context() as patched_open:
        patched_open.setattr(os, "fdopen", open_full)
        with pytest.raises((UsageError, KeyboardInterrupt)):
            write_files(project, files)
    assert held(folder) == before
