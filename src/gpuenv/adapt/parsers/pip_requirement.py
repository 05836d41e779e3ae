"""One requirement as pip reads it in a requirements file: PEP 508, a wheel's address, a checkout's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuenv.adapt.parsers.collector import shown
from gpuenv.i18n.messages import tr
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.bounds import check_wheel_name

_LONGEST = 4000  # characters: addresses are long, requirements are not
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?[a-z][a-z+]*://|git@|file:", re.IGNORECASE)
_EGG = re.compile(r"[#&]egg=(?P<name>[A-Za-z0-9][\w.-]*)")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz", ".tar.xz")


@dataclass(frozen=True, slots=True)
class PipLine:
    """A requirement as read: `project` canonical, `requirement` PEP 508 or None where it is not understood.

    `told` says what was not understood or left out; `folder` is that of a project that lies beside the file.
    """

    project: str | None = None
    requirement: str | None = None
    told: str | None = None
    folder: str | None = None


def read_pip(text: str) -> PipLine:
    """Read one requirement without its options; whatever it is, nothing is raised.

    torch==1.7.1+cu110; sys_platform == "linux"
    https://index.example/whl/cu113/torch-1.11.0%2Bcu113-cp38-cp38-linux_x86_64.whl
    numpy @ file:///croot/numpy_and_numpy_base_1620831194891
    git+https://git.example/openai/CLIP.git#egg=clip
    """
    if len(text) > _LONGEST:
        return PipLine(told=_unknown(text))
    if _ADDRESS.match(text):
        return _address(text.partition(" ")[0])
    if (
        text.endswith((".", "/", "\\"))
        or text.startswith(("./", "../", ".\\", ".[", "/", "~"))
        or _is_file(text)
    ):
        return _local(text)
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return _not_understood(text)
    return _named(requirement, text)


def _is_file(text: str) -> bool:
    return "@" not in text and text.partition(";")[0].strip().lower().endswith(_ARCHIVES)


def _not_understood(text: str) -> PipLine:
    match = _NAME.match(text)
    if match is None:
        return PipLine(told=_unknown(text))
    return PipLine(canonicalize_name(match[0]), None, _unknown(text))


def _unknown(text: str) -> str:
    return tr("`{text}` is not understood and is left unchanged", text=shown(text))


def _named(requirement: Requirement, text: str) -> PipLine:
    project = canonicalize_name(requirement.name)
    url = requirement.url
    if url is None:
        return PipLine(project, str(requirement))
    wheel = _compiled_wheel(url)
    if wheel is not None:
        return PipLine(project, f"{project}=={wheel[1]}")
    if not url.startswith("file:"):
        return PipLine(project, str(requirement))
    requirement.url = None
    message = tr("`{text}` is a directory on another machine: its version is not known", text=shown(text))
    return PipLine(project, str(requirement), message)


def _address(url: str) -> PipLine:
    wheel = _compiled_wheel(url)
    if wheel is not None:
        return PipLine(wheel[0], f"{wheel[0]}=={wheel[1]}")
    name = _EGG.search(url)
    project = name["name"] if name else _name_in(url)
    if project is None:
        return PipLine(told=_unknown(url))
    try:
        requirement = str(Requirement(f"{project} @ {url}"))
    except InvalidRequirement:
        return PipLine(canonicalize_name(project), None, _unknown(url))
    return PipLine(canonicalize_name(project), requirement)


def _compiled_wheel(url: str) -> tuple[str, str] | None:
    """Return project and version of a wheel that only some Pythons and systems can use, or of torch's stack.

    Such a wheel was chosen for the machine it was left on; pure ones go wherever they are asked for.
    """
    filename = unquote(re.split(r"[#?]", url, maxsplit=1)[0]).replace("\\", "/").rpartition("/")[2]
    try:
        name, version, _, tags = parse_wheel_filename(check_wheel_name(filename))
    except ValueError:
        return None
    compiled = any(tag.platform != "any" for tag in tags)
    return (str(name), str(version)) if compiled or name in STACK else None


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
    wheel = _compiled_wheel(path)
    if wheel is not None:
        return PipLine(wheel[0], f"{wheel[0]}=={wheel[1]}")
    if path.lower().endswith(_ARCHIVES):
        return PipLine(told=tr("`{text}` is a file next to it and is left unchanged", text=shown(path)))
    return PipLine(folder=path.partition("[")[0])
