"""The JSON form of a machine: the data of `gpuenv detect --json`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from packaging.version import InvalidVersion

from gpuenv.values.capability import ComputeCapability, parse_compute_capability
from gpuenv.values.driver import DriverVersion
from gpuenv.values.machine import (
    Driver,
    FoundManager,
    FoundPython,
    Gpu,
    Machine,
    Problem,
    System,
    Toolkit,
)
from gpuenv.values.text import tr
from gpuenv.values.variant import CudaVersion, parse_cuda_version

SCHEMA_VERSION = 1
_COMMAND = "detect"
_LIBC_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_PYTHON = re.compile(r"\d{1,2}\.\d{1,3}(\.\d{1,3})?")
_DRIVER = re.compile(r"\d{2,4}(\.\d{1,4}){0,3}")  # a bare branch, 535, is its least release
_SHOWN = 60
_T = TypeVar("_T")


def render_machine(machine: Machine) -> dict[str, Any]:
    """Render a machine as `detect`'s data; what is not known is null."""
    return {
        "system": _render_system(machine.system),
        "driver": _render_driver(machine.driver),
        "gpus": [_render_gpu(gpu) for gpu in machine.gpus],
        "toolkit": _render_toolkit(machine.toolkit),
        "managers": [
            {"name": one.name, "path": one.path, "version": one.version} for one in machine.managers
        ],
        "pythons": [
            {"version": one.version, "path": one.path, "free_threaded": one.free_threaded}
            for one in machine.pythons
        ],
        "facts": dict(machine.facts),
        "problems": [{"code": problem.code, "message": problem.message} for problem in machine.problems],
    }


def _render_system(system: System) -> dict[str, Any]:
    return {
        "os": system.os,
        "arch": system.arch,
        "libc": system.libc,
        "libc_version": system.libc_version,
        "wsl": system.wsl,
        "container": system.container,
    }


def _render_driver(driver: Driver | None) -> dict[str, Any] | None:
    return None if driver is None else {"version": str(driver.version), "cuda": _text(driver.cuda)}


def _render_gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "compute_capability": _text(gpu.compute_capability),
        "memory_mib": gpu.memory_mib,
        "uuid": gpu.uuid,
        "pci_id": gpu.pci_id,
        "mig": gpu.mig,
        "visible": gpu.visible,
    }


def _render_toolkit(toolkit: Toolkit | None) -> dict[str, Any] | None:
    return None if toolkit is None else {"cuda": _text(toolkit.cuda), "nvcc": toolkit.nvcc}


def _text(value: CudaVersion | ComputeCapability | None) -> str | None:
    return None if value is None else str(value)


def parse_machine(data: object) -> Machine:
    """Parse `detect`'s data, bare or in its envelope; raise ValueError that names the field.

    Keys that are missing are not known, keys that are not known are passed over.
    """
    fields = _Fields(_opened(data), "")
    driver, toolkit = fields.child("driver"), fields.child("toolkit")
    return Machine(
        system=_parse_system(fields.required_child("system")),
        driver=_parse_driver(driver) if driver else None,
        gpus=_distinct(tuple(_parse_gpu(gpu) for gpu in fields.children("gpus"))),
        toolkit=_parse_toolkit(toolkit) if toolkit else None,
        managers=tuple(_parse_manager(manager) for manager in fields.children("managers")),
        pythons=tuple(_parse_python(python) for python in fields.children("pythons")),
        facts=_parse_facts(fields.child("facts")),
        problems=tuple(_parse_problem(problem) for problem in fields.children("problems")),
    )


def _opened(data: object) -> object:
    """Take the data out of an envelope, `{"schema_version": 1, "command": "detect", "data": {...}, ...}`."""
    if not isinstance(data, dict) or "schema_version" not in data:
        return data
    if data["schema_version"] != SCHEMA_VERSION:
        raise ValueError(_wrong("schema_version", str(SCHEMA_VERSION), data["schema_version"]))
    if data.get("command", _COMMAND) != _COMMAND:
        raise ValueError(_wrong("command", tr("the output of `gpuenv detect --json`"), data["command"]))
    return data.get("data")


