"""The install lines of a README, as hints of what its files leave open.

Of pip's commands all counts where they stand as commands do, in a line or in backticks of their own; of
those in a sentence, and of conda's, only torch's stack, Python and CUDA.

pip install torch==1.7.1+cu110 torchvision==0.8.2+cu110 -f https://download.example/torch_stable.html
conda create -n paper python=3.7
conda install pytorch==1.7.1 cudatoolkit=11.0 -c pytorch
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.pip_requirement import read_pip
from gpuenv.i18n.messages import N_, tr
from gpuenv.resolution.request import STACK

_COMMAND = re.compile(
    r"(?<![\w./-])(?P<tool>pip3?|pip3\.\d+|uv\s+pip|conda|mamba|micromamba)\s+(?P<verb>install|create)(?=\s)"
)
_ENDS = re.compile(r"`|&&|\|\||[;|](?=\s|$)|\s#|<br|</|\)\s*[.,]")
_TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_PIP_INDEXES = ("-f", "--find-links", "-i", "--index-url", "--extra-index-url")
_WITH_VALUE = {
    "pip": [
        *("-r", "-c", "-e", "-t", "--requirement", "--constraint"),
        *("--target", "--trusted-host", "--timeout", "--prefix"),
    ],
    "conda": ["-n", "-c", "-p", "-f", "--name", "--channel", "--prefix", "--file", "--solver"],
}
_CONTINUED = re.compile(r"(?:[^\\\n]|\\(?:\r?\n)?)*")  # to the end of the line, or of those that go on
_LONGEST = 20_000  # characters of a command with its continued lines
_BEFORE_COMMAND = re.compile(
    r"\s*(?:[-*>$!%#]|\d+[.)]|RUN|run:|then|sudo|-H|python3?\S*\s+-m|[\w./-]+\s+&&|.*(?:&&|;|\||`))*\s*"
    r"(?:pip3?|pip3\.\d+|uv\s+pip|conda|mamba|micromamba)\s+(?:install|create)"
)
_OF_SENTENCES = frozenset(
    {
        "a", "and", "are", "as", "by", "can", "first", "for", "from", "if", "in", "into", "is", "it", "of",
        "or", "that", "the", "then", "this", "to", "via", "with", "you", "your",
    }
)  # fmt: skip
_OF_INSTALLERS = ("pip", "setuptools", "wheel", "uv", "poetry", "conda")
_KEPT = (*STACK, "python", "cuda", "index")


def read_readme(file: DependencyFile) -> ParsedFile:
    """Read the install lines for torch's stack, Python and CUDA; of alternatives the first counts."""
    collector, item = Collector(file, hint=True), Collector(file, hint=True)
    for start, end, tool in _commands(file.text):
        item.declared.clear()
        if tool == "pip":
            _read_pip(item, start, end, whole=_stands_alone(file.text, start, end))
        else:
            _read_conda(item, start, end)
        _join(collector, item.declared)
    return collector.result()


def _commands(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where the words of each install command stand, continued lines among them."""
    at = 0
    while match := _COMMAND.search(text, at):
        start = match.end()
        continued = _CONTINUED.match(text, start, start + _LONGEST)
        end = continued.end() if continued else start
        stop = _ENDS.search(text, start, end)
        at = end = stop.start() if stop else end
        yield start, end, "pip" if "pip" in match["tool"] else "conda"


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a command is one, and no part of a sentence: `You can pip install torch and see`."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    words = {word.lower() for word, _, _ in _words(text, start, end)}
    return _BEFORE_COMMAND.fullmatch(before) is not None and not words & _OF_SENTENCES


def _words(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for match in _TOKEN.finditer(text, start, end):
        word, at = match[0], match.start()
        if word[0] in "\"'":
            word, at = word[1:].rstrip(word[0]), at + 1
        if word not in ("", "\\"):
            yield word, at, at + len(word)


def _read_pip(collector: Collector, start: int, end: int, *, whole: bool) -> None:
    option = ""
    for word, at, until in _words(collector.file.text, start, end):
        if option in _PIP_INDEXES:
            collector.take("index", word, at, until)
            option = ""
        elif option in _WITH_VALUE["pip"]:
            option = ""
        elif word.startswith("-"):
            option, equals, value = word.partition("=")
            if equals and option in _PIP_INDEXES:
                collector.take("index", value, at, until)
            option = "" if equals else option
        else:
            option = ""
            read = read_pip(collector.bounded(word, at))
            is_kept = read.project in STACK or (whole and read.project not in _OF_INSTALLERS)
            if read.project is not None and read.requirement is not None and is_kept:
                collector.take(read.project, read.requirement, at, until)


def _read_conda(collector: Collector, start: int, end: int) -> None:
    option = ""
    for word, at, until in _words(collector.file.text, start, end):
        if option in _WITH_VALUE["conda"]:
            if option in ("-c", "--channel"):
                collector.take("index", word, at, until, "conda")
            option = ""
        elif word.startswith("-"):
            option = "" if "=" in word else word
        elif word[0].isalpha():
            option = ""
            read_conda(collector, word, at, until)


def _join(collector: Collector, declarations: list[DeclaredRequirement]) -> None:
    """Keep the first word on each project; pages and channels count where they come with torch."""
    named = {requirement.project for requirement in collector.declared}
    with_torch = any(requirement.project in STACK for requirement in declarations) and "torch" not in named
    for declared in declarations:
        if (
            (declared.project not in _KEPT and declared.notation == "conda")
            or declared.requirement is None
            or (declared.project == "index" and not with_torch)
        ):
            continue
        if declared.project == "index" or declared.project not in named:
            collector.declared.append(declared)
        elif all(
            declared.requirement != other.requirement
            for other in collector.declared
            if other.project == declared.project
        ):
            template = N_("`{text}` is another way to install; only the first one is used")
            collector.tell(declared.start, tr(template, text=shown(declared.text)))
