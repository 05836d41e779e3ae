"""What may stand in a field of a row: the check of a value, and what a JSON schema says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import N_, series, tr
from gpuenv.knowledge.records import SYSTEMS, WORDS
from gpuenv.model.capability import parse_architecture, parse_compute_capability
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.model.wheel import CUDA_PLATFORMS

Check = Callable[[Any], object]  # raises ValueError or TypeError for what may not stand there


class FieldType(Struct, frozen=True):
    """What may stand in a field; an optional one may be left out. JSON Schema can say less than `check`."""

    check: Check
    schema: Mapping[str, Any]
    is_optional: bool = False


Fields = Mapping[str, FieldType]


def check_fields(row: Mapping[str, Any], fields: Fields) -> Iterator[str]:
    """Tell what is wrong with the fields of a row."""
    for name, field in fields.items():
        if name not in row:
            if not field.is_optional:
                yield tr("`{key}` is missing", key=name)
            continue
        try:
            field.check(row[name])
        except (ValueError, TypeError) as error:
            yield f"`{name}`: {error}"
    unknown = sorted(set(row) - set(fields))
    if unknown:
        yield tr("unknown: {names}", names=series(f"`{name}`" for name in unknown))


def optional(field: FieldType) -> FieldType:
    """Return the type of a field that may be left out."""
    return replace(field, is_optional=True)


def number(least: int = 0, most: int | None = None) -> FieldType:
    """Return the type of a whole number within bounds."""

    def check(value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= (most or value):
            raise ValueError(tr("{value!r} is not a number", value=value))

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return FieldType(check, {"type": "integer", **bounds})


def readable(parse: Callable[[str], object], pattern: str = ".") -> FieldType:
    """Return the type of a text that `parse` reads, which raises ValueError for one that it can't.

    `pattern` is what a schema says of such texts.
    """

    def check(value: Any) -> None:
        _check_text(value)
        parse(value)

    return FieldType(check, {"type": "string", "pattern": pattern})


def matching(pattern: str, what: str | None = None) -> FieldType:
    """Return the type of a text that is as the pattern says; `what` is marked to be translated."""

    def check(value: Any) -> None:
        _check_text(value)
        if not re.fullmatch(pattern, value):
            raise ValueError(
                tr("{value!r} is not a valid {what}", value=value, what=tr(what) if what else f"`{pattern}`")
            )

    return FieldType(check, {"type": "string", "pattern": f"^({pattern})$"})


def one_of(*allowed: object) -> FieldType:
    """Return the type of what is one of these."""

    def check(value: Any) -> None:
        if value not in allowed:
            raise ValueError(
                tr("{value!r} is not one of {allowed}", value=value, allowed=series(map(str, allowed)))
            )

    return FieldType(check, {"enum": list(allowed)})


def or_null(inner: FieldType) -> FieldType:
    """Return the type of what is null, or passes `inner`."""

    def check(value: Any) -> None:
        if value is not None:
            inner.check(value)

    schema = inner.schema
    null = {"enum": [*schema["enum"], None]} if "enum" in schema else {"type": [schema["type"], "null"]}
    return FieldType(check, {**schema, **null})


def list_of(inner: FieldType, *, least: int = 0) -> FieldType:
    """Return the type of a list whose items pass `inner`."""

    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise TypeError(tr("{value!r} is not a list", value=value))
        if len(value) < least:
            raise ValueError(tr("the list is empty"))
        for item in value:
            inner.check(item)

    bound = {"minItems": least} if least else {}
    return FieldType(check, {"type": "array", "items": inner.schema, **bound})


def mapping(inner: FieldType) -> FieldType:
    """Return the type of an object whose values pass `inner`."""

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(tr("{value!r} is not an object", value=value))
        for item in value.values():
            inner.check(item)

    return FieldType(check, {"type": "object", "additionalProperties": inner.schema})


def object_of(fields: Fields) -> FieldType:
    """Return the type of an object with these fields."""

    def check(value: Any) -> None:
        if not isinstance(value, Mapping):
            raise TypeError(tr("{value!r} is not an object", value=value))
        for complaint in check_fields(value, fields):
            raise ValueError(complaint)

    return FieldType(check, object_schema(fields))


def object_schema(fields: Fields) -> dict[str, Any]:
    """Return the JSON schema of an object with these fields."""
    return {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
        "required": [name for name, field in fields.items() if not field.is_optional],
        "additionalProperties": False,
    }


def _check_text(value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(tr("{value!r} is not a text", value=value))


def _check_regex(value: Any) -> None:
    _check_text(value)
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(
            tr("`{value}` is not a valid regular expression: {error}", value=value, error=error)
        ) from error


def _check_flag(value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(tr("{value!r} is not true or false", value=value))


def _check_variant(text: str) -> None:
    if not Variant(text).is_cuda_or_cpu:
        raise ValueError(tr("`{text}` is not a valid variant (example: cu126)", text=text))


def _check_requirement(text: str) -> None:
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(
            tr("`{text}` is not a valid requirement: {error}", text=text, error=error)
        ) from error


def _check_conditions(value: Any) -> None:
    mapping(TEXT).check(value)
    if not value:
        raise ValueError(tr("a condition without facts"))
    for name, wanted in value.items():
        if name in _WORDS_ALLOWED:
            one_of(*_WORDS_ALLOWED[name]).check(wanted)
        elif name not in WORDS:
            SpecifierSet(wanted)


_WORDS_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "os": (*SYSTEMS, "macos"),
    "platform": CUDA_PLATFORMS,
    "index": ("pypi", "pytorch"),
}
TEXT = FieldType(_check_text, {"type": "string", "minLength": 1})
TEXTS = list_of(TEXT)
REGEX = FieldType(_check_regex, {"type": "string", "minLength": 1})
FLAG = FieldType(_check_flag, {"type": "boolean"})
NUMBER = number()
VERSION = readable(Version, r"^[0-9][0-9A-Za-z.+!-]*$")
SPECIFIER = readable(SpecifierSet, r"^(===|==|>=|<=|!=|~=|<|>)[^,;]+(,(===|==|>=|<=|!=|~=|<|>)[^,;]+)*$")
CUDA = readable(parse_cuda_version, r"^[0-9]{1,2}\.[0-9]{1,2}$")
CAPABILITY = readable(parse_compute_capability, r"^[0-9]{1,2}\.[0-9]$")
ARCHITECTURE = readable(parse_architecture, r"^(sm|compute)_[0-9]{2,3}[af]?$")
VARIANT = readable(_check_variant, r"^(cpu|cu[0-9]{2,3})$")
REQUIREMENT = readable(_check_requirement, r"^[A-Za-z0-9]")
PLATFORM = one_of(*CUDA_PLATFORMS)
PYTHON = matching(r"cp[0-9]{2,3}t?", N_("Python tag such as cp312"))
WHEEL_PYTHON = matching(r"cp[0-9]{2,3}t?|py[23][0-9]*(\.py3)?", N_("Python tag such as cp312 or py3"))
NAME = matching(r"[a-z0-9]+(-[a-z0-9]+)*", N_("normalized name of a project"))
CONDITIONS = FieldType(_check_conditions, {**mapping(TEXT).schema, "minProperties": 1})

# where a row was read, and how sure that is
ORIGIN: Fields = {"source": TEXT, "evidence": one_of("wheel", "matrix", "assumed"), "note": optional(TEXT)}
