"""No index, folder, cache or installer puts another file in the place of the torch that was planned."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks import attack, held_off
from building import listing
from index_server import IndexServer, serve_indexes
from published import wheel
from running import Done, Program
from tiny_stack import installed
from tiny_wheels import TAG, tiny_wheel

from gpuenv import matrices
from gpuenv.environments import wheel_cache
from gpuenv.http.timeouts import Watch
from gpuenv.process.uv_binary import find_embedded_uv
from gpuenv.resolution.digests import with_known_digests

TORCH = "2.14.1+cpu"
CPU = ("--cuda", "cpu", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}")
BOTH = pytest.mark.parametrize("manager", ["uv", "pip"])
EVIL = "EVIL = True\n"


def evil_torch(folder: Path, version: str = TORCH) -> Path:
    """A torch of the same file name, with other bytes."""
    return tiny_wheel(
        folder, "torch", version, tag=TAG,
        files={
            "torch/__init__.py": EVIL,
            "torch/version.py": f"__version__ = {version!r}\ncuda = None\n",
        },
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _with_pip(request: pytest.FixtureRequest) -> None:
    if "pip" in request.node.name:
        pytest.importorskip("ensurepip")


@pytest.fixture
def strange_index(tmp_path: Path) -> Iterator[IndexServer]:
    """An index that has its own torch beside the lab's package that people have it for."""
    with serve_indexes() as index:
        index.publish(evil_torch(tmp_path / "evil"), "pypi")
        index.publish(tiny_wheel(tmp_path / "lab", "labtool", "1.0"), "pypi")
        yield index


def create(program: Program, server: IndexServer, manager: str, *words: str | Path) -> Done:
    mirrors = ("--mirror", server.pytorch, *(() if "--offline" in words else ("--mirror", server.pypi)))
    return program.run(
        "create", "trial", "torch==2.14.1", *CPU, "--manager", manager, "--yes", "--no-verify", "--json",
        *mirrors, *words,
    )  # fmt: skip


def check_genuine(program: Program) -> None:
    path = program.environments / "trial"
    assert installed(path)["torch"] == TORCH
    (module,) = path.glob("lib/*/site-packages/torch/__init__.py")
    assert "EVIL" not in module.read_text(encoding="utf-8")


def check_nothing_kept(program: Program, done: Done) -> None:
    assert done.status == 5, (done.out, done.err)
    assert not (program.environments / "trial").exists()


def configure(program: Program, manager: str, **settings: str) -> Program:
    """Write the user's own configuration of the installer; an underscore stands for a hyphen."""
    if manager == "pip":
        file = program.home / "pip.conf"
        lines = [f"{key.replace('_', '-')} = {value}\n" for key, value in settings.items()]
        file.write_text("[global]\n" + "".join(lines), encoding="utf-8")
        return program.with_(PIP_CONFIG_FILE=str(file))
    file = program.home / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    lines = [
        f"{key.replace('_', '-')} = {value!r}\n"
        if key == "index_url"
        else f"{key.replace('_', '-')} = [{value!r}]\n"
        for key, value in settings.items()
    ]
    file.write_text("".join(lines), encoding="utf-8")
    return program


@pytest.mark.slow
@BOTH
def test_an_extra_index_puts_no_torch_of_its_own_in(
    program: Program, server: IndexServer, strange_index: IndexServer, manager: str
) -> None:
    user = configure(program, manager, index_url=server.pypi, extra_index_url=strange_index.pypi)
    done = user.run(
        "create", "trial", "torch==2.14.1", "labtool", *CPU, "--manager", manager, "--yes", "--no-verify",
        "--json", "--mirror", server.pytorch,
    )  # fmt: skip
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    check_genuine(program)
    assert installed(program.environments / "trial")["labtool"] == "1.0"


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv"])
def test_a_folder_has_no_other_file_than_the_one_that_is_known(
    program: Program, tmp_path: Path, manager: str
) -> None:
    """Its hash ships with gpuenv: a file of that name and of other bytes is not installed."""
    names = (row["filename"] for row in matrices.load("wheels") if row.get("sha256"))
    fitting = sorted(name for name in names if re.fullmatch(rf"torch-2\.\d+\.\d\+cpu-{TAG}\.whl", name))
    if not fitting:
        pytest.skip("no hash ships for this Python")
    version = fitting[-1].split("-")[1]
    folder = evil_torch(tmp_path / "evil", version).parent
    done = program.run(
        "create", "trial", f"torch=={version}", *CPU, "--manager", manager, "--yes", "--no-verify", "--json",
        "--offline", "--find-links", folder,
    )  # fmt: skip
    check_nothing_kept(program, done)
    assert done.error["code"] == "file-wrong"


@BOTH
def test_a_variable_does_not_bring_another_torch(program: Program, server: IndexServer, manager: str) -> None:
    """As pip is told by whoever wants everything anew."""
    user = program.with_(PIP_FORCE_REINSTALL="1", PIP_IGNORE_INSTALLED="1", UV_REINSTALL="1")
    done = create(user, server, manager)
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    check_genuine(program)


@pytest.mark.slow
def test_a_file_that_was_changed_in_the_cache_of_uv_is_not_kept(
    program: Program, server: IndexServer, tmp_path: Path
) -> None:
    user = program.with_(UV_CACHE_DIR=str(tmp_path / "uv"), UV_LINK_MODE="copy")
    assert create(user, server, "uv").status == 0
    cached = list((tmp_path / "uv").rglob("torch/__init__.py"))
    assert cached
    for path in cached:
        path.write_text(EVIL, encoding="utf-8")
    done = create(user, server, "uv", "--force")
    assert done.status == 5, (done.out, done.err)
    assert done.error["code"] == "not-as-planned"
    check_genuine(program)


