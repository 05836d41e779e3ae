"""Lists of packages (`@EXPLICIT`), which conda tools install without solving, and the traces that they leave.

https://github.com/conda/ceps/blob/main/cep-0023.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.installers.conda.tool_info import CondaInfo, ToolVersions
from gpuenv.model.conda import CondaChannel, CondaRecord
from gpuenv.secrets.url_credentials import has_userinfo

_HASH = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"(?:https?|file)://[^\s#*]+\.(?:conda|tar\.bz2)")
_UPDATED = re.compile(r"^# update specs: .*$", re.MULTILINE)
_NAME = re.compile(r"(?:.*::)?(?P<name>[\w.-]+)")


def takes_lists(info: CondaInfo, known: ToolVersions) -> bool:
    """Tell whether a tool installs a list of packages with SHA-256 hashes, and records them in full."""
    least = dict(known.lists).get(info.tool)
    return least is not None and Version(info.version) >= least


def unlisted_because(
    records: Iterable[CondaRecord],
    fetched: Iterable[CondaRecord],
    channels: tuple[CondaChannel, ...],
    *,
    hides: bool,
) -> str | None:
    """Return why packages cannot be installed from a list, None where they can.

    A list leads to its own addresses: those `fetched` must be of the channels, with their passwords,
    which the tool writes nowhere into the environment (`hides`).
    """
    urls = tuple(url for channel in channels for url in channel.urls)
    if not hides and any(map(has_userinfo, urls)):
        return tr("it would write passwords of channels into the environment")
    for record in records:
        if not _URL.fullmatch(record.url) or (has_userinfo(record.url) and not hides):
            return tr("it does not tell the address of {package}", package=record.filename)
        if not _HASH.fullmatch(record.sha256 or ""):
            return tr("it does not tell the hash of {package}", package=record.filename)
    if all(channel.urls for channel in channels):
        for record in fetched:
            if not any(record.url.startswith(f"{url.rstrip('/')}/") for url in urls):
                return tr("{package} comes from none of the channels", package=record.filename)
    return None


def render_list(records: Iterable[CondaRecord], subdir: str) -> str:
    """Render the list, in the order in which the packages are linked: each behind what it requires.

    # platform: linux-64
    @EXPLICIT
    https://conda.example/conda-forge/linux-64/libzlib-1.3.1-hb9d3cd8_2.conda#sha256:7b818e72bfe5acf3...
    """
    lines = (f"{record.url}#sha256:{record.sha256}" for record in records)
    return "\n".join((f"# platform: {subdir}", "@EXPLICIT", *lines, ""))


def history_of_specs(text: str, specs: tuple[str, ...]) -> str:
    """Return an environment's history with the specs that were asked for, as a solve would have written.

    From a list both tools write each package with its build, to which all later changes would be held:

        ==> 2026-11-23 23:27:51 <==
        # cmd: conda create -p /envs/lab --json -q -y --file /cache/list.txt
        +conda-forge/linux-64::pytorch-2.8.0-cuda129_mkl_py311_h129abc_301
        # update specs: ['https://conda.example/conda-forge/linux-64::pytorch==2.8.0=cuda129_mkl_py311_...']

    Raises ValueError where there is not one such line.
    """
    if len(_UPDATED.findall(text)) != 1:
        raise ValueError(tr("its history has an unexpected form"))
    quoted = ", ".join(json.dumps(spec, ensure_ascii=False) for spec in specs)
    return _UPDATED.sub(lambda _: f"# update specs: [{quoted}]", text)


def spec_names(specs: Iterable[str]) -> dict[str, str]:
    """Map the names of packages to the specs that ask for them: `conda-forge::numpy >=2` is for numpy."""
    named = ((_NAME.match(spec), spec) for spec in specs)
    return {match["name"].lower(): spec for match, spec in named if match}


def asked_by_configuration(needs: Mapping[str, Iterable[str]], specs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the packages that neither specs nor packages ask for: a condarc's `create_default_packages`.

    `needs` are what packages require, by name: `{"pip": ("python >=3.6", "setuptools", "wheel")}`.
    """
    required = {name: set(spec_names(texts)) & needs.keys() for name, texts in needs.items()}

    def reached(names: set[str]) -> set[str]:
        seen: set[str] = set()
        while names:
            seen |= names
            names = set().union(*(required[name] for name in names)) - seen
        return seen

    unasked = needs.keys() - reached(spec_names(specs).keys() & needs.keys())
    by_others = set().union(*(reached(required[name] - {name}) - {name} for name in unasked))
    return tuple(sorted(unasked - by_others))


def record_of_solve(document: Mapping[str, Any], record: CondaRecord) -> dict[str, Any]:
    """Return what a tool has recorded of a package with what it requires by the channel, as a solve records.

    A list does not tell; the channel's repodata mend what packages say themselves.
    """
    if not record.url:  # conda took it from its cache, with what it requires
        return dict(document)
    return {**document, "depends": list(record.depends), "constrains": list(record.constrains)}


def requested_as(document: Mapping[str, Any], spec: str | None) -> dict[str, Any]:
    """Return the record of a package with the spec that asked for it, None where none did."""
    recorded = dict(document)
    for key, requested in (("requested_spec", spec), ("requested_specs", [spec])):  # the latter in conda 26
        if recorded.pop(key, None) and spec:
            recorded[key] = requested
    return recorded
