"""What may stand in a field of a row: one function a kind of value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import marked, tr
from gpuenv.knowledge.records import SYSTEMS, WORDS
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.model.wheel import PLATFORMS

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
                yield tr("`{key}` is missing", key=field.name)
            continue
        try:
            field.check(row[field.name])
        except (ValueError, TypeError) as error:
            yield f"`{field.name}`: {error}"
    unknown = sorted(set(row) - {field.name for field in fields})
    if unknown:
        yield tr("unknown: {names}", names=", ".join(f"`{name}`" for name in unknown))


def is_text(value: Any) -> None:
    """Refuse what is no text, or a blank one."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(tr("{value!r} is no text", value=value))


def is_regex(value: Any) -> None:
    """Refuse what is no regular expression."""
    is_text(value)
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(
            tr("`{value}` is no regular expression: {error}", value=value, error=error)
        ) from error


def is_flag(value: Any) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise TypeError(tr("{value!r} is neither true nor false", value=value))


def is_number(value: Any) -> None:
    """Refuse what is no number, or a negative one."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(tr("{value!r} is no number", value=value))


def readable(parse: Callable[[str], object]) -> Check:
    """Return the check that `parse` reads the text; it raises ValueError for one that it can't."""

    def check(value: Any) -> None:
        is_text(value)
        parse(value)

    return check


def matching(pattern: str, what: str) -> Check:
    """Return the check that a text is as the pattern says; `what` is marked to be translated."""

    def check(value: Any) -> None:
        is_text(value)
        if not re.fullmatch(pattern, value):
            raise ValueError(tr("{value!r} is no {what}", value=value, what=tr(what)))

    return check


def one_of(*allowed: object) -> Check:
    """Return the check that a value is one of these."""

    def check(value: Any) -> None:
        if value not in allowed:
            raise ValueError(
                tr("{value!r} is none of {allowed}", value=value, allowed=", ".join(map(str, allowed)))
            )

    return check


def or_null(inner: Check) -> Check:
    """Return the check that a value is null, or passes `inner`."""

    def check(value: Any) -> None:
        if value is not None:
            inner(value)

    return check


def list_of(inner: Check, *, least: int = 0) -> Check:
    """Return the check that a value is a list whose items pass `inner`."""

    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise TypeError(tr("{value!r} is no list", value=value))
        if len(value) < least:
            raise ValueError(tr("the list is empty"))
        for item in value:
            inner(item)

    return check


def mapping(inner: Check) -> Check:
    """Return the check that a value is an object whose values pass `inner`."""

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError(tr("{value!r} is no object", value=value))
        for item in value.values():
            inner(item)

    return check


def is_variant(text: str) -> None:
    """Refuse what is no variant that gpuenv plans."""
    if not Variant(text).is_known:
        raise ValueError(tr("`{text}` is no variant such as cu126", text=text))


def is_requirement(text: str) -> None:
    """Refuse what is no PEP 508 requirement."""
    try:
        Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(tr("`{text}` is no requirement: {error}", text=text, error=error)) from error


def is_conditions(value: Any) -> None:
    """Refuse what is no condition of a known-bad combination."""
    mapping(is_text)(value)
    if not value:
        raise ValueError(tr("a condition without facts"))
    for name, wanted in value.items():
        if name in _WORDS_ALLOWED:
            one_of(*_WORDS_ALLOWED[name])(wanted)
        elif name not in WORDS:
            SpecifierSet(wanted)


_WORDS_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "os": (*SYSTEMS, "macos"),
    "platform": PLATFORMS,
    "index": ("pypi", "pytorch"),
}
is_version = readable(Version)
is_specifier = readable(SpecifierSet)
is_cuda = readable(parse_cuda_version)
is_capability = readable(parse_compute_capability)
is_python = matching(r"cp\d{2,3}t?", marked("Python tag such as cp312"))
is_wheel_python = matching(r"cp\d{2,3}t?|py[23]\d*(\.py3)?", marked("Python tag such as cp312 or py3"))


# where a row was read, and how sure that is
ORIGIN = (
    Field("source", is_text),
    Field("evidence", one_of("wheel", "matrix", "assumed")),
    Field("note", is_text, optional=True),
)
