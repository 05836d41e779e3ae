"""The install lines of a README, as hints of what its files leave open.

pip install torch==1.7.1+cu110 torchvision==0.8.2+cu110 -f https://download.example/torch_stable.html
conda create -n paper python=3.7
conda install pytorch==1.7.1 cudatoolkit=11.0 -c pytorch
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile
from gpuenv.adapt.parsers.collector import Collector, RequirementCollector, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.pip_requirement import read_pip
from gpuenv.i18n.messages import tr
from gpuenv.resolution.request import STACK

_COMMAND = re.compile(
    r"(?<![\w./-])(?P<tool>pip3?|pip3\.\d+|uv\s+pip|conda|mamba|micromamba)\s+(?P<verb>install|create)(?=\s)"
)
_ENDS = re.compile(r"`|&&|\|\||[;|](?=\s|$)|\s#|<br|</|\)\s*[.,]")
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_PIP_INDEXES = ("-f", "--find-links", "-i", "--index-url", "--extra-index-url")
_WITH_VALUE = {
    "pip": frozenset(
        [
            "-r",
            "-c",
            "-e",
            "-t",
            "--requirement",
            "--constraint",
            "--target",
            "--trusted-host",
            "--timeout",
            "--prefix",
        ]
    ),
    "conda": frozenset(["-n", "-c", "-p", "-f", "--name", "--channel", "--prefix", "--file", "--solver"]),
}
_LONGEST = 20_000  # characters of a command with its continued lines
_KEPT = (*STACK, "python", "cuda", "index")


def read_readme(file: DependencyFile) -> RequirementCollector:
    """Read the install lines for torch's stack, Python and CUDA; of alternatives the first counts."""
    found, one = Collector(file, hint=True), Collector(file, hint=True)
    for start, end, tool in _commands(file.text):
        one.asked.clear()
        (_read_pip if tool == "pip" else _read_conda)(one, start, end)
        _join(found, one.asked)
    return found.result()


def _commands(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where the words of each install command stand, continued lines among them."""
    at = 0
    while found := _COMMAND.search(text, at):
        start = found.end()
        end = start
        while True:
            line = text.find("\n", end)
            end = len(text) if line < 0 else line
            if (
                line < 0
                or not text[max(start, end - 2) : end].rstrip("\r").endswith("\\")
                or end - start > _LONGEST
            ):
                break
            end += 1
        end = min(end, start + _LONGEST)
        stop = _ENDS.search(text, start, end)
        at = end = stop.start() if stop else end
        yield start, end, "pip" if "pip" in found["tool"] else "conda"


def _words(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for found in _TOKEN.finditer(text, start, end):
        word, at = found[0], found.start()
        if word[0] in "\"'":
            word, at = word[1:].rstrip(word[0]), at + 1
        if word not in ("", "\\"):
            yield word, at, at + len(word)


def _read_pip(found: Collector, start: int, end: int) -> None:
    option = ""
    for word, at, until in _words(found.file.text, start, end):
        if option in _PIP_INDEXES:
            found.take("index", word, at, until)
            option = ""
        elif option in _WITH_VALUE["pip"]:
            option = ""
        elif word.startswith("-"):
            option, equals, value = word.partition("=")
            if equals and option in _PIP_INDEXES:
                found.take("index", value, at, until)
            option = "" if equals else option
        else:
            option = ""
            read = read_pip(found.bounded(word, at))
            if read.project in STACK and read.requirement is not None:
                found.take(read.project, read.requirement, at, until)


def _read_conda(found: Collector, start: int, end: int) -> None:
    option = ""
    for word, at, until in _words(found.file.text, start, end):
        if option in _WITH_VALUE["conda"]:
            if option in ("-c", "--channel"):
                found.take("index", word, at, until, "conda")
            option = ""
        elif word.startswith("-"):
            option = "" if "=" in word else word
        elif word[0].isalpha():
            option = ""
            read_conda(found, word, at, until)


def _join(found: Collector, asked: list[DeclaredRequirement]) -> None:
    """Keep the first word on each project; pages and channels count where they come with torch."""
    named = {one.project for one in found.asked}
    with_torch = any(one.project in STACK for one in asked) and "torch" not in named
    for one in asked:
        if one.project not in _KEPT or one.requirement is None or (one.project == "index" and not with_torch):
            continue
        if one.project == "index" or one.project not in named:
            found.asked.append(one)
        elif all(
            one.requirement != other.requirement for other in found.asked if other.project == one.project
        ):
            told = tr("`{text}` is another way to install; only the first one is used", text=shown(one.text))
            found.tell(one.start, told)
