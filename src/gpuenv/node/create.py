"""Create an environment from a request; the previous one stays until the new one is complete."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping
from typing import Any

from gpuenv.on_disk.directories import read_regular
from gpuenv.on_disk.inside import find_inside
from gpuenv.on_disk.installed import installed_versions, normalized
from gpuenv.on_disk.places import RECORD, EnvironmentPaths, is_environment, is_free

from .file_lock import locked
from .journal import changing, is_pending, recover
from .making import CreateRequest, NodeCreation
from .places import find_place, python_of
from .problems import NodeError, bad_request
from .pythons import choose_python

_WAIT_S = 3600.0  # for another that makes the same environment: on a shared home all nodes come at once
_VERSION = re.compile(r"3\.\d{1,2}")
_LARGEST_RECORD = 64 * 1024 * 1024  # bytes
_KINDS = (
    ("python", str), ("requirements", str), ("hashed", bool), ("fingerprint", str), ("names", list),
    ("size", int), ("record", dict),
)  # fmt: skip


def create(request: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Make the environment that a request names, or tell with `check` what would be done."""
    wanted, environment = _wanted(request), find_place(request, environ)
    if request.get("check") is True:
        return _answer(environment, _would(wanted, environment, environ), changed=False)
    with locked(environment, _wait_s(request)) as descriptors:
        recover(environment)
        state = _state_of(wanted, environment)
        if state == "unchanged":
            return _answer(environment, state, changed=False)
        python = choose_python(wanted.python, environ)
        with changing(environment) as change:
            making = NodeCreation(wanted, environment, environ, descriptors)
            making.make(python, change.mark)
            making.record(_installed_of(wanted, environment, making.log))
            change.commit()
        return _answer(environment, state, changed=True)


def _answer(environment: EnvironmentPaths, state: str, *, changed: bool) -> dict[str, Any]:
    return {"ok": True, "changed": changed, "state": state, "environment": str(environment.path)}


def _would(wanted: CreateRequest, environment: EnvironmentPaths, environ: Mapping[str, str]) -> str:
    # what a killed program left is undone under the lock, which looking does not take
    state = "made" if is_pending(environment) else _state_of(wanted, environment)
    if state != "unchanged":
        choose_python(wanted.python, environ)
    return {"made": "would-make", "replaced": "would-replace"}.get(state, state)


# the request


def _wanted(request: Mapping[str, Any]) -> CreateRequest:
    for name, kind in _KINDS:
        if not isinstance(request.get(name), kind):
            raise bad_request(f"`{name}` is missing or of the wrong kind")
    if not _VERSION.fullmatch(request["python"]):
        raise bad_request("`python` is not a version such as 3.11")
    if not all(isinstance(name, str) for name in request["names"]):
        raise bad_request("`names` is not a list of names")
    if not isinstance(request["record"].get("plan"), dict):
        raise bad_request("`record` has no plan")
    fields = {name: request[name] for name, _ in _KINDS}
    names = tuple(sorted(map(normalized, request["names"])))
    return CreateRequest(**dict(fields, names=names, force=request.get("force") is True))


def _wait_s(request: Mapping[str, Any]) -> float:
    wait_s = request.get("wait_s", _WAIT_S)
    if isinstance(wait_s, bool) or not isinstance(wait_s, (int, float)):
        raise bad_request("`wait_s` is not a number of seconds")
    return wait_s


# the existing environment


def _state_of(wanted: CreateRequest, environment: EnvironmentPaths) -> str:
    """Return what making the environment would come to; raise NodeError where it may not be made."""
    if is_free(environment.path):
        return "made"
    if not is_environment(environment.path):
        message = f"`{environment.path}` exists and is not an environment: it is left unchanged"
        raise NodeError("not-an-environment", message)
    plan = recorded_plan(environment)
    same = plan is not None and plan.get("fingerprint") == wanted.fingerprint
    if plan is not None and same and _is_whole(environment, plan):
        return "unchanged"
    if not (same or wanted.force):
        origin = "was not created by gpuenv" if plan is None else "was created from another plan"
        message = f"the environment `{environment.name}` {origin}: choose another name, or use --force"
        raise NodeError("environment-exists", message)
    _check_replaceable(environment, plan)
    return "replaced"


def _check_replaceable(environment: EnvironmentPaths, plan: dict[str, Any] | None) -> None:
    """Raise NodeError where more than an environment of gpuenv's would be lost."""
    path = environment.path
    if plan is None and (path / "conda-meta").is_dir():
        message = f"`{path}` is a conda environment that gpuenv did not create: it is left unchanged"
        raise NodeError("foreign-environment", message)
    inside = find_inside(path)
    if inside is not None:
        message = f"`{path}` is more than one environment, `{inside}` would be lost: it is left unchanged"
        raise NodeError("not-one-environment", message)


def recorded_plan(environment: EnvironmentPaths) -> dict[str, Any] | None:
    """Return the plan in an environment's gpuenv.json, None without a readable one."""
    try:
        plan = json.loads(read_regular(environment.path / RECORD, _LARGEST_RECORD).decode("utf-8"))["plan"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return plan if isinstance(plan, dict) else None


def _is_whole(environment: EnvironmentPaths, plan: Mapping[str, Any]) -> bool:
    """Whether all that was installed is still there, in its version, with its interpreter.

    Raises NodeError where another machine made it with an interpreter that is not on this one: the two
    would take it away from each other for ever.
    """
    had, has = plan.get("installed"), installed_versions(environment.path)
    if not isinstance(had, dict) or any(has.get(name) != version for name, version in had.items()):
        return False
    link = python_of(environment)
    works = os.path.exists(link)  # a link leads to the interpreter that made it
    made_on = plan.get("made_on")
    if not works and isinstance(made_on, str) and made_on != platform.node():
        python = os.path.realpath(link)
        message = (
            f"`{environment.name}` was made on `{made_on}` with `{python}`, which is not on this machine"
        )
        raise NodeError("python-elsewhere", message)
    return works


def _installed_of(wanted: CreateRequest, environment: EnvironmentPaths, log: str) -> dict[str, str]:
    """Return the versions of what was wanted; raise NodeError where some of it is not there."""
    there = installed_versions(environment.path)
    missing = [name for name in wanted.names if name not in there]
    if missing:
        message = f"the installer did not install what was planned: {missing[0]} is missing"
        raise NodeError("not-as-planned", message, (log,))
    return {name: there[name] for name in wanted.names}
