"""Wheel variants in text and JSON: what a machine supports, and what uv has to be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gpuenv.i18n.messages import tr
from gpuenv.model.machine import Machine
from gpuenv.resolution.wheel_variants.machine import ForcedValue, common_values, forced_values, supported_by

_MOST_SHOWN = 4


def render_support(machine: Machine) -> dict[str, Any]:
    """Return the properties that all devices support, by namespace and feature, and the variables for uv."""
    properties: dict[str, dict[str, list[str]]] = {}
    for (namespace, feature), values in common_values(supported_by(machine)).items():
        properties.setdefault(namespace, {})[feature] = list(values)
    return {"properties": properties, "force": render_forced(forced_values(machine))}


def render_forced(forced: Iterable[ForcedValue]) -> list[dict[str, str]]:
    """Return the variables for uv."""
    return [{"name": item.name, "value": item.value, "why": item.why} for item in forced]


def support_lines(machine: Machine) -> Iterator[str]:
    """Yield what `render_support` has, shortened, for a person."""
    yield tr("wheel variants (a draft, PEP 825):")
    common = common_values(supported_by(machine))
    for (namespace, feature), values in common.items():
        shown = " ".join(values[:_MOST_SHOWN]) or tr("none that all devices support")
        more = " ..." if len(values) > _MOST_SHOWN else ""
        yield f"  {namespace} :: {feature} :: {shown}{more}"
    if not common:
        yield tr("  nothing that a variant could ask for")
    yield from forced_lines(forced_values(machine))


def forced_lines(forced: Iterable[ForcedValue]) -> Iterator[str]:
    """Yield the variables as a shell sets them, each after its reason."""
    for item in forced:
        yield tr("  for uv: {why}", why=item.why)
        yield f"    export {item.name}={item.value}"
