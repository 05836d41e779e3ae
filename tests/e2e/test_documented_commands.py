"""What docs/ shows to be typed runs, with GPUs and no network; what it shows to be printed is."""

from __future__ import annotations

import re
import shlex

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from pages import DOCS, LANGUAGES, fenced, indented, own_commands
from running import Program

GPU = FakeGpu("NVIDIA GeForce RTX 3080 Ti", "8.6")
LOG = """epoch 0
/home/me/train.py:12: UserWarning:
NVIDIA GeForce RTX 3080 Ti with CUDA capability sm_86 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75 compute_37.
"""
# What looks at an environment, changes one, or asks other machines is tried where there is one (tests/e2e).
_LOOKING = (
    "detect",
    "plan",
    "dockerfile",
    "bootstrap",
    "explain",
    "matrix show",
    "mirrors list",
    "list",
    "cache size",
)
# Refused without a network, or for the GPU of this machine: a refusal that names its reasons.
_REFUSED = {3, 4}


def _commands() -> list[str]:
    pages = sorted((DOCS / "en").rglob("*.md"))
    synopses, played = (
        ("commands.md", "json.md"),
        ("demo.md",),
    )  # by tests/e2e/test_demo.py
    pages = [path for path in pages if path.name not in (*synopses, *played)]
    texts = [path.read_text(encoding="utf-8") for path in pages]
    lines = [words for text in texts for words in own_commands([*fenced(text), *indented(text)])]
    return sorted({shlex.join(words) for words in lines if shlex.join(words).startswith(_LOOKING)})


def example(language: str, name: str, command: str) -> list[str]:
    """Return the lines that a page shows below a command."""
    lines = (DOCS / language / name).read_text(encoding="utf-8").splitlines()
    first = lines.index(f"    $ gpuenv {command}") + 1
    return [line.removeprefix("    ") for line in lines[first : lines.index("", first)]]


@pytest.fixture
def user(program: Program) -> Program:
    fake_nvidia_smi(program.bin, "535.104.05", GPU, GPU)
    work = program.root / "work"
    (work / "train.log").write_text(LOG)
    (work / "requirements.txt").write_text("torch==2.3.1\n")
    (work / "environment.yml").write_text("dependencies: [python=3.11, pytorch=2.3.1]\n")
    onboarding = (DOCS / "en" / "onboarding.md").read_text(encoding="utf-8")
    (work / "lab.toml").write_text("\n".join(fenced(onboarding, "toml")))
    (work / "course").mkdir()
    (work / "course" / "environment.yml").write_text("dependencies: [python=3.11, pytorch]\n")
    (work / "lab").mkdir()
    saved = program.run("detect", "--json")
    for path in (work / "node7.json", work / "node8.json", work / "lab" / "node7.json"):
        path.write_text(saved.out)
    return program.with_(GPUENV_OFFLINE="1")


@pytest.mark.slow
@pytest.mark.parametrize("line", _commands())
def test_what_is_shown_to_be_typed_runs(user: Program, line: str) -> None:
    done = user.run(*shlex.split(line), stdin=LOG)
    print(done.status, done.said[:300])
    assert done.status in {0, *_REFUSED}
    assert done.status == 0 or "error: " in done.err


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_explain_is_shown_to_print_is_printed(user: Program, language: str) -> None:
    shown = example(language, "reference/failing.md", "explain train.log")
    done = user.run("--lang", language, "explain", "train.log")
    printed = done.out.splitlines()
    assert len(printed) == len(shown)
    for line, start in zip(printed, shown, strict=True):
        cut = start.endswith(("...", "…"))
        assert (line[: len(start.rstrip(".…"))] if cut else line) == start.rstrip(".…" if cut else "")


@pytest.mark.parametrize("language", [LANGUAGES[0], pytest.param(LANGUAGES[1], marks=pytest.mark.slow)])
def test_what_adapt_is_shown_to_print_is_printed(program: Program, language: str) -> None:
    paper = program.root / "work"
    (paper / "requirements.txt").write_text("numpy==1.19.5\ntorch==1.7.1\ntorchvision==0.8.2\n")
    (paper / "train.py").write_text("import torch\n" + 39 * "\n" + "values = torch.symeig(torch.eye(2))\n")
    page = (DOCS / language / "adapt.md").read_text(encoding="utf-8")
    command, shown = page.partition("--driver 570.26\n```\n\n```text\n")[0::2]
    words = shlex.split(command.rpartition("gpuenv ")[2] + "--driver 570.26")
    done = program.run("--lang", language, *words, "--offline")
    lines = shown.partition("\n```")[0].splitlines()
    parts = (re.escape(line).replace("…", ".*") if line != "…" else "(.*\n)*?.*" for line in lines)
    assert re.match("\n".join(parts), done.out), done.said
