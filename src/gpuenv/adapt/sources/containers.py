"""Images and the commands beside them: Dockerfile, devcontainer, CI, cog.yaml, notebooks, tox.ini.

ARG PYTORCH="1.6.0"
FROM pytorch/pytorch:${PYTORCH}-cuda10.1-cudnn7-devel
RUN pip install mmcv-full==1.3 -f https://…
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, ParsedFile
from gpuenv.adapt.parsers.environment_yml import compose
from gpuenv.adapt.parsers.pip_requirement import read_pip
from gpuenv.adapt.parsers.pyproject import specifier_of
from gpuenv.adapt.parsers.readme import FACTS, read_readme
from gpuenv.adapt.parsers.toml_spans import Key, toml_spans, value_at
from gpuenv.adapt.risks.code_text import parse_notebook
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.documents import load_toml

_IMAGE = re.compile(
    r"(?:^\s*FROM\s+(?:--\S+\s+)?|[\"']?image[\"']?\s*:\s*[\"']?|^\s*container:\s*[\"']?)"
    r"(?P<image>[\w.${}/:@+-]+)", re.MULTILINE | re.IGNORECASE,
)  # fmt: skip
_ARGUMENT = re.compile(r"^\s*ARG\s+(?P<name>\w+)=[\"']?(?P<value>[\w.+-]+)", re.MULTILINE | re.IGNORECASE)
_USE = re.compile(r"\$\{?(?P<name>\w+)\}?")
# what a tag says: `pytorch/pytorch:1.7.1-cuda11.0-cudnn8-devel`, `nvidia/cuda:11.3.1-…`, `python:3.8-slim`
_OF_TORCH = re.compile(r"(?:.*/)?pytorch/pytorch:(?P<torch>\d+\.\d+(?:\.\d+)?)-cuda(?P<cuda>\d+\.\d+)")
_OF_CUDA = re.compile(r"(?:.*/)?nvidia/cuda:(?P<cuda>\d+\.\d+)")
_OF_PYTHON = re.compile(r"(?:.*/)?python:(?P<python>3\.\d+)")
_PYTHON_IN_CI = re.compile(r"python-version['\"]?:\s*\[?\s*['\"]?(?P<python>3\.\d+)")
_STACK_LINE = re.compile(
    r"^\s*(?:deps\s*=\s*)?(?P<text>(?:torch|torchvision|torchaudio)\s*(?:[=<>!~]=?[^\s#]*))", re.MULTILINE
)
_SHELL = ("!", "%")


def read_container(file: DependencyFile) -> ParsedFile:
    """Read the image that a file begins with, and its install commands; nothing is raised."""
    collector = Collector(file, hint=True)
    commands = read_readme(file)
    collector.declared += commands.declared
    collector.warnings += commands.warnings
    arguments = {match["name"]: match["value"] for match in _ARGUMENT.finditer(file.text)}
    for match in _IMAGE.finditer(file.text):
        image = _USE.sub(lambda use: arguments.get(use["name"], ""), match["image"])
        for project, requirement in _said_by(image):
            _add(collector, project, requirement, *match.span("image"))
    python = _PYTHON_IN_CI.search(file.text)
    if python:
        _add(collector, "python", f"=={python['python']}.*", *python.span("python"))
    return collector.result()


def _said_by(image: str) -> Iterator[tuple[str, str]]:
    torch, cuda, python = _OF_TORCH.match(image), _OF_CUDA.match(image), _OF_PYTHON.match(image)
    if torch:
        release = torch["torch"] if torch["torch"].count(".") == 2 else f"{torch['torch']}.*"  # noqa: PLR2004
        yield "torch", f"torch=={release}"
        yield "cuda", torch["cuda"]
    elif cuda:
        yield "cuda", cuda["cuda"]
    elif python:
        yield "python", f"=={python['python']}.*"


def _add(collector: Collector, project: str, requirement: str, start: int, end: int) -> None:
    """Note what is said first of a project."""
    if all(item.project != project for item in collector.declared):
        collector.take(project, requirement, start, end)


def read_tox(file: DependencyFile) -> ParsedFile:
    """Read the lines of a tox.ini that name torch with a version."""
    collector = Collector(file, hint=True)
    for match in _STACK_LINE.finditer(file.text):
        read = read_pip(collector.bounded(match["text"], match.start("text")))
        if read.project in STACK and read.requirement is not None:
            _add(collector, read.project, read.requirement, *match.span("text"))
    return collector.result()


def read_cog(file: DependencyFile) -> ParsedFile:
    """Read Cog's `build`: python_version, cuda, python_packages, run; raise ValueError for no YAML."""
    collector = Collector(file, hint=True)
    builds = [
        value for key, value in compose(file.text).value if key.value == "build" and value.id == "mapping"
    ]
    for key, node in (entry for build in builds[:1] for entry in build.value):
        if key.value == "python_version" and node.id == "scalar":
            _add(collector, "python", f"=={'.'.join(node.value.split('.')[:2])}.*", *_span(node))
        elif key.value == "cuda" and node.id == "scalar":
            _add(collector, "cuda", ".".join(node.value.split(".")[:2]), *_span(node))
        elif key.value == "python_packages" and node.id == "sequence":
            for item in node.value:
                read = read_pip(collector.bounded(str(item.value), item.start_mark.index))
                if read.project is not None and read.requirement is not None:
                    _add(collector, read.project, read.requirement, *_span(item))
    named = {item.project for item in collector.declared}
    declared = [replace(item, hint=item.project in FACTS) for item in collector.declared]
    commands = read_readme(file)
    collector.declared = [*declared, *(item for item in commands.declared if item.project not in named)]
    collector.warnings += commands.warnings
    return collector.result()


