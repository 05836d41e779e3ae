"""What a stranger left is read, not run: checkouts, repositories, locks, archives, pages."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from attacks import attack, held_off
from deciding import gpu_machine

from gpuenv.adapt.git_date import last_changed
from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.setuptools import read_setup
from gpuenv.indexes.parse_html import parse_html
from gpuenv.indexes.parse_json import parse_json
from gpuenv.locks.parse_pylock import parse_lock, select_files
from gpuenv.model.python import PythonOffer
from gpuenv.resolution.target import Target
from gpuenv.wheels.archive import WheelProblem, open_local_wheel

SHA = "a" * 64
H100 = gpu_machine("535.104.05", "NVIDIA H100")

SETUPS = {
    "statement": "import os; os.mkdir({ran!r})\nfrom setuptools import setup\nsetup(name='x')\n",
    "argument": "def setup(**_): pass\nsetup(install_requires=[__import__('os').mkdir({ran!r})])\n",
    "default": "def f(x=__import__('os').mkdir({ran!r})): pass\n",
    "decorator": "@lambda f: __import__('os').mkdir({ran!r})\ndef f(): pass\n",
}


@attack("has code in a setup.py that --adapt reads", "it run", without="setup-py-is-run")
@pytest.mark.parametrize("kind", SETUPS)
def test_a_setup_py_is_only_read(tmp_path: Path, kind: str) -> None:
    ran = tmp_path / "ran"
    read_setup(DependencyFile("setup.py", "setup.py", SETUPS[kind].format(ran=str(ran))))
    held_off(not ran.exists())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's repository with a commit that has a signature."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("no git is here")
    folder = tmp_path / "theirs"
    folder.mkdir()

    def run(*words: str, text: str | None = None) -> str:
        argv = [git, "-C", str(folder), *words]
        done = subprocess.run(
            argv, input=text, capture_output=True, text=True, check=True, env=variables(tmp_path)
        )
        return done.stdout.strip()

    run("init", "-q")
    (folder / "requirements.txt").write_text("torch\n", encoding="utf-8")
    run("add", ".")
    who = "a <a@b.example> 1600000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n eA==\n -----END PGP SIGNATURE-----"
    commit = f"tree {run('write-tree')}\nauthor {who}\ncommitter {who}\n{signature}\n\nx\n"
    run("update-ref", "HEAD", run("hash-object", "-t", "commit", "-w", "--stdin", text=commit))
    return folder


def variables(root: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}


GIT = {
    "signature": "[log]\nshowSignature = true\n[gpg]\nprogram = {script}\n",
    "transport": (
        "[extensions]\npartialClone = origin\n[core]\nrepositoryformatversion = 1\n"
        "[protocol]\nallow = always\n"
        '[remote "origin"]\npromisor = true\nurl = ext::{script}\n'
    ),
    "upload-pack": (
        "[extensions]\npartialClone = origin\n[core]\nrepositoryformatversion = 1\n"
        '[remote "origin"]\npromisor = true\nurl = /\nuploadpack = {script}\n'
    ),
}


@attack(
    "has programs in the configuration of a repository",
    "them run by --adapt",
    without="git-obeys-the-repository",
)
@pytest.mark.parametrize("kind", GIT)
def test_a_repository_configures_no_program(repository: Path, tmp_path: Path, kind: str) -> None:
    ran, script = tmp_path / "ran", tmp_path / "script"
    script.write_text(f"#!/bin/sh\n>{ran}\n", encoding="utf-8")
    script.chmod(0o755)
    with (repository / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(GIT[kind].format(script=script))
    if kind != "signature":  # a tree that has to be fetched
        for path in (repository / ".git" / "objects").glob("??/*"):
            if b"tree" in subprocess.run(
                [shutil.which("git") or "", "-C", repository, "cat-file", "-t", path.parent.name + path.name],
                capture_output=True, check=False, env=variables(tmp_path) | {"GIT_NO_LAZY_FETCH": "1"},
            ).stdout:  # fmt: skip
                path.unlink()
                break
    last_changed((repository / "requirements.txt",), variables(tmp_path))
    held_off(not ran.exists())


LOCKED = {
    "without a hash": {"url": "https://x.example/evil-1.0-py3-none-any.whl", "hashes": {"md5": "0"}},
    "another protocol": {"url": "ssh://x.example/evil-1.0-py3-none-any.whl", "hashes": {"sha256": SHA}},
    "two lines": {"url": "https://x.example/\n-r x/evil-1.0-py3-none-any.whl", "hashes": {"sha256": SHA}},
    "a blank": {"url": "https://x.example/ -i/evil-1.0-py3-none-any.whl", "hashes": {"sha256": SHA}},
    "data": {"url": "data:,x/evil-1.0-py3-none-any.whl", "hashes": {"sha256": SHA}},
}


@attack("has files in a lock that nothing can be checked of", "them installed", without="locks-are-believed")
@pytest.mark.parametrize("kind", LOCKED)
def test_a_lock_names_files_with_hashes_alone(kind: str) -> None:
    package = {
        "name": "evil",
        "version": "1.0",
        "wheels": [{"name": "evil-1.0-py3-none-any.whl", **LOCKED[kind]}],
    }
    document = {"lock-version": "1.0", "created-by": "them", "packages": [package]}
    target = Target((H100,), (), "linux-64")
    try:
        files = select_files(parse_lock(document), PythonOffer("3.12"), target, "file:///srv/")
    except ValueError:
        return
    held_off(not files, files)


MEMBERS = ("../evil.py", "/etc/evil", "a/../../evil.py", "C:\\evil.py", "..\\evil.py", "\\\\host\\share\\x")


@attack("has members outside itself in a wheel", "files written anywhere", without="members-lie-anywhere")
@pytest.mark.parametrize("member", MEMBERS)
def test_a_wheel_has_no_members_outside_itself(tmp_path: Path, member: str) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        archive.writestr(member, "x")
    path = tmp_path / "evil-1.0-py3-none-any.whl"
    path.write_bytes(held.getvalue())
    try:
        with open_local_wheel(path) as wheel:
            names = wheel.names
    except WheelProblem:
        return
    held_off(not names, names)


LOCAL = (
    "file:///home/ada/torch-2.9.1-cp312-cp312-linux_x86_64.whl",
    "file://host/share/torch-2.9.1-cp312-cp312-win_amd64.whl",
)


@attack(
    "has links to files of this machine or of a share on a page", "them read and installed",
    without="pages-name-local-files",
)  # fmt: skip
@pytest.mark.parametrize("form", ["html", "base", "json"])
@pytest.mark.parametrize("url", LOCAL)
def test_a_page_from_the_network_names_no_file_of_this_machine(form: str, url: str) -> None:
    page = "https://index.example/simple/torch/"
    folder, _, name = url.rpartition("/")
    if form == "json":
        files = [{"filename": name, "url": url, "hashes": {}}]
        links = parse_json(json.dumps({"meta": {"api-version": "1.0"}, "files": files}), page).links
    else:
        base = f'<base href="{folder}/">' if form == "base" else ""
        links = parse_html(f'{base}<a href="{name if base else url}">torch</a>', page).links
    held_off(not links, links)


def test_a_page_of_this_machine_names_its_files() -> None:
    (link,) = parse_html(
        '<a href="torch-2.9.1-cp312-cp312-linux_x86_64.whl">x</a>', "file:///w/page.html"
    ).links
    assert link.url == "file:///w/torch-2.9.1-cp312-cp312-linux_x86_64.whl"
