"""The install lines of a README: hints of what its files leave open, and the other packages beside torch.

pip install torch==1.7.1+cu110 torchvision==0.8.2+cu110 -f https://download.example/torch_stable.html
conda create -n paper python=3.7
conda install pytorch==1.7.1 cudatoolkit=11.0 -c pytorch
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpuenv.adapt.model import DeclaredRequirement, DependencyFile
from gpuenv.adapt.parsers.code_places import CodePlaces
from gpuenv.adapt.parsers.collector import Collector, ParsedFile, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.pip_requirement import PipLine, read_editable, read_pip
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
        *("-r", "-c", "-t", "--requirement", "--constraint"),
        *("--target", "--trusted-host", "--timeout", "--prefix"),
    ],
    "conda": ["-n", "-c", "-p", "-f", "--name", "--channel", "--prefix", "--file", "--solver"],
}
_CONTINUED = re.compile(r"(?:[^\\\n]|\\(?:\r?\n)?)*")  # to the end of the line, or of those that go on
_LONGEST = 20_000  # characters of a command with its continued lines
FACTS = (*STACK, "python", "cuda", "index")  # what a text says of torch
_EDITABLE = ("-e", "--editable")
# brought up to date before anything is installed
_INSTALLERS = ("pip", "conda", "mamba", "uv", "poetry")
_OF_BUILDS = ("setuptools", "wheel")  # that is, where no release is named


def read_readme(file: DependencyFile) -> ParsedFile:
    """Read the install lines; of alternatives the first counts.

    Torch's stack, Python and CUDA are hints, wherever they stand. Other packages are required, by commands
    that stand as code: what a sentence goes on to say would be taken for names.
    """
    collector = Collector(file, hint=True)
    places = CodePlaces(file)
    for command, start, end, tool in _commands(file.text):
        item = Collector(file, hint=True)
        (_read_pip if tool == "pip" else _read_conda)(item, start, end)
        is_code = places.is_code(command, file.text[start:end])
        _join(collector, item.declared, others=is_code)
        if is_code:
            collector.warnings += item.warnings
            _tell_folder(collector, item, places.folder(command))
    return collector.result()


def _tell_folder(collector: Collector, item: Collector, folder: str | None) -> None:
    """Name what is installed from a folder that the lines above go to."""
    template = N_("`{text}` in `{folder}` is not in the plan: a folder is installed afterwards")
    for more in item.more if folder else ():
        text = tr(template, text=shown(more.path), folder=shown(folder or ""))
        place = f"{shown(item.file.path)}:{more.line}"
        collector.warnings.append(tr("{place}: {text}", place=place, text=text))


def _commands(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield where each install command begins and where its words stand, continued lines among them."""
    at = 0
    while match := _COMMAND.search(text, at):
        start = match.end()
        continued = _CONTINUED.match(text, start, start + _LONGEST)
        end = continued.end() if continued else start
        stop = _ENDS.search(text, start, end)
        at = end = stop.start() if stop else end
        yield match.start(), start, end, "pip" if "pip" in match["tool"] else "conda"


def _words(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for match in _TOKEN.finditer(text, start, end):
        word, at = match[0], match.start()
        if word[0] in "\"'":
            word, at = word[1:].rstrip(word[0]), at + 1
        if word not in ("", "\\"):
            yield word, at, at + len(word)


def _read_pip(collector: Collector, start: int, end: int) -> None:
    option = ""
    for word, at, until in _words(collector.file.text, start, end):
        if option in _PIP_INDEXES:
            collector.take("index", word, at, until)
            option = ""
        elif option in _WITH_VALUE["pip"]:
            option = ""
        elif option in _EDITABLE:
            option = ""
            _take_pip(collector, read_editable(collector.bounded(word, at)), at, until)
        elif word.startswith("-"):
            option, equals, value = word.partition("=")
            if equals and option in _PIP_INDEXES:
                collector.take("index", value, at, until)
            option = "" if equals else option
        else:
            option = ""
            _take_pip(collector, read_pip(collector.bounded(word, at)), at, until)


def _take_pip(collector: Collector, read: PipLine, start: int, end: int) -> None:
    if read.project is not None and read.requirement is not None:
        collector.take(read.project, read.requirement, start, end)
    if read.warning is not None:
        collector.tell(start, read.warning)
    if read.folder is not None:
        collector.follow(read.folder, "project", start)


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


def _required(declared: DeclaredRequirement) -> DeclaredRequirement:
    """Return another package as one that is required; conda's names are not asked of an index."""
    requirement = None if declared.notation == "conda" else declared.requirement
    return replace(declared, hint=False, requirement=requirement)


def _join(collector: Collector, declarations: list[DeclaredRequirement], *, others: bool) -> None:
    """Keep the first word on each project; pages and channels count where they come with torch."""
    named = {requirement.project for requirement in collector.declared}
    with_torch = any(requirement.project in STACK for requirement in declarations) and "torch" not in named
    for declared in declarations:
        if declared.project not in FACTS:
            if not others or declared.project in _INSTALLERS or declared.requirement in _OF_BUILDS:
                continue
        elif declared.requirement is None or (declared.project == "index" and not with_torch):
            continue
        if declared.project == "index" or declared.project not in named:
            collector.declared.append(declared if declared.project in FACTS else _required(declared))
        elif all(
            declared.requirement != other.requirement
            for other in collector.declared
            if other.project == declared.project
        ):
            template = N_("`{text}` is another way to install; only the first one is used")
            collector.tell(declared.start, tr(template, text=shown(declared.text)))
