"""What papers left, on GPUs that came later: the adapted set holds, and nothing else changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from adapted_papers import MACHINES, NAMES, adapt_for, bare_environ, copy_paper, save_machine, write_back
from running import Program
from sampling import every

from gpuenv.adapt.model import Adaptation
from gpuenv.adapt.patch.apply import unapplied
from gpuenv.adapt.render import unified_diff
from gpuenv.resolution.target import choose_target

GIT = shutil.which("git")
RTX_5090 = ("--gpu", "RTX 5090", "--driver", "570.133.07", "--offline", "--manager", "uv")
OLD, NEW = ("V100", "RTX 3090", "RTX 4090"), "RTX 5090"


def machines_of(paper: str) -> tuple[str, str]:
    """The newest card and one of the others: `bench/papers.py` takes all four."""
    return OLD[NAMES.index(paper) % len(OLD)], NEW


@pytest.mark.parametrize(
    ("paper", "machine"), every(7, ((name, item) for name in NAMES for item in machines_of(name)))
)
def test_the_adapted_files_hold_on_the_machine_and_all_other_lines_are_as_they_were(
    paper: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, environ = copy_paper(paper, tmp_path), bare_environ(tmp_path)
    saved = save_machine(machine, tmp_path)
    monkeypatch.chdir(folder)
    first = adapt_for(Path(), saved, environ)
    assert choose_target(first.plan.machines, (), cpu=False).gpus
    for before, after in untouched(first):
        assert before == after
    write_back(first)
    again = adapt_for(Path(), saved, environ)
    by_hand = unapplied(again.project, again.changes)
    assert [change for change in again.changes if change not in by_hand] == []
    assert (again.plan.pins, again.plan.variant) == (first.plan.pins, first.plan.variant)


def untouched(adaptation: Adaptation) -> list[tuple[list[str], list[str]]]:
    """The lines of each file that no change is about, before and after."""
    pairs = []
    for before, after in zip(adaptation.project.files, adaptation.files, strict=True):
        old, new = before.text.split("\n"), after.text.split("\n")
        lines = {
            number
            for change in adaptation.changes
            if change.declared and change.declared.file == before.path
            for number in range(
                change.declared.line, change.declared.line + change.declared.text.count("\n") + 1
            )
        }
        kept = [text for number, text in enumerate(old, start=1) if number not in lines]
        remaining = iter(new)
        pairs.append((kept, [text for text in kept if text in remaining]))
    return pairs


@pytest.mark.skipif(GIT is None, reason="there is no git")
@pytest.mark.parametrize("paper", every(9, NAMES, first=4))
def test_git_applies_the_patch_and_gives_the_adapted_files(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, environ = copy_paper(paper, tmp_path), bare_environ(tmp_path)
    monkeypatch.chdir(folder)
    adaptation = adapt_for(Path(), save_machine(NEW, tmp_path), environ)
    patch = unified_diff(adaptation.project, adaptation.files)
    if patch:
        git(folder, "apply", "-", stdin=patch)
    for file in adaptation.files:
        assert Path(file.path).read_bytes().decode() == file.text


def git(folder: Path, *words: str, stdin: str | None = None) -> None:
    identity = {
        f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    dates = {"GIT_AUTHOR_DATE": "2021-03-14T12:00:00Z", "GIT_COMMITTER_DATE": "2021-03-14T12:00:00Z"}
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **identity,
        **dates,
    }
    given = stdin.encode() if stdin is not None else None
    subprocess.run((str(GIT), *words), cwd=folder, env=environ, check=True, input=given, capture_output=True)


CONDAS = """channels:
  - pytorch
dependencies:
  - python=3.7
  - pytorch=1.4.0
  - cudatoolkit=10.1
