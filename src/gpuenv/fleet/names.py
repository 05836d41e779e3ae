"""What environments and files are called where many machines are at work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from gpuenv.environments.store import bad_name, check_name
from gpuenv.fleet.model import FleetGroup, FleetPlan
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import UsageError

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_BY_PATH = "/FOLDER/NAME"
_LONGEST = 80  # characters, with which a digest and an ending are a name of a file anywhere


def check_environment(name: str) -> None:
    """Raise UsageError unless `name` is a name, or a path as it is on any of the machines: from `/` on."""
    if is_path(name):
        if not name.isprintable() or ".." in name.split("/") or name.rstrip("/") == "":
            raise bad_name(name, tr("it is not a valid path of an environment"), _BY_PATH)
    elif "/" in name or name.startswith((".", "~")):
        raise bad_name(name, tr("a path on other machines starts with `/`"), _BY_PATH)
    else:
        check_name(name, _BY_PATH)


def is_path(name: str) -> bool:
    """Whether an environment is named by its path."""
    return name.startswith("/")


def placed(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a request with the path of the environment instead of its name, if it is a path."""
    if not is_path(name):
        return dict(request)
    return {**{key: value for key, value in request.items() if key != "name"}, "target": name}


def group_names(name: str, fleet: FleetPlan, *, shared_home: bool) -> dict[int, str]:
    """Return what the environments of the groups are called, by the groups' numbers.

    On machines with homes of their own all have one name. On a shared home each of several groups has its
    own: paper-cu126, and where two groups have one variant, paper-cu126-linux-64, ...-linux-64-py3.11.
    """
    numbers = range(1, len(fleet.groups) + 1)
    if not shared_home or len(fleet.groups) < 2:  # noqa: PLR2004 - one group takes the name as it is
        return dict.fromkeys(numbers, name)
    stem = name.rstrip("/")
    return {number: f"{stem}-{label}" for number, label in zip(numbers, _labels(fleet.groups), strict=True)}


def _labels(groups: tuple[FleetGroup, ...]) -> list[str]:
    """Return what tells the groups apart, the same whichever other machines are there."""
    labels = [group.plan.variant for group in groups]
    for more in (lambda item: item.platform, lambda item: f"py{item.plan.python}", _torch):
        again = {label for label in labels if labels.count(label) > 1}
        labels = [
            f"{label}-{more(group)}" if label in again else label
            for label, group in zip(labels, groups, strict=True)
        ]
    again = {label for label in labels if labels.count(label) > 1}
    return [f"{label}-{position}" if label in again else label for position, label in enumerate(labels, 1)]


def _torch(group: FleetGroup) -> str:
    return f"torch{group.plan.packages[0].version.partition('+')[0]}"


def file_names(hosts: tuple[str, ...]) -> dict[str, str]:
    """Return the file that each host is saved in: its name, where that is a file's name on every system.

    Other names, and those that differ in their letters' case alone, have a part of their digest added.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for host in hosts:
        stem = _stem(host)
        if stem != host or stem.lower() in taken:
            stem = f"{stem}-{sha256(host.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        taken.add(stem.lower())
        names[host] = f"{stem}.json"
    return names


def _stem(host: str) -> str:
    stem = _UNSAFE.sub("_", host).lstrip(".-")[:_LONGEST] or "host"
    try:
        check_name(stem)
    except UsageError:  # one that Windows keeps for itself
        return f"host-{stem}".rstrip(".")
    return stem
