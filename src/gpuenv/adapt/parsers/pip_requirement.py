"""One requirement as pip reads it: by its name, an address, a path."""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

from gpuenv.adapt.parsers.collector import not_understood, shown
from gpuenv.i18n.messages import tr
from gpuenv.resolution.request import STACK
from gpuenv.untrusted.bounds import check_wheel_name

_LONGEST = 4000  # characters: addresses are long, requirements are not
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)
_ADDRESS = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?[a-z][a-z+]*://|git@|file:", re.IGNORECASE)
_VERSIONED = re.compile(r"(?:git|hg|svn|bzr)\+[a-z]+:", re.IGNORECASE)
_EGG = re.compile(r"[#&]egg=(?P<name>[A-Za-z0-9][\w.-]*)(?P<extras>\[[\w.,\s-]*\])?")
_SUBDIRECTORY = re.compile(r"[#&]subdirectory=")
# https://git.example/ada/paper/archive/refs/heads/main.zip
_SNAPSHOT = re.compile(r"://[^/]+/[^/]+/(?P<name>[^/]+)/(?:archive|zipball|tarball)/")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz", ".tar.xz")
# what old installers read and today's refuse: `>=1.3.2+ecbda83`, `>=1.0.*`
_LOCAL_BOUND = re.compile(r"(?P<bound>(?:[<>]=?|~=)\s*[\w.!-]+)\+[\w.]+")
_OPEN_BOUND = re.compile(r"(?P<bound>[<>]=?\s*\d+(?:\.\d+)*)\.\*")


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
        address, _, marker = text.partition("; ")
        return _address(address.partition(" ")[0], marker.strip())
    if _is_path(text):
        return _local(text)
    try:
        return _named(Requirement(text), text)
    except InvalidRequirement:
        return _as_once_read(text)


def read_editable(text: str) -> PipLine:
    """Read what follows `-e`: an address, or a path, of which `-e detectron2` is one too."""
    if _ADDRESS.match(text) or " @ " in text:
        return read_pip(text)
    return PipLine(folder=_path_in(text))


def _is_path(text: str) -> bool:
    bare = text.partition(";")[0].partition("[")[0].strip()
    is_file = "@" not in text and bare.lower().endswith(_ARCHIVES)
    looks_so = bare.endswith((".", "/", "\\")) or bare.startswith(("./", "../", ".\\", "/", "~"))
    return is_file or looks_so or ("/" in bare and "@" not in bare) or bare in (".", "..")


def _path_in(text: str) -> str:
    return text.partition(";")[0].partition("[")[0].strip()


def _as_once_read(text: str) -> PipLine:
    """Read what old installers took: a bound with a local version, or with a star."""
    read = _OPEN_BOUND.sub(r"\g<bound>", _LOCAL_BOUND.sub(r"\g<bound>", text))
    name = _NAME.match(text)
    try:
        requirement = str(Requirement(read)) if read != text else ""
    except InvalidRequirement:
        requirement = ""
    if not requirement or name is None:
        return PipLine(canonicalize_name(name[0]) if name else None, None, not_understood(text))
    message = tr("`{text}` is read as `{read}`", text=shown(text), read=shown(requirement))
    return PipLine(canonicalize_name(name[0]), requirement, message)


def _named(requirement: Requirement, text: str) -> PipLine:
    project = canonicalize_name(requirement.name)
    url = requirement.url
    marker = str(requirement.marker or "")
    if wheel := _compiled_wheel(url or "", project, marker):
        return wheel
    if url is None or not url.startswith("file:"):
        return PipLine(project, str(requirement))
    requirement.url = None
    message = tr("`{text}` is a directory on another machine: its version is not known", text=shown(text))
    return PipLine(project, str(requirement), message)


def _address(url: str, marker: str = "") -> PipLine:
    if wheel := _compiled_wheel(url, marker=marker):
        return wheel
    plain = re.split(r"[#?]", url, maxsplit=1)[0]
    if plain.lower().startswith("file:") and not plain.lower().endswith(_ARCHIVES):
        return PipLine(folder=unquote(plain[len("file:") :].removeprefix("//")))
    egg = _EGG.search(url)
    project = egg["name"] if egg else _name_in(url)
    if project is None:
        template = tr("`{text}` does not say which project it is and is left unchanged", text=shown(url))
        return PipLine(warning=template)
    extras = (egg["extras"] or "") if egg else ""
    text = f"{project}{extras} @ {url}"
    try:
        requirement = str(Requirement(f"{text} ; {marker}" if marker else text))
    except InvalidRequirement:
        return PipLine(canonicalize_name(project), None, not_understood(url))
    return PipLine(canonicalize_name(project), requirement)


def _compiled_wheel(url: str, project: str | None = None, marker: str = "") -> PipLine | None:
    """Return the requirement for a wheel that only some Pythons and systems can use, or of torch's stack.

    Such a wheel was chosen for another machine; pure ones work wherever they are required.
    """
    filename = unquote(re.split(r"[#?]", url, maxsplit=1)[0]).replace("\\", "/").rpartition("/")[2]
    try:
        name, version, _, tags = parse_wheel_filename(check_wheel_name(filename))
    except ValueError:
        return None
    if all(tag.platform == "any" for tag in tags) and name not in STACK:
        return None
    named = project or str(name)
    if name in STACK:
        text, message = f"{named}=={version}", None
    else:  # a local version tells what it was built with: `2.5.0+cu118torch2.1cxx11abiFALSE`
        text = f"{named}=={version.public}"
        message = tr("`{text}` is a wheel for another machine: it is read as `{read}`",
                     text=shown(filename), read=text)  # fmt: skip
    try:
        return PipLine(named, str(Requirement(f"{text} ; {marker}")) if marker else text, message)
    except InvalidRequirement:
        return PipLine(named, None, not_understood(f"{filename} ; {marker}"))


def _name_in(url: str) -> str | None:
    """Return what an address is of: `…/NVIDIA/apex.git@22.04` gives `apex`; None where it does not tell.

    A folder of a repository may be a project of any name.
    """
    path = re.split(r"[#?]", url, maxsplit=1)[0]
    last = unquote(path).rstrip("/").replace(":", "/").rpartition("/")[2]
    if _SUBDIRECTORY.search(url):
        return None
    if not _VERSIONED.match(url) and not url.startswith("git@"):
        return _name_of_archive(path, last)
    match = _NAME.fullmatch(last.partition("@")[0].removesuffix(".git"))
    return match[0] if match else None


def _name_of_archive(path: str, filename: str) -> str | None:
    snapshot = _SNAPSHOT.search(path)
    if snapshot:
        return snapshot["name"] if _NAME.fullmatch(snapshot["name"]) else None
    try:
        if filename.endswith(".whl"):
            return str(parse_wheel_filename(check_wheel_name(filename))[0])
        return str(parse_sdist_filename(check_wheel_name(filename))[0])
    except ValueError:
        return None


def _local(text: str) -> PipLine:
    path, _, marker = text.partition(";")
    path = path.strip()
    if wheel := _compiled_wheel(path, marker=marker.strip()):
        return wheel
    if path.lower().endswith(_ARCHIVES):
        return PipLine(warning=tr("`{text}` is a file next to it and is left unchanged", text=shown(path)))
    return PipLine(folder=_path_in(path))
