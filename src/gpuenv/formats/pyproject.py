"""Format `pyproject`: a project that `uv sync` turns into the plan's very set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuenv.formats import toml
from gpuenv.formats.file_indexes import FileOrigin, addressed, places_of
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import tr
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.plan import Plan, Sources
from gpuenv.resolution.markers import platform_marker
from gpuenv.resolution.target import platform_of
from gpuenv.secrets.url_credentials import without_userinfo

PROJECT_NAME = "gpuenv-environment"  # nothing else is called so: a project can't depend on itself


def render_pyproject(locked: Locked) -> str:
    """Return a pyproject.toml: what was asked for are its dependencies, constraints hold all else.

    uv sends only dependencies to an index, so what another index than its own lists is one of them.
    https://docs.astral.sh/uv/concepts/indexes/
    """
    places = places_of(locked)
    names = index_names(places.values())
    held = {*pinned_by_name(locked.plan), *places, *addressed(locked)}
    uv = {
        "package": False,
        # what other platforms would need is not in the set
        "environments": (platform_marker(platform_of(locked.plan.machines[0])),),
        "constraint-dependencies": tuple(exact_pin(file) for file in locked.files if file.name not in held),
        "sources": toml.table(
            {name: {"index": names[origin]} for name, origin in places.items() if origin in names}
        ),
        "index": toml.tables((*own_indexes(locked.sources), *explicit_indexes(names))),
    }
    filled = {key: value for key, value in uv.items() if value is False or value}
    parts = {
        "project": toml.table(
            {
                "name": PROJECT_NAME,
                "version": "0",
                "requires-python": f"=={locked.plan.python.rstrip('t')}.*",
                "dependencies": dependencies_of(locked, places),
            }
        ),
        "tool": toml.table({"uv": toml.table(filled)}, headless=True),
    }
    return toml.document(_comment(locked.plan), parts)


def _comment(plan: Plan) -> tuple[str, ...]:
    free = f" --python {plan.python}" if plan.python.endswith("t") else ""
    made = tr("create the environment with `{command}`", command=f"uv sync{free}")
    return (tr("made by gpuenv for"), *summary(plan), made)


def dependencies_of(locked: Locked, places: dict[str, FileOrigin]) -> tuple[str, ...]:
    """Return what was asked for, and what has a place of its own."""
    plan = locked.plan
    pins = pinned_by_name(plan)
    files = {file.name: file for file in locked.files}
    own = [name for name in places if name not in pins]
    stack = (_placed(text, files.get(name), places.get(name)) for name, text in pins.items())
    others = (_placed(exact_pin(files[name]), files[name], places[name]) for name in own)
    requested = map(without_userinfo, plan.requirements)
    return tuple(dict.fromkeys((*stack, *requested, *plan.constraints, *others)))


def _placed(pin: str, file: LockedFile | None, origin: FileOrigin | None) -> str:
    """Return a pin, or the file by its address, and its hash if it is known, where no index lists it."""
    if file is None or origin is None or origin.kind != "file":
        return pin
    wanted = Requirement(pin)
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    digest = f"#sha256={file.sha256}" if file.sha256 else ""
    return f"{wanted.name}{extras} @ {origin.url}{digest}"


def pinned_by_name(plan: Plan) -> dict[str, str]:
    """Return the pins of the torch stack by their projects."""
    return {canonicalize_name(Requirement(text).name): text for text in plan.pins}


def exact_pin(file: LockedFile) -> str:
    """Return the requirement of the very version of a file."""
    return f"{file.name}=={file.version}"


def own_indexes(sources: Sources) -> list[dict[str, Any]]:
    """Return the user's own indexes, the extra ones first, as uv asks them.

    `no-index` is not said: uv would not look at places of packages either. Where it is asked for, all that is
    to be had has such a place.
    """
    if sources.no_index:
        return []
    extra = [{"url": without_userinfo(url)} for url in sources.extra_index_urls]
    default = [{"url": without_userinfo(sources.index_url), "default": True}] if sources.index_url else []
    return extra + default


def index_names(places: Iterable[FileOrigin]) -> dict[FileOrigin, str]:
    """Return a name for each place that can have one."""
    names: dict[FileOrigin, str] = {}
    for origin in places:
        if origin not in names and origin.kind != "file":
            taken = origin.word in names.values()
            names[origin] = f"{origin.word}-{len(names) + 1}" if taken else origin.word
    return names


def explicit_indexes(names: dict[FileOrigin, str]) -> list[dict[str, Any]]:
    """Return the indexes that serve only what names them."""
    flat = {"folder": {"format": "flat"}}
    return [
        {"name": name, "url": origin.url, **flat.get(origin.kind, {}), "explicit": True}
        for origin, name in names.items()
    ]
