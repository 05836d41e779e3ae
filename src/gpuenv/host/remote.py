"""Read what a machine elsewhere told of itself (`gpuenv.node.facts`): as on this machine, from texts."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

from gpuenv.host.detect import Software, machine_of
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
    """Parse what a machine told; raise ValueError that names the field.

    {"platform": "linux", "architecture": "x86_64", "libc": "glibc 2.31", "musl": null, "environ": {},
     "files": {"proc/driver/nvidia/version": "NVRM version: ...", "dev/nvidiactl": null},
     "links": {"sys/bus/pci/devices/0000:01:00.0/driver": "../../../bus/pci/drivers/nvidia"},
     "nvidia_smi": {"program": "/usr/bin/nvidia-smi", "limit_s": 30.0, "calls": [{"arguments": ["-L"],
     "returncode": 0, "stdout": "...", "stderr": "", "timed_out": false, "error": null}]},
     "toolkit": null, "tools": {"uv": "/usr/bin/uv"},
     "pythons": [{"version": "3.11.2", "path": "/usr/bin/python3.11", "venv": true, "ensurepip": false}]}

    Its Pythons are those that can make an environment, as nothing is brought to it; of the others `problems`
    tells. NVML is not asked there.
    """
    fields = Fields(answer)
    environ = {name: text for name, text in fields.texts("environ").items() if text is not None}
    tree = _tree(fields)
    system = describe_system(_calls(fields), environ, tree)
    hardware = hardware_of(_smi_answer(fields), tree, system[0], lambda: None)
    software = _software(fields)
    return machine_of(system, hardware, lambda: software, environ, knowledge, tree)


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
    """Return what a program left on a machine elsewhere."""
    return Completed(
        fields.optional_number("returncode"),
        fields.optional_text("stdout") or "",
        fields.optional_text("stderr") or "",
        timed_out=fields.flag("timed_out", default=False),
        error=fields.optional_text("error"),
    )


# files


@dataclass(frozen=True, slots=True)
class _Told:
    """A path among the files that were told: texts by their paths, None for what is merely there."""

    files: Mapping[str, str | None]
    links: Mapping[str, str]
    path: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def __truediv__(self, part: str, /) -> _Told:
        return _Told(self.files, self.links, f"{self.path}/{part}".strip("/"))

    def is_file(self) -> bool:
        return self.files.get(self.path) is not None

    def exists(self) -> bool:
        return self.path in self.files or any(True for _ in self._inside())

    def iterdir(self) -> Iterable[_Told]:
        names = dict.fromkeys(path.partition("/")[0] for path in self._inside())
        if not names:
            raise FileNotFoundError(self.path)
        return [self / name for name in names]

    def _inside(self) -> Iterator[str]:
        start = f"{self.path}/"
        return (path.removeprefix(start) for path in self.files if path.startswith(start))

    def readlink(self) -> _Told:
        if self.path not in self.links:
            raise FileNotFoundError(self.path)
        return _Told(self.files, self.links, self.links[self.path])

    def open(self, mode: Literal["rb"]) -> BinaryIO:
        del mode
        return io.BytesIO((self.files[self.path] or "").encode("utf-8", errors="replace"))


def _tree(fields: Fields) -> _Told:
    files = fields.texts("files")
    if len(files) > _MOST_FILES:
        raise ValueError(tr("`files` has {count} entries", count=len(files)))
    links = {path: text for path, text in fields.texts("links").items() if text is not None}
    return _Told(files, links)


# nvidia-smi


@dataclass(frozen=True, slots=True)
class _ToldSmi:
    """The answers of a machine's nvidia-smi, by the arguments it was called with."""

    calls: Mapping[tuple[str, ...], Completed]

    def call(self, *arguments: str) -> Completed:
        return self.calls.get(arguments) or Completed(None, "", "", error=tr("it was not queried"))


def _smi_answer(fields: Fields) -> SmiAnswer:
    reported = fields.child("nvidia_smi")
    if reported is None:
        return Missing()
    calls = {call.words("arguments"): completed_of(call) for call in reported.children("calls")}
    return converse(_ToldSmi(calls), reported.seconds("limit_s"))


# software


def _software(fields: Fields) -> Software:
    tools = {name: path for name, path in fields.texts("tools").items() if path}
    requested = tuple(_Python.of(item) for item in fields.children("pythons"))
    pythons = tuple(python.found for python in requested if python.found and python.is_able(uv="uv" in tools))
    pip = (FoundManager("pip", pythons[0].path),) if pythons else ()
    managers = (*(FoundManager(name, path) for name, path in tools.items()), *pip)
    toolkit, source, problems = _toolkit(fields.child("toolkit"))
    unfit = tuple(
        python.problem for python in requested if not (python.found and python.is_able(uv="uv" in tools))
    )
    return (toolkit, source, (*problems, *filter(None, unfit))), managers, pythons


@dataclass(frozen=True, slots=True)
class _Python:
    """What a Python told; `found` is None of one that told nothing, or that environments can't be made of."""

    path: str
    found: FoundPython | None
    answered: bool
    brings_pip: bool

    @classmethod
    def of(cls, fields: Fields) -> _Python:
        path = fields.text("path")
        version = fields.optional_parsed("version", _parse_version, "3.11.2")
        is_one = (
            fields.optional_text("implementation") == "cpython"
            and fields.flag("release", default=True)
            and not fields.flag("virtual", default=False)
        )
        free_threaded = fields.flag("free_threaded", default=False)
        python = FoundPython(version, path, free_threaded=free_threaded) if version and is_one else None
        brings_pip = fields.flag("venv", default=False) and fields.flag("ensurepip", default=False)
        return cls(path, python, version is not None, brings_pip)

    def is_able(self, *, uv: bool) -> bool:
        """Whether it can make an environment; uv brings what pip would need."""
        return uv or self.brings_pip

    @property
    def problem(self) -> Problem | None:
        if not self.answered:
            message = tr("`{path}` does not report its version: reinstall it", path=self.path)
            return Problem("python-unreadable", message)
        return self._without_venv(self.found) if self.found else None

    def _without_venv(self, python: FoundPython) -> Problem:
        short = ".".join(python.version.split(".")[:2])
        message = tr(
            "Python {version} at `{path}` cannot create environments: install `python{short}-venv`, or uv",
            version=python.version,
            path=self.path,
            short=short,
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
