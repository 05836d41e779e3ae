"""Format `pyproject` for several variants: an extra for each, of which `uv sync --extra NAME` takes one."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from packaging.requirements import Requirement

from gpuenv.formats import toml
from gpuenv.formats.file_indexes import FileOrigin, addressed, places_of
from gpuenv.formats.pyproject import (
    PROJECT_NAME,
    dependencies_of,
    exact_pin,
    explicit_indexes,
    index_names,
    own_indexes,
    pinned_by_name,
)
from gpuenv.formats.several.comment import comment_lines
from gpuenv.i18n.messages import tr
from gpuenv.model.locked import Locked, LockedVariant
from gpuenv.resolution.markers import platform_marker
from gpuenv.resolution.target import platform_of


def render_pyproject_of(variants: tuple[LockedVariant, ...]) -> str:
    """Return a pyproject.toml in which each variant is an extra of its own, and no two go together.

    All that is asked for stands in the extras: without one, nothing could say which torch it is to be beside.
    https://docs.astral.sh/uv/guides/integration/pytorch/
    """
    places = {variant.name: places_of(variant.locked) for variant in variants}
    names = index_names(origin for of_one in places.values() for origin in of_one.values())
    shared = _shared_constraints(variants, places)
    uv = {
        "package": False,
        "environments": tuple(dict.fromkeys(_marker(variant.locked) for variant in variants)),
        "constraint-dependencies": tuple(shared.values()),
    }
    filled = {key: value for key, value in uv.items() if value is False or value}
    tables = {
        "conflicts": _conflicts(variants),
        "sources": _sources(places, names),
        "index": toml.tables((*own_indexes(variants[0].locked.sources), *explicit_indexes(names))),
    }
    pythons = dict.fromkeys(variant.locked.plan.python.rstrip("t") for variant in variants)
    parts = {
        "project": toml.table(
            {
                "name": PROJECT_NAME,
                "version": "0",
                "requires-python": f"=={next(iter(pythons))}.*",
                "optional-dependencies": toml.table(_extras(variants, places, shared)),
            }
        ),
        "tool": toml.table(
            {"uv": toml.table(filled | {key: table for key, table in tables.items() if table})}, headless=True
        ),
    }
    return toml.document(_comment(variants), parts)


def _comment(variants: tuple[LockedVariant, ...]) -> tuple[str, ...]:
    plan = variants[0].locked.plan
    free = f" --python {plan.python}" if plan.python.endswith("t") else ""
    command = f"uv sync{free} --extra {variants[0].name}"
    made = tr("create the environment of one of them with `{command}`", command=command)
    return (*comment_lines(variants), made)


def _extras(
    variants: tuple[LockedVariant, ...], places: dict[str, dict[str, FileOrigin]], shared: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return the requirements of each extra, with the pins of what has other versions in other extras."""
    one_platform = len({_marker(variant.locked) for variant in variants}) == 1
    extras = {}
    for variant in variants:
        locked = variant.locked
        held = {*_held(locked, places[variant.name]), *shared}
        own = (exact_pin(file) for file in locked.files if file.name not in held)
        texts = dict.fromkeys((*dependencies_of(locked, places[variant.name]), *own))
        marker = None if one_platform else _marker(locked)
        extras[variant.name] = tuple(_only_where(text, marker) for text in texts)
    return extras


def _held(locked: Locked, places: dict[str, FileOrigin]) -> set[str]:
    """Return the names of what its requirement holds to one file."""
    return {*pinned_by_name(locked.plan), *places, *addressed(locked)}


def _only_where(text: str, marker: str | None) -> str:
    """Return a requirement that counts on one platform alone; None: wherever there is an environment."""
    if marker is None:
        return text
    requirement = Requirement(text)
    both = f"({requirement.marker}) and ({marker})" if requirement.marker else marker
    requirement.marker = None
    return f"{requirement} ; {both}"


def _shared_constraints(
    variants: tuple[LockedVariant, ...], places: dict[str, dict[str, FileOrigin]]
) -> dict[str, str]:
    """Return what has one version wherever it is: for uv, constraints are the whole project's."""
    held: set[str] = set()
    texts: dict[str, set[str]] = defaultdict(set)
    for variant in variants:
        locked = variant.locked
        held |= _held(locked, places[variant.name])
        for file in locked.files:
            texts[file.name].add(exact_pin(file))
    return {
        name: next(iter(of_one))
        for name, of_one in sorted(texts.items())
        if name not in held and len(of_one) == 1
    }


def _conflicts(variants: tuple[LockedVariant, ...]) -> Any:
    """Return the pairs of extras that exclude each other: every two."""
    names = [variant.name for variant in variants]
    pairs = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    return tuple([{"extra": name} for name in pair] for pair in pairs)


def _sources(places: dict[str, dict[str, FileOrigin]], names: dict[FileOrigin, str]) -> Any:
    """Return for each package the index that it comes from with an extra."""
    sources: dict[str, list[dict[str, str]]] = defaultdict(list)
    for extra, of_one in places.items():
        for name, origin in of_one.items():
            if origin in names:
                sources[name].append({"index": names[origin], "extra": extra})
    return toml.table({name: tuple(rows) for name, rows in sources.items()}) if sources else None


def _marker(locked: Locked) -> str:
    return platform_marker(platform_of(locked.plan.machines[0]))
