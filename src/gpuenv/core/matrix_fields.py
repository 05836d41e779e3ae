"""The fields of the matrices' rows: which there are, and what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.core.knowledge_rows import JUDGES, SYSTEMS, WORDS
from gpuenv.values.build import PLATFORMS
from gpuenv.values.capability import parse_architecture, parse_compute_capability
from gpuenv.values.plan import RULES
from gpuenv.values.variant import Variant, parse_cuda_version

Check = Callable[[Any], object]  # raises ValueError or TypeError for what may not stand there


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a row; an optional one may be left out."""

    name: str
    check: Check
    optional: bool = False


def check_fields(row: Mapping[str, Any], fields: tuple[Field, ...]) -> Iterator[str]:
    """Tell what is wrong with the fields of a row."""
    for field in fields:
        if field.name not in row:
            if not field.optional:
                yield f"`{field.name}` is missing"
            continue
        try:
            field.check(row[field.name])
        except (ValueError, TypeError) as error:
            yield f"`{field.name}`: {error}"
    unknown = sorted(set(row) - {field.name for field in fields})
    if unknown:
        yield f"unknown: {', '.join(f'`{name}`' for name in unknown)}"


def _text(value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is no text")


def _flag(value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")


def _number(value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no number")


def _read(parse: Callable[[str], object]) -> Check:
    def check(value: Any) -> None:
        _text(value)
        parse(value)

    return check


def _matching(pattern: str, what: str) -> Check:
    def check(value: Any) -> None:
        _text(value)
        if not re.fullmatch(pattern, value):
            raise ValueError(f"{value!r} is no {what}")

    return check


def _one_of(*allowed: object) -> Check:
    def check(value: Any) -> None:
        if value not in allowed:
            raise ValueError(f"{value!r} is none of {', '.join(map(str, allowed))}")

    return check


def _or_null(inner: Check) -> Check:
    def check(value: Any) -> None:
        if value is not None:
            inner(value)

    return check


def _list_of(inner: Check, *, least: int = 0) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        if len(value) < least:
            raise ValueError("the list is empty")
        for item in value:
            inner(item)

    return check


def _mapping(inner: Check) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is no object")
        for item in value.values():
            inner(item)

    return check


def _variant(text: str) -> None:
    if not Variant(text).is_known:
        raise ValueError(f"`{text}` is no variant such as cu126")


def _requirement(text: str) -> None:
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"`{text}` is no requirement: {error}") from error


def _conditions(value: Any) -> None:
    _mapping(_text)(value)
    if not value:
        raise ValueError("a condition without facts")
    for name, wanted in value.items():
        if name in _WORDS_ALLOWED:
            _one_of(*_WORDS_ALLOWED[name])(wanted)
        elif name not in WORDS:
            SpecifierSet(wanted)


_WORDS_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "os": (*SYSTEMS, "macos"),
    "platform": PLATFORMS,
    "index": ("pypi", "pytorch"),
}
_version = _read(Version)
_specifier = _read(SpecifierSet)
_cuda = _read(parse_cuda_version)
_capability = _read(parse_compute_capability)
_python = _matching(r"cp\d{2,3}t?", "Python tag such as cp312")
_wheel_python = _matching(r"cp\d{2,3}t?|py[23](\.py3)?", "Python tag such as cp312 or py3")
_ORIGIN = (
    Field("source", _text),
    Field("evidence", _one_of("wheel", "matrix", "assumed")),
    Field("note", _text, optional=True),
)
_FLOORS = (Field("linux", _or_null(_version)), Field("windows", _or_null(_version)))

# Table -> kind of row -> fields; a table whose rows are all of one kind has no `kind` field.
FIELDS: Mapping[str, Mapping[str | None, tuple[Field, ...]]] = {
    "torch": {
        None: (
            Field("torch", _version),
            Field("variant", _read(_variant)),
            Field("platform", _one_of(*PLATFORMS)),
            Field("index", _one_of("pypi", "pytorch")),
            Field("cuda", _or_null(_cuda)),
            Field("pythons", _list_of(_python, least=1)),
            Field("architectures", _list_of(_read(parse_architecture))),
            Field("cudnn", _or_null(_version)),
            Field("tags", _list_of(_text, least=1)),
            Field("triton", _or_null(_specifier)),
            Field("torchvision", _list_of(_version)),
            Field("torchaudio", _list_of(_version)),
            Field("torchtext", _list_of(_version)),
            *_ORIGIN,
        )
    },
    "cuda": {
        "release": (
            Field("kind", _text),
            Field("cuda", _cuda),
            Field("release", _version),
            Field("label", _text),
            Field("branch", _number),
            *_FLOORS,
            *_ORIGIN,
        ),
        "family": (Field("kind", _text), Field("major", _number), *_FLOORS, *_ORIGIN),
        "branch": (
            Field("kind", _text),
            Field("os", _one_of(*SYSTEMS)),
            Field("branch", _number),
            Field("cuda", _cuda),
            *_ORIGIN,
        ),
        "architecture": (
            Field("kind", _text),
            Field("architecture", _text),
            Field("compute_capabilities", _list_of(_capability, least=1)),
            Field("first_cuda", _cuda),
            Field("last_cuda", _or_null(_cuda)),
            Field("last_driver_branch", _or_null(_number)),
            *_ORIGIN,
        ),
        "integrated": (
            Field("kind", _text),
            Field("compute_capability", _capability),
            Field("until_cuda", _or_null(_cuda)),
            *_ORIGIN,
        ),
    },
    "gpus": {
        None: (
            Field("name", _text),
            Field("compute_capability", _capability),
            Field("architecture", _text),
            Field("family", _text),
            Field("pci_ids", _list_of(_matching(r"[0-9a-f]{4}", "PCI id such as 1b06"))),
            Field("preferred", _flag),
            *_ORIGIN,
        )
    },
    "companions": {
        "pair": (
            Field("kind", _text),
            Field("torch", _version),
            Field("project", _text),
            Field("versions", _list_of(_version, least=1), optional=True),
            Field("specifier", _specifier, optional=True),
            *_ORIGIN,
        ),
        "release": (
            Field("kind", _text),
            Field("project", _text),
            Field("version", _version),
            Field("requires_torch", _or_null(_specifier)),
            Field("requires_python", _or_null(_specifier)),
            Field("pythons", _list_of(_wheel_python)),
            Field("yanked", _flag),
            Field("pypi_cuda", _mapping(_cuda)),
            Field("cuda_match", _one_of("exact", "major", None)),
            *_ORIGIN,
        ),
    },
    "known-bad": {
        None: (
            Field("id", _text),
            Field("area", _text),
            Field("judge", _one_of(*RULES, *JUDGES)),
            Field("when", _list_of(_conditions)),
            Field("unless", _list_of(_text)),
            Field("when_text", _list_of(_text)),
            Field("constrain", _list_of(_read(_requirement))),
            Field("add", _list_of(_read(_requirement))),
            Field("forbid", _flag),
            Field("avoid", _flag),
            Field("warn", _flag),
            Field("effect", _text),
            Field("error", _or_null(_text)),
            Field("remedy", _text),
            Field("confidence", _one_of("high", "medium", "low")),
            *_ORIGIN,
        )
    },
    "libraries": {
        "floor": (
            Field("kind", _text),
            Field("library", _text),
            Field("name", _text),
            Field("counts", _one_of("release", "cuda")),
            Field("from", _version),
            Field("cuda", _or_null(_specifier)),
            Field("min_compute_capability", _capability),
            Field("least_gpus", _number),
            Field("platforms", _list_of(_one_of(*PLATFORMS), least=1)),
            Field("confidence", _one_of("high", "medium", "low")),
            *_ORIGIN,
        ),
        "bundled": (
            Field("kind", _text),
            Field("library", _text),
            Field("torch", _version),
            Field("cuda", _cuda),
            Field("version", _version),
            *_ORIGIN,
        ),
    },
}