"""


@pytest.mark.parametrize(("machine", "torch"), [("RTX 3090", "1.7.0"), (NEW, "2.7.1")])
def test_of_two_channels_the_one_with_the_nearer_torch_is_taken_and_the_old_one_is_said_to_have_no_code(
    machine: str, torch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path / "paper")
    Path("environment.yml").write_text(CONDAS, encoding="utf-8")
    value = adapt_for(Path(), save_machine(machine, tmp_path), bare_environ(tmp_path))
    (moved,) = (change for change in value.changes if change.project == "torch")
    assert moved.new is not None
    assert torch in moved.new
    assert "torch 1.4.0" in moved.why
    assert "no known release" not in moved.why


def test_a_line_of_poetry_is_named_with_its_project(program: Program) -> None:
    folder = program.root / "work" / "poetic"
    folder.mkdir(parents=True)
    text = '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "1.10.0"\n'
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    done = program.run("plan", "--adapt", "poetic", *RTX_5090)
    assert "pyproject.toml:3 torch 1.10.0 -> 2." in done.out


@pytest.mark.slow
def test_only_what_a_readme_says_is_no_file_to_write(program: Program) -> None:
    folder = program.root / "work" / "told"
    folder.mkdir(parents=True)
    text = "```\nconda install pytorch==1.4.0 cudatoolkit=10.1 -c pytorch\n```\n"
    (folder / "README.md").write_text(text, encoding="utf-8")
    done = program.run("plan", "--adapt", "told", *RTX_5090)
    assert done.status == 0, done.err
    assert "--write" not in done.err
    assert "gpuenv create NAME --adapt told" in done.err
    assert "says `pytorch`" not in done.err


# the commands


@pytest.fixture
def checkout(program: Program) -> Path:
    """A checkout in the directory that the program is run in."""
    folder = copy_paper("2021-transformer-detection", program.root / "work")
    (folder / "train.py").write_text("import torch\nx = torch.symeig(torch.eye(2))\n", encoding="utf-8")
    if GIT:
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "as published")
    return folder


@pytest.mark.slow
def test_the_patch_is_shown_with_reasons_and_the_files_stay_as_they_are(
    program: Program, checkout: Path
) -> None:
    before = (checkout / "requirements.txt").read_bytes()
    done = program.run("plan", "--adapt", checkout.name, *RTX_5090)
    assert done.status == 0, done.err
    path = f"{checkout.name}/requirements.txt"
    assert f"{path}:2 torch==1.7.1 -> torch==2.7.0+cu128\n  torch 1.7.1" in done.out
    assert f"--- a/{path}\n+++ b/{path}\n" in done.out
    assert "train.py:2" in done.out
    assert "\x1b" not in done.out
    assert (checkout / "requirements.txt").read_bytes() == before
    assert "gpuenv create NAME --adapt" in done.err


@pytest.mark.slow
def test_write_changes_the_files_and_tells_how_to_undo_it(program: Program, checkout: Path) -> None:
    file = checkout / "requirements.txt"
    before = file.read_bytes()
    done = program.run("plan", "--adapt", "-r", str(file), "--write", *RTX_5090)
    assert done.status == 0, done.err
    assert b"torch==2.7.0+cu128\n" in file.read_bytes()
    kept = file.with_name("requirements.txt.orig")
    assert kept.read_bytes() == before
    assert f"mv {checkout.name}/{kept.name} {checkout.name}/{file.name}" in done.err
    again = program.run("plan", "--adapt", str(checkout), "--write", *RTX_5090)
    assert "nothing to change" in again.out
    assert again.status == 0


def test_json_has_the_changes_and_the_patch_beside_the_plan(program: Program, checkout: Path) -> None:
    done = program.run("plan", "--adapt", checkout.name, "--json", *RTX_5090)
    adapted = done.data["adapted"]
    assert done.torch == "2.7.0+cu128"
    assert adapted["files"] == [{"path": f"{checkout.name}/requirements.txt", "kind": "requirements"}]
    first = adapted["changes"][0]
    assert (first["line"], first["old"], first["new"]) == (2, "torch==1.7.1", "torch==2.7.0+cu128")
    assert first["why"]
    assert any(location.endswith("train.py:2") for item in first["risks"] for location in item["places"])
    assert adapted["patch"].startswith("--- a/")


@pytest.mark.slow
def test_a_terminal_is_not_steered_by_what_was_left(program: Program, checkout: Path) -> None:
    pty = pytest.importorskip("pty")
    (checkout / "requirements.txt").write_text("torch==1.7.1\n# \x1b]0;hello\x07\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    environ = {"NO_COLOR": "1"}
    process = program.with_(**environ).start("plan", "-q", "--adapt", checkout.name, *RTX_5090, stdout=theirs)
    process.communicate(timeout=60)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"torch==2.7.0+cu128" in shown
    assert b"\x1b" not in shown
    assert b"\x07" not in shown


@pytest.mark.slow
def test_the_patch_goes_to_a_file(program: Program, checkout: Path) -> None:
    done = program.run("plan", "--adapt", checkout.name, "-o", "adapted.patch", *RTX_5090)
    assert done.status == 0, done.err
    assert "+torch==2.7.0+cu128" in (program.root / "work" / "adapted.patch").read_text(encoding="utf-8")
    assert "git apply adapted.patch" in done.err


def test_create_shows_the_changes_before_it_asks(program: Program, checkout: Path) -> None:
    before = (checkout / "requirements.txt").read_bytes()
    done = program.run("create", "paper", "--adapt", checkout.name, "--dry-run", *RTX_5090)
    assert done.status == 0, done.err
    assert "torch==1.7.1 -> torch==2.7.0+cu128" in done.out
    assert (checkout / "requirements.txt").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "--write"), "--write requires --adapt"),
        (("plan", "--exclude-newer", "2021-01-01"), "--exclude-newer requires --adapt"),
        (("plan", "--adapt", "torch==2.3"), "`torch==2.3` is not an existing file or directory"),
        (("plan", "--adapt", ".", "--exclude-newer", "2021-02-30"), "`2021-02-30` is not a date"),
        (
            ("plan", "--adapt", ".", "--format", "pylock.toml"),
            "--adapt requires --format text or json",
        ),
        (("plan", "--adapt", ".", "--machines", "."), "--adapt plans for one kind of environment"),
        (
            ("create", "x", "--adapt", ".", "--from-lock", "y"),
            "--adapt and --from-lock are mutually exclusive",
        ),
        (("plan", "--adapt", "empty"), "no file there lists what to install"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error_with_a_fix(
    program: Program, checkout: Path, words: tuple[str, ...], told: str
) -> None:
    (checkout / "empty").mkdir()
    done = program.run(*words, "--offline", "--gpu", "8.6", cwd=checkout)
    assert done.status == 2
    assert told in done.err
    assert "hint: " in done.err


def test_a_gpu_that_nothing_serves_is_a_refusal(program: Program, checkout: Path) -> None:
    gpu = ("--gpu", "RTX 5090", "--driver", "470.256.02", "--offline", "--manager", "uv", "--json")
    done = program.run("plan", "--adapt", checkout.name, *gpu)
    assert done.status == 3
    assert done.error["because"]


@pytest.mark.slow
@pytest.mark.skipif(GIT is None, reason="there is no git")
def test_the_day_of_the_last_commit_is_told(program: Program, checkout: Path) -> None:
    with_git = program.with_(PATH=os.environ["PATH"])
    done = with_git.run("plan", "--adapt", checkout.name, "--exclude-newer", "git", "--json", *RTX_5090)
    assert done.data["adapted"]["date"] == "2021-03-14"


def test_every_machine_of_the_forty_papers_is_one_that_gpuenv_knows(tmp_path: Path) -> None:
    assert len(NAMES) == 40
    for name in MACHINES:
        assert json.loads(save_machine(name, tmp_path).read_text(encoding="utf-8"))["driver"]["version"]
