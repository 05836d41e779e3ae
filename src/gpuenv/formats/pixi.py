"""Format `pixi.toml`: a workspace whose set pixi solves for itself, so that all is pinned in it.

https://pixi.prefix.dev/latest/reference/pixi_manifest/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from gpuenv.formats import toml
from gpuenv.formats.environment_yml import name_of, variables_of
from gpuenv.formats.file_indexes import FileOrigin, addressed, places_of
from gpuenv.formats.text import summary
from gpuenv.i18n.messages import N_, series, tr
from gpuenv.model.errors import UsageError
from gpuenv.model.locked import Locked, LockedFile
from gpuenv.model.match_spec import MatchSpec, parse_match_spec
from gpuenv.model.plan import Plan, Sources
from gpuenv.model.variant import Variant, parse_cuda_version
from gpuenv.resolution.conda.plan_part import wheels_beside
from gpuenv.resolution.markers import marker_environment
from gpuenv.resolution.rules.platform_tags import least_glibc
from gpuenv.resolution.target import platform_of
from gpuenv.secrets.url_credentials import without_userinfo

_CONDAS_OWN = {"python", "pip"}  # what every plan asks of conda
_GLIBC = (2, 28)  # what pixi takes for granted
# a shell reads these as they are: pixi hands them to one
_VARIABLE, _PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII), re.compile(r"[\w+:./=,@ -]+", re.ASCII)


def render_pixi(locked: Locked) -> str:
    """Return a pixi.toml for a plan of wheels: Python from conda, all files of the set by exact pins.

    Where conda brings other packages too, what they bring is not known: then only what was asked for is
    pinned. Raises UsageError for specs that can't be written so.
    """
    return _render(locked.plan, set_of(locked))


class PixiSet(Struct, frozen=True):
    """The tables that say what is installed: conda's packages, wheels, and what is needed for them."""

    system: dict[str, Any]
    conda: dict[str, Any]
    wheels: dict[str, Any]
    options: dict[str, Any]

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Those that are not empty, by their names."""
        named = {
            "system-requirements": self.system,
            "dependencies": self.conda,
            "pypi-options": self.options,
            "pypi-dependencies": self.wheels,
        }
        return {name: table for name, table in named.items() if table}


def set_of(locked: Locked) -> PixiSet:
    """Return the tables for a plan of wheels; raise UsageError for specs that can't be written so."""
    places = places_of(locked)
    chosen = _chosen(locked)
    wheels = {file.name: _wheel(file, places.get(file.name), addressed(locked)) for file in chosen}
    conda = _conda_dependencies(locked.plan)
    conda.pop("pip", None)  # it would bring conda's setuptools beside the one that is pinned
    # the glibc that the set needs; a wheel with several tags needs the least of them
    needs = [_least(file) for file in chosen if file.is_wheel]
    system = _system(_cuda_of(locked.plan), max((need for need in needs if need), default=None))
    return PixiSet(system, conda, wheels, _options(locked.sources, places))


def render_pixi_of_conda(plan: Plan) -> str:
    """Return a pixi.toml for a plan whose torch is a conda package; what is asked of PyPI stands beside it.

    Raises UsageError for specs that can't be written so.
    """
    glibcs = (machine.system.libc_version for machine in plan.machines if machine.system.libc == "glibc")
    older = (glibc for text in glibcs if text and (glibc := _release(text)) < _GLIBC)
    wheels = _pypi_requirements(plan)
    options = _options(plan.sources, {}) if wheels else {}
    system = _system(plan.conda.cuda if plan.conda else None, min(older, default=None))
    return _render(plan, PixiSet(system, _conda_dependencies(plan), wheels, options))


def _render(plan: Plan, made: PixiSet) -> str:
    parts = {"workspace": workspace_of((plan,)), **made.tables, "activation": {"env": plain_variables(plan)}}
    comment = (
        tr("made by gpuenv for"),
        *summary(plan),
        tr("create the environment with `{command}`", command="pixi install"),
        *left_out_variables(plan),
    )
    return toml.document(comment, {name: toml.table(part) for name, part in parts.items() if part})


