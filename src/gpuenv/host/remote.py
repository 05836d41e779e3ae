"""Describe a remote machine from its facts (`gpuenv.node.facts`), with the readers of this one."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Literal

from msgspec import Struct

from gpuenv.host.combine import Software, machine_of
from gpuenv.host.merge import KnowledgeSource
from gpuenv.host.nvidia.hardware import hardware_of
from gpuenv.host.nvidia.smi import Missing, SmiAnswer, converse
from gpuenv.host.software.cuda_toolkit import FoundToolkit, toolkit_of
from gpuenv.host.system import UNAME, Calls, describe_system
from gpuenv.i18n.messages import tr
from gpuenv.model.json_fields import Fields
from gpuenv.model.machine import FoundManager, FoundPython, Machine, Problem
from gpuenv.process.subprocesses import Completed

_VERSION = re.compile(r"\d{1,2}\.\d{1,3}\.\d{1,3}")
_MOST_FILES = 20_000


def parse_told(answer: object, knowledge: KnowledgeSource) -> Machine:
    """Parse the facts of a remote machine; raise ValueError that names the field.

    {"platform": "linux", "architecture": "x86_64", "libc": "glibc 2.31", "musl": null, "environ": {},
     "files": {"proc/driver/nvidia/version": "NVRM version: ...", "dev/nvidiactl": null},
     "links": {"sys/bus/pci/devices/0000:01:00.0/driver": "../../../bus/pci/drivers/nvidia"},
     "nvidia_smi": {"program": "/usr/bin/nvidia-smi", "limit_s": 30.0, "calls": [{"arguments": ["-L"],
     "returncode": 0, "stdout": "...", "stderr": "", "timed_out": false, "error": null}]},
     "toolkit": null, "tools": {"uv": "/usr/bin/uv"},
     "pythons": [{"version": "3.11.2", "path": "/usr/bin/python3.11", "venv": true, "ensurepip": false}]}

    Its Pythons are those that can create an environment, as gpuenv installs none there; the others are
    `problems`. NVML is not used there.
    """
    fields = Fields(answer)
    environ = {name: text for name, text in fields.texts("environ").items() if text is not None}
    tree = _tree(fields)
    system = describe_system(_calls(fields), environ, tree)
    hardware = hardware_of(_smi_answer(fields), tree, system[0], lambda: None)
    software = _software(fields)
    return machine_of(system, hardware, lambda: software, environ, knowledge, tree, _run_nothing)


def _run_nothing(name: str, *arguments: str, timeout_s: float) -> None:
    """Programs of other vendors are not run on other machines: their devices are told by files alone."""


def _calls(fields: Fields) -> Calls:
    musl = fields.child("musl")
    return Calls(
        platform=fields.text("platform"),
        architecture=fields.text("architecture"),
        architecture_source=UNAME,
        libc=fields.optional_text("libc"),
        loader=musl.text("loader") if musl else None,
        musl=completed_of(musl.required_child("ended")).stderr if musl else "",
    )


def completed_of(fields: Fields) -> Completed:
    """Return the result of a program on a remote machine."""
    return Completed(
        fields.optional_number("returncode"),
        fields.optional_text("stdout") or "",
        fields.optional_text("stderr") or "",
        timed_out=fields.flag("timed_out", default=False),
        error=fields.optional_text("error"),
    )


# files


class _RemotePath(Struct, frozen=True):
    """A path on a remote machine; `files` are texts by path, None for those that merely exist."""

    files: Mapping[str, str | None]
    links: Mapping[str, str]
    path: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def __truediv__(self, part: str, /) -> _RemotePath:
        return _RemotePath(self.files, self.links, f"{self.path}/{part}".strip("/"))

    def is_file(self) -> bool:
        return self.files.get(self.path) is not None

    def exists(self) -> bool:
        return self.path in self.files or any(True for _ in self._inside())

    def iterdir(self) -> Iterable[_RemotePath]:
        names = dict.fromkeys(path.partition("/")[0] for path in self._inside())
        if not names:
            raise FileNotFoundError(self.path)
        return [self / name for name in names]

    def _inside(self) -> Iterator[str]:
        start = f"{self.path}/"
        return (path.removeprefix(start) for path in self.files if path.startswith(start))

    def readlink(self) -> _RemotePath:
        if self.path not in self.links:
            raise FileNotFoundError(self.path)
        return _RemotePath(self.files, self.links, self.links[self.path])

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        del mode
        return io.BytesIO((self.files[self.path] or "").encode("utf-8", errors="replace"))


def _tree(fields: Fields) -> _RemotePath:
    files = fields.texts("files")
    if len(files) > _MOST_FILES:
        raise ValueError(tr("`files` has {count} entries", count=len(files)))
    links = {path: text for path, text in fields.texts("links").items() if text is not None}
    return _RemotePath(files, links)


# nvidia-smi


class _RemoteSmi(Struct, frozen=True):
    """The results of a remote nvidia-smi by its arguments."""

    calls: Mapping[tuple[str, ...], Completed]

    def call(self, *arguments: str) -> Completed:
        return self.calls.get(arguments) or Completed(None, "", "", error=tr("it was not queried"))


def _smi_answer(fields: Fields) -> SmiAnswer:
    smi = fields.child("nvidia_smi")
    if smi is None:
        return Missing()
    calls = {call.words("arguments"): completed_of(call) for call in smi.children("calls")}
    return converse(_RemoteSmi(calls), smi.seconds("limit_s"))


# software


def _software(fields: Fields) -> Software:
    tools = {name: path for name, path in fields.texts("tools").items() if path}
    read = [_python(item, uv="uv" in tools) for item in fields.children("pythons")]
    pythons = tuple(python for python in read if isinstance(python, FoundPython))
    pip = (FoundManager("pip", pythons[0].path),) if pythons else ()
    managers = (*(FoundManager(name, path) for name, path in tools.items()), *pip)
    toolkit, source, problems = _toolkit(fields.child("toolkit"))
    unfit = tuple(problem for problem in read if isinstance(problem, Problem))
    return (toolkit, source, (*problems, *unfit)), managers, pythons


def _python(fields: Fields, *, uv: bool) -> FoundPython | Problem | None:
    """Return a Python that can create environments, by itself or with uv, a problem, or None for others."""
    path = fields.text("path")
    version = fields.optional_parsed("version", _parse_version, "3.11.2")
    is_supported = (
        fields.optional_text("implementation") == "cpython"
        and fields.flag("release", default=True)
        and not fields.flag("virtual", default=False)
    )
    free_threaded = fields.flag("free_threaded", default=False)
    has_pip = fields.flag("venv", default=False) and fields.flag("ensurepip", default=False)
    if version is None:
        message = tr("`{path}` does not report its version: reinstall it", path=path)
        return Problem("python-unreadable", message)
    if not is_supported:
        return None
    if uv or has_pip:
        return FoundPython(version, path, free_threaded=free_threaded)
    facts = {"version": version, "path": path, "short": ".".join(version.split(".")[:2])}
    message = tr(
        "Python {version} at `{path}` cannot create environments: install `python{short}-venv`, or uv",
        **facts,
    )
    return Problem("python-without-venv", message)


def _parse_version(text: str) -> str:
    if not _VERSION.fullmatch(text) or not text.isascii():
        raise ValueError(tr("`{text}` does not match", text=text))
    return text


def _toolkit(fields: Fields | None) -> FoundToolkit:
    if fields is None:
        return None, "", ()
    folder = fields.text("folder")
    texts = {f"{folder}/{name}": text for name, text in fields.texts("texts").items()}
    ended = fields.child("ended")
    return toolkit_of(fields.text("nvcc"), texts, lambda: completed_of(ended).stdout if ended else "")
