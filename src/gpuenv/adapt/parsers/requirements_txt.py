r"""A requirements file, with the place of all that it asks for.

-f https://download.example/whl/torch_stable.html
torch==1.7.1+cu110  # the paper's
numpy==1.19.5 \
    --hash=sha256:012426a41bc9ab63bb158635aecccc7610e3eff5d31d1eb43bc099debc979d94
-r more.txt

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, MoreKind, ParsedFile, not_understood, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.adapt.parsers.pip_requirement import PipLine, read_editable, read_pip
from gpuenv.i18n.messages import N_, tr

_COMMENT = re.compile(r"(?:^|\s)#")
_GOES_ON = " \t\f\v\r\n\\"
_COMMENT_LINE = re.compile(r"\s*#")
# an option and its value: `-f URL`, `-fURL`, `--find-links=URL`; a blank stands in front, or the line begins
_OPTION = re.compile(
    r"(?<!\S)(?:(?P<short>-[rcefi])\s*=?\s*|(?P<long>--[a-z][a-z-]*)(?:\s*=\s*|\s+|$)|(?P<other>-\S*))"
    r"(?P<value>\"[^\"]+\"|'[^']+'|[^\s-]\S*)?"
)
_OPTIONS = re.compile(r"(?<!\s)\s+--?[a-zA-Z]")  # where a requirement's own options begin
_FILES: dict[str, MoreKind] = {
    "-r": "requirements",
    "--requirement": "requirements",
    "-c": "constraints",
    "--constraint": "constraints",
}
_INDEXES = ("-f", "--find-links", "-i", "--index-url", "--pypi-url", "--extra-index-url")
_EDITABLE = ("-e", "--editable")
# they belong to the requirement in front of them, which keeps them
_OWN = ("--hash", "--config-settings", "--config-setting", "--global-option", "--install-option")
# `conda list --export`: numpy=1.19.2=py38h54aff64_0
_EXPORTED = re.compile(r"[A-Za-z0-9_][\w.-]*=[^=\s<>!~]+(?:=[^=\s]+)?")


def read_requirements(file: DependencyFile, *, constraint: bool = False) -> ParsedFile:
    """Read a requirements file, one of constraints too; what is not understood is told.

    Raises ValueError for one that asks for more than anybody does.
    """
    collector = Collector(file, constraint=constraint)
    if re.search(r"^@EXPLICIT\s*$", file.text, re.MULTILINE):
        collector.tell(0, tr("it lists conda packages by URL, which cannot be adapted"))
        return collector.result()
    for start, end in _logical_lines(file.text):
        read_line(collector, start, end)
    hashed = next((declared for declared in collector.declared if "--hash" in declared.text), None)
    if hashed is not None:
        text = tr("the file pins hashes: pip rejects a changed line until its hashes are updated")
        collector.tell(hashed.start, text)
    return collector.result()


def _logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each line stands, continued ones joined, without its comment and the blanks around it."""
    at = 1 if text.startswith("\ufeff") else 0
    start = at
    for line in text[at:].splitlines(keepends=True):
        end = at + len(line)
        bare = line.rstrip("\r\n")
        if not bare.endswith("\\") or _COMMENT_LINE.match(bare):
            yield from _trimmed(text, start, end)
            start = end
        at = end
    yield from _trimmed(text, start, at)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    raw = text[start:end]
    comment = _COMMENT.search(raw)
    # a backslash at the end goes on, into nothing
    bare = (raw[: comment.start()] if comment else raw).rstrip(_GOES_ON)
    start += len(bare) - len(bare.lstrip())
    if bare:
        yield start, start + len(bare.lstrip())


def read_line(collector: Collector, start: int, end: int) -> None:
    """Read the requirement or the options between two places of a file's text."""
    raw = _joined(collector.file.text[start:end])
    if not collector.is_bounded(raw, start):
        return
    own = None if raw.startswith("-") else _OPTIONS.search(raw)
    options = list(_OPTION.finditer(raw, own.start() if own else 0)) if own or raw.startswith("-") else []
    kept = [option for option in options if _name(option) in _OWN]
    others = [option for option in options if option not in kept]
    if raw.startswith("-"):
        for option in options:
            _read_option(collector, option, start, end if len(options) == 1 else None)
        return
    for option in others:
        _read_option(collector, option, start, None)
    if others:
        end = start + len(raw[: others[0].start()].rstrip())
    _read_requirement(collector, raw[: own.start()] if own else raw, start, end)


def _joined(raw: str) -> str:
    """Return continued lines as one of the same length, so that places stay what they are."""
    return re.sub(r"\\(\r?\n)", lambda end: " " * len(end[0]), raw)


def _name(option: re.Match[str]) -> str:
    return option["short"] or option["long"] or option["other"]


def _read_option(collector: Collector, option: re.Match[str], base: int, end: int | None) -> None:
    name, value = _name(option), (option["value"] or "").strip("'\"")
    start, end = base + option.start(), base + option.end() if end is None else end
    if name in _INDEXES and value:
        collector.take("index", value, start, end)
    elif name in _FILES and value:
        collector.follow(value, _FILES[name], start)
    elif name in _EDITABLE and value:
        _take(collector, read_editable(value), start, end)
    else:
        template = N_("`{option}` is an option of pip's, which is left unchanged and does not count here")
        collector.tell(start, tr(template, option=shown(option[0].strip())))


def _read_requirement(collector: Collector, bare: str, start: int, end: int) -> None:
    if _EXPORTED.fullmatch(bare):
        read_conda(collector, bare, start, end)
    else:
        _take(collector, read_pip(bare.strip()), start, end)


def _take(collector: Collector, read: PipLine, start: int, end: int) -> None:
    if read.folder is not None:
        _follow_project(collector, read.folder, start, end)
    if read.warning is not None:
        collector.tell(start, read.warning)
    if read.project is not None:
        collector.take(read.project, read.requirement, start, end)


def _follow_project(collector: Collector, folder: str, start: int, end: int) -> None:
    """Have the files of a project beside the file read; it is not among what a plan installs."""
    text = collector.file.text[start:end]
    own = posixpath.normpath(posixpath.join(posixpath.dirname(collector.file.path), folder))
    editable = ("-e",) if text.startswith("-") else ()
    command = shlex.join(("pip", "install", *editable, own))
    template = N_("`{text}` is not installed with the others: run `{command}` in the environment")
    collector.tell(start, tr(template, text=shown(text), command=shown(command)))
    collector.follow(folder, "project", start)


def take_requirement(collector: Collector, text: str, start: int, end: int) -> None:
    """Note a requirement that stands in quotes somewhere: PEP 621's, setuptools'."""
    read = read_pip(collector.bounded(text.strip(), start))
    if read.folder is not None:
        collector.tell(start, not_understood(text))
        return
    _take(collector, read, start, end)