def workspace_of(plans: tuple[Plan, ...]) -> dict[str, Any]:
    """Return the table `workspace` for the platforms and channels of all plans."""
    channels = (channel.name for plan in plans if plan.conda for channel in plan.conda.channels)
    return {
        "name": name_of(plans[0]),
        "channels": tuple(dict.fromkeys(map(without_userinfo, channels))),
        "platforms": tuple(dict.fromkeys(platform_of(plan.machines[0]) for plan in plans)),
    }


def plain_variables(plan: Plan) -> dict[str, str]:
    """Return the variables of the environment that a shell reads as they are."""
    return {
        name: value
        for name, value in variables_of(plan).items()
        if _VARIABLE.fullmatch(name) and _PLAIN.fullmatch(value)
    }


def left_out_variables(plan: Plan) -> tuple[str, ...]:
    """Say in a comment which variables were left out, if any were."""
    names = [name for name in variables_of(plan) if name not in plain_variables(plan)]
    text = N_("left as they are, as a shell would expand them: the variables {names}")
    return (tr(text, names=series(names)),) if names else ()


def _system(cuda: str | None, glibc: tuple[int, ...] | None) -> dict[str, Any]:
    """Return what the solver may take for granted: without it there is no CUDA for pixi.

    The table is the form that old and new releases of pixi read.
    """
    libc = {"libc": {"family": "glibc", "version": ".".join(map(str, glibc))}} if glibc else {}
    return ({"cuda": cuda} if cuda else {}) | libc


def _cuda_of(plan: Plan) -> str | None:
    """Return what the driver must support: wheels bring their CUDA, and the plan's own driver is enough."""
    built = Variant(plan.variant).cuda
    supported = plan.conda.cuda if plan.conda else None
    known = (built, parse_cuda_version(supported) if supported else None)
    return str(min(cuda for cuda in known if cuda)) if built else None


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _least(file: LockedFile) -> tuple[int, ...] | None:
    try:
        tags = parse_wheel_filename(file.filename)[3]
    except InvalidWheelFilename:
        return None
    needs = [least_glibc(tag.platform) for tag in tags]
    return min((need for need in needs if need), default=None)


def _chosen(locked: Locked) -> tuple[LockedFile, ...]:
    """Return the files to be pinned: without those that conda is asked for."""
    plan = locked.plan
    brought = _names_of(plan.conda.specs) - _CONDAS_OWN if plan.conda else set()
    if not brought:
        return locked.files
    names = {
        canonicalize_name(Requirement(text).name)
        for text in (*plan.pins, *plan.requirements, *plan.constraints)
    }
    return tuple(file for file in locked.files if file.name in names - brought)


def _wheel(file: LockedFile, origin: FileOrigin | None, urls: dict[str, str]) -> str | dict[str, str]:
    if file.name in urls:
        return {"url": urls[file.name]}
    if origin is not None and origin.kind == "file":
        return {"url": origin.url}
    version = f"=={file.version}"
    if origin is not None and origin.kind == "index":
        return {"version": version, "index": origin.url}
    return version


def _options(sources: Sources, places: dict[str, FileOrigin]) -> dict[str, Any]:
    """Return the user's own indexes; of several the first that has a package serves it."""
    folders = dict.fromkeys(origin.url for origin in places.values() if origin.kind == "folder")
    extra = tuple(without_userinfo(url) for url in sources.extra_index_urls)
    options = {
        "index-url": without_userinfo(sources.index_url) if sources.index_url else None,
        "extra-index-urls": extra,
        "find-links": tuple({"path": folder} for folder in folders),
    }
    return {name: value for name, value in options.items() if value}


