"""The folder one stands in decides nothing: what a stranger left in a checkout is neither obeyed nor run."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from importlib.metadata import distributions
from pathlib import Path

import pytest
from attacks import attack, held_off
from index_server import IndexServer
from running import Done, Program
from strangers import Stranger
from tiny_wheels import tiny_torch

MARKER = "ran"
PIP = pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="this Python is no pip")


def packages(done: Done) -> list[tuple[str, str]]:
    return sorted((item["name"], item["version"]) for item in done.data["packages"])


def installed(environment: Path) -> dict[str, str]:
    places = [str(path) for path in environment.glob("lib/*/site-packages")]
    return {item.metadata["Name"].lower(): item.version for item in distributions(path=places)}


def plan_elsewhere(program: Program, asked: tuple[str, ...]) -> Done:
    clean = program.root / "elsewhere"
    clean.mkdir()
    return program.run("plan", *asked, "--json", cwd=clean)


SETTINGS = {
    "index": '{prefix}[[index]]\nurl = "{url}"\n',
    "index-url": '[{pip}]\nindex-url = "{url}"\nextra-index-url = ["{url}"]\n',
    "find-links": '[{pip}]\nfind-links = ["{url}/page.html"]\n',
    "no-index": "[{pip}]\nno-index = true\n",
    "override": '{top}override-dependencies = ["tinydep==0.9"]\n',
    "constraint": '{top}constraint-dependencies = ["tinydep<1"]\n',
    "exclude": '{top}exclude-newer = "2001-01-01"\n',
    "garbage": "{top}index = [[[\n",
    "required": '{top}required-version = "==0.0.1"\n',
}


def hostile(folder: Path, kind: str, name: str, url: str) -> None:
    """Write a setting as a uv.toml, or as the `[tool.uv]` of a pyproject.toml."""
    if name == "uv.toml":
        text = SETTINGS[kind].format(prefix="", pip="pip", top="", url=url)
    else:
        text = SETTINGS[kind].format(prefix="", pip="tool.uv.pip", top="[tool.uv]\n", url=url)
        text = text.replace("[[index]]", "[[tool.uv.index]]")
        text = f'[project]\nname = "x"\nversion = "1"\nrequires-python = "<3"\n{text}'
    folder.joinpath(name).write_text(text, encoding="utf-8")


@pytest.mark.slow
@attack(
    "leaves a uv.toml or `[tool.uv]` in the checkout",
    "other packages, from other indexes",
    without="children-start-here+uv-looks-around",
)
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, "uv.toml") for kind in SETTINGS), ("index", "pyproject.toml"), ("override", "pyproject.toml")],
)
def test_a_plan_is_the_same_beside_a_strangers_settings_of_uv(
    program: Program, checkout: Path, stranger: Stranger, asked: tuple[str, ...], kind: str, name: str
) -> None:
    expected = plan_elsewhere(program, asked)
    hostile(checkout, kind, name, stranger.url)
    done = program.run("plan", *asked, "--json")
    held_off(done.status == 0 and stranger.requests == [], done.err)
    held_off(packages(done) == packages(expected), done.out)


@pytest.mark.slow
@attack(
    "leaves a uv.toml above the folder that one works in",
    "other packages, from other indexes",
    without="children-start-here+uv-looks-around",
)
def test_settings_of_uv_in_a_folder_above_count_as_little(
    program: Program, checkout: Path, stranger: Stranger, asked: tuple[str, ...]
) -> None:
    hostile(checkout, "index", "uv.toml", stranger.url)
    (checkout / "src").mkdir()
    done = program.run("plan", *asked, "--json", cwd=checkout / "src")
    held_off(done.status == 0 and stranger.requests == [], done.err)
    assert ("tinydep", "1.0") in packages(done)


@pytest.mark.slow
def test_what_is_ignored_is_named_with_the_way_to_use_it(
    program: Program, checkout: Path, stranger: Stranger, asked: tuple[str, ...]
) -> None:
    hostile(checkout, "index", "uv.toml", stranger.url)
    (warning,) = [
        item
        for item in program.run("plan", *asked, "--json").envelope["warnings"]
        if "uv.toml" in item["message"]
    ]
    assert warning["code"] == "folder-configuration-ignored"
    assert "--mirror" in warning["message"]
    others = plan_elsewhere(program, asked).envelope["warnings"]
    assert "folder-configuration-ignored" not in [other["code"] for other in others]


@pytest.mark.slow
@attack("has variables of a checkout send uv into it", "overrides of their own", without="uv-looks-around")
@pytest.mark.parametrize("variable", ["UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY"])
def test_variables_that_send_uv_to_another_folder_count_as_little(
    program: Program, checkout: Path, stranger: Stranger, asked: tuple[str, ...], variable: str
) -> None:
    hostile(checkout, "override", "uv.toml", stranger.url)
    done = program.with_(**{variable: str(checkout)}).run("plan", *asked, "--json")
    held_off(("tinydep", "1.0") in packages(done), done.out)


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv", pytest.param("pip", marks=PIP)])
def test_create_installs_into_the_environment_whatever_the_folder_says(
    program: Program, checkout: Path, stranger: Stranger, asked: tuple[str, ...], manager: str
) -> None:
    target = checkout / "elsewhere"
    pip = f'[pip]\ntarget = "{target}"\nindex-url = "{stranger.url}"\n'
    text = f'override-dependencies = ["tinydep==0.9"]\n{pip}'
    (checkout / "uv.toml").write_text(text, encoding="utf-8")
    done = program.run("create", "paper", *asked, "--manager", manager, "--yes", "--json")
    assert done.status == 0, (done.out, done.err)
    assert installed(program.environments / "paper")["tinydep"] == "1.0"
    assert not target.exists()
    assert stranger.requests == []


@attack(
    "leaves modules in the checkout that Python or pip import",
    "their code run",
    without="children-start-here+pythons-see-everything+own-folder-first",
)
@pytest.mark.parametrize("manager", ["uv", pytest.param("pip", marks=PIP)])
def test_nothing_that_lies_in_the_folder_is_imported(
    program: Program, checkout: Path, asked: tuple[str, ...], manager: str
) -> None:
    code = f"import os; open({str(checkout / MARKER)!r}, 'a').write(__file__)\n"
    names = ("venv.py", "ensurepip.py", "pip/__main__.py", "pip/__init__.py", "sitecustomize.py", "json.py",
             "platform.py", "torch.py", "site.py", "encodings/__init__.py", "usercustomize.py")  # fmt: skip
    for name in names:
        path = checkout / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    done = program.run("create", "paper", *asked, "--manager", manager, "--yes", "--json")
    held_off(not (checkout / MARKER).exists())
    assert done.status == 0, (done.out, done.err)


@pytest.mark.slow
@attack(
    "leaves programs in a checkout, and PATH has relative entries",
    "their programs run",
    without="relative-path-counts",
)
@pytest.mark.parametrize("entry", [".", "", "bin", "./bin"])
def test_relative_entries_of_path_are_passed_over(program: Program, checkout: Path, entry: str) -> None:
    script = f"#!/bin/sh\nexec >>{checkout / MARKER}\necho $0\n"
    for folder in (checkout, checkout / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("nvidia-smi", "python3", "python", "uv", "conda", "micromamba", "nvcc", "git", "sinfo"):
            (folder / name).write_text(script, encoding="utf-8")
            (folder / name).chmod(0o755)
    path = os.pathsep.join((entry, program.environ["PATH"], entry))
    for words in (
        ["detect"],
        ["doctor"],
        ["verify"],
        ["plan", "--offline"],
        ["fleet", "detect", "--slurm", "x"],
    ):
        program.with_(PATH=path).run(*words, "--json")
    held_off(not (checkout / MARKER).exists())


def test_a_program_starts_in_an_empty_folder_that_is_gpuenvs_own(program: Program, checkout: Path) -> None:
    note = program.root / "note"
    smi = program.bin / "nvidia-smi"
    smi.write_text(f'#!/bin/sh\n(/bin/pwd; echo "$PWD"; /bin/ls -a) >{note}\n', encoding="utf-8")
    smi.chmod(0o755)
    program.run("detect", "--json")
    where, answer, *listed = note.read_text(encoding="utf-8").splitlines()
    assert where == answer == str(program.root / "cache" / "empty")
    assert listed == [".", ".."]
    assert Path(where).stat().st_mode & 0o777 == 0o700
    assert where != str(checkout)


def test_where_the_cache_cannot_be_written_the_folder_is_a_new_one_that_goes(program: Program) -> None:
    note = program.root / "note"
    smi = program.bin / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n/bin/pwd >{note}\n", encoding="utf-8")
    smi.chmod(0o755)
    (program.root / "cache").rmdir()
    (program.root / "cache").write_text("", encoding="utf-8")
    program.run("detect", "--json")
    where = Path(note.read_text(encoding="utf-8").strip())
    assert where.parent == program.root / "tmp"
    ends = time.monotonic() + 10  # a child of gpuenv's removes it, perhaps after gpuenv has ended
    while where.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert not where.exists()


@attack(
    "prepares the folder that children start in",
    "children that start where files of theirs lie",
    without="empty-folder-is-believed",
)
@pytest.mark.parametrize("trap", ["link", "open", "full"])
def test_a_folder_that_somebody_prepared_is_not_used(program: Program, checkout: Path, trap: str) -> None:
    note, empty = program.root / "note", program.root / "cache" / "empty"
    smi = program.bin / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n/bin/pwd >{note}\n", encoding="utf-8")
    smi.chmod(0o755)
    if trap == "link":
        empty.symlink_to(checkout)
    else:
        empty.mkdir(mode=0o700)
        if trap == "open":
            empty.chmod(0o777)
        else:
            (empty / "uv.toml").write_text("", encoding="utf-8")
    program.run("detect", "--json")
    held_off(Path(note.read_text(encoding="utf-8").strip()).parent == program.root / "tmp")


def test_where_a_file_lies_in_the_folders_place_it_is_a_new_one(program: Program) -> None:
    note = program.root / "note"
    smi = program.bin / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\n/bin/pwd >{note}\n", encoding="utf-8")
    smi.chmod(0o755)
    (program.root / "cache" / "empty").write_text("", encoding="utf-8")
    program.run("detect", "--json")
    assert Path(note.read_text(encoding="utf-8").strip()).parent == program.root / "tmp"


# what people rely on


def user_settings(program: Program, text: str) -> None:
    file = program.home / ".config" / "uv" / "uv.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_users_own_settings_of_uv_count(program: Program, asked: tuple[str, ...]) -> None:
    user_settings(program, 'constraint-dependencies = ["tinydep<1"]\n')
    assert ("tinydep", "0.9") in packages(program.run("plan", *asked, "--json"))


def test_the_users_settings_count_before_the_systems_and_both_count(
    program: Program, asked: tuple[str, ...]
) -> None:
    user_settings(program, 'constraint-dependencies = ["tinydep<1"]\nresolution = "highest"\n')
    system = program.root / "etc" / "uv" / "uv.toml"
    system.parent.mkdir(parents=True)
    system.write_text('resolution = "lowest"\nconstraint-dependencies = ["tinydep<5"]\n', encoding="utf-8")
    assert ("tinydep", "0.9") in packages(program.run("plan", *asked, "--json"))


@pytest.mark.slow
def test_relative_paths_of_variables_are_relative_to_where_one_stands(
    program: Program, checkout: Path, asked: tuple[str, ...]
) -> None:
    (checkout / "mine.txt").write_text("tinydep<1\n", encoding="utf-8")
    done = program.with_(UV_CONSTRAINT="mine.txt").run("plan", *asked, "--json")
    assert ("tinydep", "0.9") in packages(done)


def test_a_named_configuration_counts_though_it_lies_in_the_folder(
    program: Program, checkout: Path, asked: tuple[str, ...]
) -> None:
    (checkout / "own.toml").write_text('constraint-dependencies = ["tinydep<1"]\n', encoding="utf-8")
    done = program.with_(UV_CONFIG_FILE="own.toml").run("plan", *asked, "--json")
    assert ("tinydep", "0.9") in packages(done)


@pytest.mark.slow
@pytest.mark.parametrize("manager", ["uv", pytest.param("pip", marks=PIP)])
def test_relative_wheelhouses_are_relative_to_where_one_stands(
    program: Program, checkout: Path, server: IndexServer, manager: str
) -> None:
    tiny_torch(checkout / "wheels", "2.14.1+cpu")
    done = program.run(
        "create", "paper", "torch==2.14.1", "--cuda", "cpu", "--find-links", "wheels",
        "--mirror", server.pypi, "--manager", manager, "--python",
        f"{sys.version_info[0]}.{sys.version_info[1]}", "--yes", "--json",
    )  # fmt: skip
    assert done.status == 0, (done.out, done.err)
    assert installed(program.environments / "paper")["torch"] == "2.14.1+cpu"


@pytest.mark.slow
def test_a_plan_that_gpuenv_wrote_into_the_folder_changes_nothing(
    program: Program, checkout: Path, asked: tuple[str, ...]
) -> None:
    expected = plan_elsewhere(program, asked)
    written = program.run("plan", *asked, "--format", "pyproject", "-o", "pyproject.toml")
    assert written.status == 0, written.err
    assert (checkout / "pyproject.toml").exists()
    assert packages(program.run("create", "paper", *asked, "--yes", "--json")) == packages(expected)
