r"""A requirements file, with the place of all that it asks for.

-f https://download.example/whl/torch_stable.html
torch==1.7.1+cu110  # the paper's
numpy==1.19.5 \
    --hash=sha256:012426a41bc9ab63bb158635aecccc7610e3eff5d31d1eb43bc099debc979d94
-r more.txt

https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.adapt.model import DependencyFile
from gpuenv.adapt.parsers.collector import Collector, MoreKind, ParsedFile, not_understood, shown
from gpuenv.adapt.parsers.conda_spec import read_conda
from gpuenv.i18n.messages import tr
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.bounds import check_wheel_name

_LONGEST = 4000  # characters: addresses are long, requirements are not
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?[a-z][a-z+]*://|git@|file:", re.IGNORECASE)
_EGG = re.compile(r"[#&]egg=(?P<name>[A-Za-z0-9][\w.-]*)")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz", ".tar.xz")
_COMMENT = re.compile(r"(?:^|\s)#")
_GOES_ON = " \t\f\v\r\n\\"
_COMMENT_LINE = re.compile(r"\s*#")
# an option and its value: `-f URL`, `-fURL`, `--find-links=URL`; a blank stands in front, or the line begins
_OPTION = re.compile(
    r"(?<!\S)(?:(?P<short>-[rcefi])\s*=?\s*|(?P<long>--[a-z][a-z-]*)(?:\s*=\s*|\s+|$))(?P<value>[^\s-]\S*)?"
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
# `conda list --export`: numpy=1.19.2=py38h54aff64_0
_EXPORTED = re.compile(r"[A-Za-z0-9_][\w.-]*=[^=\s<>!~]+(?:=[^=\s]+)?")


class PipLine(Struct, frozen=True):
    """A requirement as read: `project` canonical, `requirement` PEP 508 or None where it is not understood.

    `warning` says what was not understood or left out; `folder` is that of a project beside the file.
    """

    project: str | None = None
    requirement: str | None = None
    warning: str | None = None
    folder: str | None = None


def read_pip(text: str) -> PipLine:
    """Read one requirement without its options; whatever it is, nothing is raised.

    torch==1.7.1+cu110; sys_platform == "linux"
    https://index.example/whl/cu113/torch-1.11.0%2Bcu113-cp38-cp38-linux_x86_64.whl
    numpy @ file:///croot/numpy_and_numpy_base_1620831194891
    git+https://git.example/openai/CLIP.git#egg=clip
    """
    if len(text) > _LONGEST:
        return PipLine(warning=not_understood(text))
    if _ADDRESS.match(text):
        return _address(text.partition(" ")[0])
    is_file = "@" not in text and text.partition(";")[0].strip().lower().endswith(_ARCHIVES)
    if is_file or text.endswith((".", "/", "\\")) or text.startswith(("./", "../", ".\\", ".[", "/", "~")):
        return _local(text)
    try:
        return _named(Requirement(text), text)
    except InvalidRequirement:
        name = _NAME.match(text)
        return PipLine(canonicalize_name(name[0]) if name else None, None, not_understood(text))


def _named(requirement: Requirement, text: str) -> PipLine:
    project = canonicalize_name(requirement.name)
    url = requirement.url
    if wheel := _compiled_wheel(url or "", project):
        return wheel
    if url is None or not url.startswith("file:"):
        return PipLine(project, str(requirement))
    requirement.url = None
    message = tr("`{text}` is a directory on another machine: its version is not known", text=shown(text))
    return PipLine(project, str(requirement), message)


def _address(url: str) -> PipLine:
    if wheel := _compiled_wheel(url):
        return wheel
    name = _EGG.search(url)
    project = name["name"] if name else _name_in(url)
    if project is None:
        return PipLine(warning=not_understood(url))
    try:
        requirement = str(Requirement(f"{project} @ {url}"))
    except InvalidRequirement:
        return PipLine(canonicalize_name(project), None, not_understood(url))
    return PipLine(canonicalize_name(project), requirement)


def _compiled_wheel(url: str, project: str | None = None) -> PipLine | None:
    """Return the requirement for a wheel that only some Pythons and systems can use, or of torch's stack.

    Such a wheel was chosen for another machine; pure ones work wherever they are required.
    """
    filename = unquote(re.split(r"[#?]", url, maxsplit=1)[0]).replace("\\", "/").rpartition("/")[2]
    try:
        name, version, _, tags = parse_wheel_filename(check_wheel_name(filename))
    except ValueError:
        return None
    compiled = any(tag.platform != "any" for tag in tags)
    named = project or str(name)
    return PipLine(named, f"{named}=={version}") if compiled or name in STACK else None


def _name_in(url: str) -> str | None:
    """Return what a repository is called: `…/NVIDIA/apex.git@22.04` gives `apex`."""
    path = re.split(r"[#?]", url, maxsplit=1)[0]
    last = path.rstrip("/").replace(":", "/").rpartition("/")[2].partition("@")[0]
    if "+" not in path.partition("://")[0] or last.lower().endswith(_ARCHIVES):
        return None
    match = _NAME.fullmatch(last.removesuffix(".git"))
    return match[0] if match else None


def _local(text: str) -> PipLine:
    path = text.partition(";")[0].strip()
    if wheel := _compiled_wheel(path):
        return wheel
    if path.lower().endswith(_ARCHIVES):
        return PipLine(warning=tr("`{text}` is a file next to it and is left unchanged", text=shown(path)))
    return PipLine(folder=path.partition("[")[0])


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
    raw = collector.file.text[start:end]
    if not raw.startswith("-"):
        _read_requirement(collector, start, end)
        return
    options = list(_OPTION.finditer(_joined(raw)))
    for option in options:
        _read_option(collector, option, start, start + len(raw) if len(options) == 1 else None)


def _joined(raw: str) -> str:
    """Return continued lines as one of the same length, so that places stay what they are."""
    return re.sub(r"\\(\r?\n)", lambda end: " " * len(end[0]), raw)


def _read_option(collector: Collector, option: re.Match[str], base: int, end: int | None) -> None:
    name, value = option["short"] or option["long"], (option["value"] or "").strip("'\"")
    start, end = base + option.start(), base + option.end() if end is None else end
    if name in _INDEXES and value:
        collector.take("index", value, start, end)
    elif name in _FILES and value:
        collector.follow(value, _FILES[name], start)
    elif name in _EDITABLE and value:
        _take(collector, read_pip(collector.bounded(value, start)), start, end)


def _read_requirement(collector: Collector, start: int, end: int) -> None:
    raw = _joined(collector.file.text[start:end])
    own = _OPTIONS.search(raw)
    bare = raw[: own.start()] if own else raw
    indexes = [match for match in _OPTION.finditer(raw) if (match["short"] or match["long"]) in _INDEXES]
    for option in indexes:
        _read_option(collector, option, start, None)
    if indexes:
        end = start + len(raw[: indexes[0].start()].rstrip())
    if _EXPORTED.fullmatch(bare):
        read_conda(collector, bare, start, end)
    else:
        _take(collector, read_pip(collector.bounded(bare.strip(), start)), start, end)


def _take(collector: Collector, read: PipLine, start: int, end: int) -> None:
    if read.folder is not None:
        collector.follow(read.folder, "project", start)
    if read.warning is not None:
        collector.tell(start, read.warning)
    if read.project is not None:
        collector.take(read.project, read.requirement, start, end)


def take_requirement(collector: Collector, text: str, start: int, end: int) -> None:
    """Note a requirement that stands in quotes somewhere: PEP 621's, setuptools'."""
    read = read_pip(collector.bounded(text.strip(), start))
    if read.folder is not None:
        collector.tell(start, not_understood(text))
        return
    _take(collector, read, start, end)