def _pypi_requirements(plan: Plan) -> dict[str, Any]:
    """Return what is asked of PyPI beside conda's torch, which pixi knows for PyPI's torch as well."""
    there = marker_environment(platform_of(plan.machines[0]), f"{plan.python.rstrip('t')}.0")
    requested: dict[str, Any] = {}
    for text in wheels_beside(plan):
        requirement = Requirement(text)
        conda_has_it = text in plan.pins and not requirement.extras
        if conda_has_it or (requirement.marker and not requirement.marker.evaluate(there)):
            continue
        name = canonicalize_name(requirement.name)
        requested[name] = _joined(requested.get(name, {}), requirement)
    return {name: _shortest(fields) for name, fields in requested.items()}


def _joined(fields: dict[str, Any], wanted: Requirement) -> dict[str, Any]:
    """Return the fields of a package that may be asked for more than once."""
    versions = [text for text in (fields.get("version", ""), str(wanted.specifier)) if text]
    extras = sorted({*fields.get("extras", ()), *wanted.extras})
    url = without_userinfo(wanted.url) if wanted.url else fields.get("url")
    joined = {"version": ",".join(versions), "extras": extras, "url": url}
    return {name: value for name, value in joined.items() if value}


def _shortest(fields: dict[str, Any]) -> str | dict[str, Any]:
    if "url" in fields:
        return {name: value for name, value in fields.items() if name != "version"}
    version = fields.get("version", "*")
    return {"version": version, "extras": fields["extras"]} if "extras" in fields else str(version)


_RELEASE = re.compile(r"[\w.!+-]+")  # nothing that makes it open: `2.7.1`, not `2.7.*` or `>=2.7`
Pinned = dict[str, str | dict[str, str]]


def _conda_dependencies(plan: Plan) -> Pinned:
    """Return the specs of the plan's conda part, each package once; those of torch name their channel.

    Raises UsageError for specs that can't be written so.
    """
    if plan.conda is None:
        return {}
    homes = {
        pin.name: package.channel
        for pin, package in zip(plan.conda.pins, plan.packages, strict=False)
        if package.channel
    }
    joined: dict[str, MatchSpec] = {}
    for spec in map(_parsed, plan.conda.specs):
        joined[spec.name] = _intersection(joined[spec.name], spec) if spec.name in joined else spec
    return {name: _written(spec, homes.get(name)) for name, spec in joined.items()}


def _parsed(text: str) -> MatchSpec:
    try:
        return parse_match_spec(text)
    except ValueError as error:
        raise _unwritable(text) from error


def _intersection(spec: MatchSpec, other: MatchSpec) -> MatchSpec:
    """Return what asks for both: `>=1.9` and `<2` is `>=1.9,<2`."""
    builds, channels = _stated(spec.build, other.build), _stated(spec.channel, other.channel)
    versions = _stated(_version(spec), _version(other))
    if len(builds) > 1 or len(channels) > 1 or (len(versions) > 1 and "|" in "".join(versions)):
        raise _unwritable(spec.name)
    return MatchSpec(spec.name, ",".join(versions), "".join(builds), next(iter(channels), None))


def _stated(*fields: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field for field in fields if field and field != "*"))


def _written(spec: MatchSpec, home: str | None) -> str | dict[str, str]:
    channel = spec.channel or home
    fields = {"version": _version(spec), "build": spec.build if spec.build != "*" else "", "channel": channel}
    facts = {name: value for name, value in fields.items() if value}
    return facts if len(facts) > 1 else fields["version"] or ""


def _version(spec: MatchSpec) -> str:
    """Return the version with an operator: `2.7.1` between blanks is that very one."""
    if not spec.version:
        return "*"
    return f"=={spec.version}" if _RELEASE.fullmatch(spec.version) else spec.version


def _unwritable(text: str) -> UsageError:
    return UsageError(tr("{value} cannot be written into a pixi.toml", value=repr(text)), code="unwritable")


def _names_of(specs: Iterable[str]) -> set[str]:
    """Return the names in specs."""
    return {_parsed(spec).name for spec in specs}