class _Fields:
    """The keys of one JSON object, read with their types; `place` is where it stands, for messages."""

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, dict):
            raise ValueError(_wrong(place or tr("the document"), tr("an object"), data))
        self.data: Mapping[str, object] = data
        self.place = place

    def name(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def child(self, key: str) -> _Fields | None:
        value = self.data.get(key)
        return None if value is None else _Fields(value, self.name(key))

    def required_child(self, key: str) -> _Fields:
        return _Fields(self.data.get(key), self.name(key))

    def children(self, key: str) -> tuple[_Fields, ...]:
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise ValueError(_wrong(self.name(key), tr("a list"), value))
        return tuple(_Fields(item, f"{self.name(key)}[{position}]") for position, item in enumerate(value))

    def text(self, key: str) -> str:
        return self._required(key, self.optional_text(key), tr("text"))

    def optional_text(self, key: str) -> str | None:
        return self._typed(key, str, tr("text"))

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.optional_flag(key)
        return default if value is None else value

    def optional_flag(self, key: str) -> bool | None:
        return self._typed(key, bool, tr("true or false"))

    def count(self, key: str) -> int:
        return self._required(key, self.optional_count(key), tr("a whole number"))

    def optional_count(self, key: str) -> int | None:
        value = self._typed(key, int, tr("a whole number"))
        if isinstance(value, bool) or (value is not None and value < 0):
            raise ValueError(_wrong(self.name(key), tr("a whole number"), value))
        return value

    def optional_parsed(self, key: str, parse: Callable[[str], _T], like: str) -> _T | None:
        expected = _like(like)
        text = self._typed(key, str, expected)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError:
            raise ValueError(_wrong(self.name(key), expected, text)) from None

    def parsed(self, key: str, parse: Callable[[str], _T], like: str) -> _T:
        return self._required(key, self.optional_parsed(key, parse, like), _like(like))

    def _typed(self, key: str, kind: type[_T], expected: str) -> _T | None:
        value = self.data.get(key)
        if value is not None and not isinstance(value, kind):
            raise ValueError(_wrong(self.name(key), expected, value))
        return value

    def _required(self, key: str, value: _T | None, expected: str) -> _T:
        if value is None:
            raise ValueError(_wrong(self.name(key), expected, None))
        return value


def _wrong(place: str, expected: str, got: object) -> str:
    return tr("{place}: expected {expected}, got {found}", place=place, expected=expected, found=_shown(got))


def _like(example: str) -> str:
    return tr('text such as "{example}"', example=example)


def _shown(value: object) -> str:
    """Write a value as it stands in the file, cut where it is long."""
    match value:
        case None:
            return tr("nothing")
        case dict():
            return tr("an object")
        case list():
            return tr("a list")
        case bool():
            return str(value).lower()
        case int() if abs(value) >= 10**_SHOWN:
            return tr("a very large number")
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _parse_system(fields: _Fields) -> System:
    return System(
        os=fields.text("os"),
        arch=fields.text("arch"),
        libc=fields.optional_text("libc"),
        libc_version=fields.optional_parsed("libc_version", _matching(_LIBC_VERSION), "2.31"),
        wsl=fields.flag("wsl", default=False),
        container=fields.optional_text("container"),
    )


def _parse_driver(fields: _Fields) -> Driver:
    version = fields.parsed("version", parse_driver, "535.104.05")
    return Driver(version, fields.optional_parsed("cuda", parse_cuda_version, "12.2"))


def parse_driver(text: str) -> DriverVersion:
    """Parse `535.104.05`; raise ValueError for anything else."""
    try:
        return DriverVersion(_matching(_DRIVER)(text.strip()))
    except InvalidVersion:  # digits of other scripts
        raise ValueError(tr("`{text}` is no driver version such as 535.104.05", text=text)) from None


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text) or not text.isascii():
            raise ValueError(tr("`{text}` does not fit", text=text))
        return text

    return check


def _parse_gpu(fields: _Fields) -> Gpu:
    return Gpu(
        index=fields.count("index"),
        name=fields.optional_text("name"),
        compute_capability=fields.optional_parsed("compute_capability", parse_compute_capability, "8.6"),
        memory_mib=fields.optional_count("memory_mib"),
        uuid=fields.optional_text("uuid"),
        pci_id=fields.optional_text("pci_id"),
        mig=fields.optional_flag("mig"),
        visible=fields.flag("visible", default=True),
    )


def _distinct(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    seen: set[int] = set()
    for position, gpu in enumerate(gpus):
        if gpu.index in seen:
            raise ValueError(
                tr("gpus[{position}].index: {index} is there already", position=position, index=gpu.index)
            )
        seen.add(gpu.index)
    return gpus


def _parse_toolkit(fields: _Fields) -> Toolkit:
    return Toolkit(fields.optional_parsed("cuda", parse_cuda_version, "12.4"), fields.text("nvcc"))


def _parse_manager(fields: _Fields) -> FoundManager:
    return FoundManager(fields.text("name"), fields.text("path"), fields.optional_text("version"))


def _parse_python(fields: _Fields) -> FoundPython:
    version = fields.parsed("version", _matching(_PYTHON), "3.12.4")
    return FoundPython(
        version, fields.text("path"), free_threaded=fields.flag("free_threaded", default=False)
    )


def _parse_problem(fields: _Fields) -> Problem:
    return Problem(fields.text("code"), fields.text("message"))


def _parse_facts(fields: _Fields | None) -> tuple[tuple[str, str], ...]:
    return tuple((key, fields.text(key)) for key in fields.data) if fields else ()
