"""Findings as JSON, so that one machine's can be judged on another."""

from __future__ import annotations

from dataclasses import asdict, fields
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Findings
from gpuenv.model.machine import Machine
from gpuenv.model.machine_json import parse_machine, render_machine

SCHEMA = 1
T = TypeVar("T")


def render_findings(findings: Findings) -> dict[str, Any]:
    """Return findings as a JSON document."""
    names = [field.name for field in fields(Findings) if field.name != "machine"]
    rendered = {name: _rendered(getattr(findings, name)) for name in names}
    return {"schema": SCHEMA, "machine": render_machine(findings.machine), **rendered}


def _rendered(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_rendered(item) for item in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def parse_findings(document: object) -> Findings:
    """Parse what `render_findings` made; raise ValueError for anything else."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(tr("these are not findings of version {version}", version=SCHEMA))
    facts = {name: value for name, value in document.items() if name != "schema"}
    return _parse_object(facts, Findings, "findings")


def _parse_object(answer: object, kind: type[T], where: str) -> T:
    if not isinstance(answer, dict):
        raise ValueError(tr("`{where}` is not an object", where=where))
    types = get_type_hints(kind)
    unknown = answer.keys() - types.keys()
    if unknown:
        named = ", ".join(sorted(map(str, unknown)))
        raise ValueError(tr("`{where}` has unknown fields: {unknown}", where=where, unknown=named))
    values = {name: _parse(value, types[name], f"{where}.{name}") for name, value in answer.items()}
    try:
        return kind(**values)
    except TypeError as error:  # a field without a default is missing
        raise ValueError(f"`{where}`: {error}") from None


def _parse(value: Any, kind: Any, where: str) -> Any:
    if kind is Machine:
        return parse_machine(value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [item for item in inner if item is not type(None)]
        return None if value is None else _parse(value, kinds[0], where)
    if origin is tuple:
        return _parse_tuple(value, inner, where)
    if kind in (str, int, bool):
        if type(value) is not kind:
            raise ValueError(tr("`{where}` is not a {name}", where=where, name=kind.__name__))
        return value
    return _parse_object(value, kind, where)


def _parse_tuple(value: Any, inner: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(tr("`{where}` is not a list", where=where))
    if inner[-1] is Ellipsis:
        return tuple(_parse(item, inner[0], where) for item in value)
    if len(value) != len(inner):
        facts = {"where": where, "count": len(value), "wanted": len(inner)}
        raise ValueError(tr("`{where}` has {count} items, not {wanted}", **facts))
    return tuple(_parse(item, entry, where) for item, entry in zip(value, inner, strict=True))
