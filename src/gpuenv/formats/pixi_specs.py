"""Conda's match specs as the `[dependencies]` of a pixi.toml."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError
from gpuenv.model.match_spec import MatchSpec, parse_match_spec
from gpuenv.model.plan import Plan
from gpuenv.secrets.url_credentials import without_userinfo

_RELEASE = re.compile(r"[\w.!+-]+")  # nothing that makes it open: `2.7.1`, not `2.7.*` or `>=2.7`
Pinned = dict[str, str | dict[str, str]]


def conda_dependencies(plan: Plan) -> Pinned:
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
        joined[spec.name] = _both(joined[spec.name], spec) if spec.name in joined else spec
    return {name: _written(spec, homes.get(name)) for name, spec in joined.items()}


def _parsed(text: str) -> MatchSpec:
    try:
        return parse_match_spec(text)
    except ValueError as error:
        raise _unwritable(text) from error


def _both(spec: MatchSpec, other: MatchSpec) -> MatchSpec:
    """Return what asks for both: `>=1.9` and `<2` is `>=1.9,<2`."""
    builds, channels = _told(spec.build, other.build), _told(spec.channel, other.channel)
    versions = _told(_version(spec), _version(other))
    if len(builds) > 1 or len(channels) > 1 or (len(versions) > 1 and "|" in "".join(versions)):
        raise _unwritable(spec.name)
    return MatchSpec(spec.name, ",".join(versions), "".join(builds), next(iter(channels), None))


def _told(*fields: str | None) -> tuple[str, ...]:
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


def channels_of(plan: Plan) -> tuple[str, ...]:
    """Return the channels by name, in order of priority."""
    return tuple(without_userinfo(channel.name) for channel in plan.conda.channels) if plan.conda else ()


def names_of(specs: Iterable[str]) -> set[str]:
    """Return the names in specs."""
    return {_parsed(spec).name for spec in specs}