def _span(node: Any) -> tuple[int, int]:
    quote = node.style in ("'", '"')
    return node.start_mark.index + quote, node.end_mark.index - quote


def read_notebook(file: DependencyFile) -> ParsedFile:
    """Read the shell lines of a notebook's code; raise ValueError for what is none.

    All else of the file is blanked out, so that places stay those of the file.
    """
    kept: list[tuple[int, int]] = []
    at = 0
    for _, code in parse_notebook(file.text):
        for line in code.splitlines():
            written = json.dumps(line, ensure_ascii=False)[1:-1]
            start = file.text.find(written, at) if line.strip().startswith(_SHELL) else -1
            if start >= 0:
                at = start + len(written)
                kept.append((start, at))
    pieces: list[str] = []
    at = 0
    for start, end in kept:
        blank = re.sub(r"[^\n]", " ", file.text[at:start])
        if at and "\n" not in blank:  # the lines of a cell may stand in one of the file
            blank = f";{blank[1:]}"
        pieces += (blank, file.text[start:end].replace('\\"', ' "'))
        at = end
    pieces.append(re.sub(r"[^\n]", " ", file.text[at:]))
    return read_readme(DependencyFile(file.path, file.kind, "".join(pieces)))


def read_pipfile(file: DependencyFile) -> ParsedFile:
    """Read a Pipfile; raise ValueError for no TOML."""
    document, spans = load_toml(file.text.removeprefix("\ufeff")), toml_spans(file.text)
    collector = Collector(file, hint=True)
    python: Key = ("requires", "python_version")
    if isinstance(value_at(document, python), str):
        _add(collector, "python", f"=={value_at(document, python)}.*", spans[python].start, spans[python].end)
    for name in STACK:
        for key in (("packages", name), ("packages", name, "version")):
            said = value_at(document, key)
            specifier = specifier_of(said) if isinstance(said, str) else None
            if specifier is not None and key in spans:
                _add(collector, name, f"{name}{specifier}", spans[key].start, spans[key].end)
    return collector.result()


def read_python_version(file: DependencyFile) -> ParsedFile:
    """Read `.python-version` (3.8.10) or `runtime.txt` (python-3.8.10)."""
    collector = Collector(file, hint=True)
    match = re.match(r"\s*(?:python-)?(?P<python>3\.\d{1,2})(?:\.\d+)?\s*$", file.text)
    if match:
        collector.take("python", f"=={match['python']}.*", *match.span("python"))
    return collector.result()