@pytest.mark.slow
def test_a_wheel_that_was_changed_in_the_cache_of_gpuenv_is_fetched_again(
    program: Program, server: IndexServer, tmp_path: Path
) -> None:
    assert create(program, server, "uv").status == 0
    (kept,) = Path(program.environ["GPUENV_CACHE_DIR"]).glob("wheels/*/torch-*.whl")
    kept.write_bytes(evil_torch(tmp_path / "evil").read_bytes())
    done = create(program, server, "uv", "--force")
    assert done.status == 0, (done.out[-3000:], done.err[-2000:])
    check_genuine(program)


KNOWN = "torch-2.7.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"


@attack(
    "has a mirror whose page gives a file of torch another digest than is known",
    "another file taken for it",
    without="pages-are-believed",
)
@pytest.mark.parametrize("known_by", ["gpuenv", "the official index"])
def test_a_page_that_contradicts_a_known_digest_is_passed_over(known_by: str) -> None:
    right, wrong = "a" * 64, "b" * 64
    liar = listing(wheel(KNOWN, sha256=wrong))
    official = listing(wheel(KNOWN, sha256=right), kind="pytorch")
    shipped = {KNOWN: right} if known_by == "gpuenv" else {}
    left, _ = with_known_digests((liar, official), shipped, lambda source: source is official.source)
    held_off(wrong not in {file.sha256 for item in left for file in item.files})


LIAR = """#!/bin/sh
# does what it is told, then puts another file in
{uv} "$@" || exit $?
for file in {envs}/trial/lib/*/site-packages/{victim}; do
    [ -e "$file" ] && {damage}
done
exit 0
"""


@attack(
    "has an installer that puts more in than it says, or less",
    "code of theirs in the environment",
    without="what-is-installed-is-believed",
)
@pytest.mark.parametrize(
    ("victim", "damage"),
    [
        ("torch/__init__.py", 'echo "EVIL = True" > "$file"'),
        ("torch/version.py", '/bin/rm "$file"'),
    ],
)
def test_what_an_installer_put_in_besides_is_not_kept(
    program: Program, server: IndexServer, victim: str, damage: str
) -> None:
    done = create_with_a_liar(program, server, victim, damage)
    held_off(done.status != 0, done.out)
    check_nothing_kept(program, done)


@pytest.mark.slow
def test_metadata_that_an_installer_changed_is_not_kept(program: Program, server: IndexServer) -> None:
    metadata = "torch-2.14.1+cpu.dist-info/METADATA"
    done = create_with_a_liar(program, server, metadata, 'echo "Requires-Dist: evil" >> "$file"')
    check_nothing_kept(program, done)


def create_with_a_liar(program: Program, server: IndexServer, victim: str, damage: str) -> Done:
    package = program.root / "site" / "uv"
    package.mkdir(parents=True)
    liar = package / "liar"
    (package / "__init__.py").write_text(f"def find_uv_bin(): return {str(liar)!r}\n", encoding="utf-8")
    text = LIAR.format(uv=find_embedded_uv(), envs=program.environments, victim=victim, damage=damage)
    liar.write_text(text, encoding="utf-8")
    liar.chmod(0o755)
    places = (str(package.parent), program.environ.get("PYTHONPATH"))
    return create(program.with_(PYTHONPATH=os.pathsep.join(filter(None, places))), server, "uv")


@attack(
    "may write where fetched wheels are kept, and puts another file there, or a link to one",
    "it given to the installer as the file that was checked",
    without="cached-wheels-are-believed",
)
@pytest.mark.parametrize("how", ["file", "link"])
def test_a_poisoned_cache_gives_nothing_to_an_installer(tmp_path: Path, undone: str, how: str) -> None:
    theirs = tmp_path / "theirs.whl"
    theirs.write_bytes(b"PK, but another")
    store = wheel_cache.WheelStore(tmp_path / f"cache{undone}")
    folder = store.folder(hashlib.sha256(b"PK, as it should be").hexdigest())
    folder.mkdir(parents=True)
    put = folder / "torch-2.14.1-py3-none-any.whl"
    put.symlink_to(theirs) if how == "link" else put.write_bytes(theirs.read_bytes())
    path = store.find(folder.name, put.name, Watch(lambda _: None))
    held_off(path is None and not put.exists(), path)
    assert theirs.exists()


def test_steps_of_a_plan_that_somebody_sends_are_not_run(program: Program, tmp_path: Path) -> None:
    marker = tmp_path / "run"
    step = {"argv": ["/bin/sh", "-c", f"touch {marker}"], "why": "install torch"}
    plan = {"schema_version": 1, "command": "plan", "ok": True, "data": {"steps": [step], "packages": []}}
    sent = tmp_path / "plan.json"
    sent.write_text(json.dumps(plan), encoding="utf-8")
    for words in (("create", "paper", "--from", sent), ("create", "paper", "--machine", sent)):
        done = program.run(*words, "--yes", "--no-verify", "--json")
        assert done.status == 2, (done.out, done.err)
    assert not marker.exists()
    assert list(program.environments.glob("*")) == []
