"""What CONTRIBUTING.md says of adding things: each example is applied to a copy, and tried."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from running import make_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ADDING = PAGE.partition("\n## Adding things\n")[2].partition("\n## ")[0]
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^### |\Z)", ADDING, re.MULTILINE | re.DOTALL))
SKIPPED = shutil.ignore_patterns("__pycache__")
PART = re.compile(r"^([+-]{3}) (\S+)\n(.*?)(?=^[+-]{3} |\Z)", re.MULTILINE | re.DOTALL)
MODULES = {"gpuenv": ("gpuenv",), "pytest": ("pytest", "-p", "no:cacheprovider", "-c", "pyproject.toml")}


def fenced(name: str, language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", RECIPES[name], re.MULTILINE | re.DOTALL)
    return str(block)


def apply(diff: str, root: Path) -> None:
    """Apply a diff without numbers of lines: `+++ FILE` is a new file, `--- FILE` one that is changed."""
    for sign, name, body in re.findall(
        r"^([+-]{3}) (\S+)\n(.*?)(?=^[+-]{3} |\Z)", diff, re.MULTILINE | re.DOTALL
    ):
        file = root / name
        assert file.exists() == (sign == "---"), name
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        for hunk in body.split("@@\n"):
            lines = changed(lines, hunk.splitlines())
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def changed(lines: list[str], hunk: list[str]) -> list[str]:
    """Return the lines with a hunk applied where it fits, which is one place; `…` is the rest of a line."""
    old = [line[1:].partition("…") for line in hunk if line[0] in " -"]
    fits = [
        at
        for at in range(len(lines) - len(old) + 1)
        if all(
            there.startswith(start) if more else there == start
            for there, (start, more, _) in zip(lines[at:], old, strict=False)
        )
    ]
    assert not old or len(fits) == 1, (hunk, fits)
    at, new, rest = fits[0], list[str](), ""
    for line in hunk:
        if line[0] == "+":
            new.append(line[1:].replace("…", rest))
            continue
        rest = lines[at].removeprefix(line[1:].partition("…")[0])
        new += [lines[at]] if line[0] == " " else []
        at += 1
    return [*lines[: fits[0]], *new, *lines[at:]]


def test_each_thing_that_is_often_added_has_an_example() -> None:
    words = " ".join(RECIPES)
    for thing in ("rule", "CUDA release", "mirror", "error signature", "format", "doctor check", "option"):
        assert thing in words


def test_a_hunk_that_fits_nowhere_or_twice_is_noticed() -> None:
    assert changed(["a 1", "b"], ["-a …", "+c …", " b"]) == ["c 1", "b"]
    for lines in (["a"], ["a 1", "a 2"]):
        with pytest.raises(AssertionError):
            changed(lines, ["-a …", "+c"])


@pytest.mark.parametrize("name", RECIPES)
def test_an_example_can_be_applied(tmp_path: Path, name: str) -> None:
    diff = fenced(name, "diff")
    for file in re.findall(r"^[+-]{3} (\S+)$", diff, re.MULTILINE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / file).exists():
            shutil.copy(ROOT / file, tmp_path / file)
    apply(diff, tmp_path)
    for file in tmp_path.rglob("*.py"):
        compile(file.read_text(encoding="utf-8"), file, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_an_example_does_what_it_says(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    for part in ("src", "matrices", "tests/support", "tests/fixtures"):
        shutil.copytree(ROOT / part, copy / part, ignore=SKIPPED)
    (copy / "tests" / "unit").mkdir()
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / ".venv" / "bin").mkdir(parents=True)
    (copy / ".venv" / "bin" / "python").symlink_to(sys.executable)
    apply(fenced(name, "diff"), copy)
    environ = {**make_program(tmp_path / "user").environ, "PYTHONPATH": str(copy / "src")}
    transcript = re.findall(r"^\$ (.+)\n((?:[^$\n].*\n)*)", fenced(name, "console"), re.MULTILINE)
    assert transcript
    for command, output in transcript:
        program, *words = shlex.split(command)
        argv = [sys.executable, "-m", *MODULES[program], *words]
        done = subprocess.run(argv, env=environ, cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == (6 if "doctor" in words else 0), (command, done.stdout, done.stderr)
        assert [line for line in output.splitlines() if line not in done.stdout] == []
