"""An environment that is to be changed: its packages, its original request and its sources."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuenv.changes.dependents import Needs, needs_of
from gpuenv.environments.check_installed import torch_cuda
from gpuenv.environments.contents.installed import read_installed
from gpuenv.environments.listing import python_missing
from gpuenv.environments.record import Record
from gpuenv.i18n.messages import tr
from gpuenv.installers import CONDA_MANAGERS
from gpuenv.installers.conda import commands as conda_calls
from gpuenv.installers.protocol import environment_python
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.index import IndexConfiguration
from gpuenv.model.installed import Installed
from gpuenv.model.plan import OriginalRequest, Sources
from gpuenv.model.wheel import Platform
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.find import existing
from gpuenv.operations.manage import existing_to_change
from gpuenv.operations.settle import word_for
from gpuenv.planning.index_order import served_by
from gpuenv.planning.options import PlanOptions
from gpuenv.planning.pages.listings import check_wheelhouses, configuration_for, read_installer_configuration
from gpuenv.resolution.request import STACK
from gpuenv.secrets.url_credentials import without_userinfo

_LINUX: dict[str, Platform] = {"aarch64": "linux-aarch64"}


class ChangeOptions(Struct, frozen=True):
    """Where from, as typed, and whether the torch stack may move."""

    mirrors: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    offline: bool = False
    torch: bool = False
    only_binary: bool = False


class Opened(Struct, frozen=True):
    """An environment of gpuenv's as it is now; `original` is the request in its record."""

    paths: EnvironmentPaths
    record: Record
    python: Path
    installed: tuple[Installed, ...]
    original: OriginalRequest

    @property
    def word(self) -> str:
        """What a command line calls it, in whatever folder it is typed."""
        return word_for(self.paths)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what is installed, by normalized names."""
        return {package.name: package.version for package in self.installed}

    @property
    def minor(self) -> str:
        """Its Python, MAJOR.MINOR."""
        return self.record.planned("python") or ""

    @property
    def is_condas(self) -> bool:
        """Whether a conda tool made it."""
        return self.record.manager in CONDA_MANAGERS

    @property
    def variant(self) -> str | None:
        """The variant of its torch, as torch itself says."""
        return torch_cuda(self.paths.path) or self.record.planned("variant")

    @property
    def stack(self) -> dict[str, str]:
        """The versions of the torch stack that is installed, torch first."""
        versions = self.versions
        return {name: versions[name] for name in STACK if name in versions}

    @property
    def requirements(self) -> dict[str, Requirement]:
        """What was asked for and is still installed from an index, by normalized names."""
        direct = {package.name for package in self.installed if package.direct}
        there = self.versions
        parsed = (parse_recorded(text) for text in self.original.requirements)
        named = (
            (canonicalize_name(requirement.name), requirement)
            for requirement in parsed
            if requirement is not None and requirement.url is None
        )
        return {name: requirement for name, requirement in named if name in there and name not in direct}

    @property
    def constraints(self) -> tuple[str, ...]:
        """What known-bad combinations forbid beside this torch."""
        return requirements_of(self.record.plan.get("constraints"))

    @property
    def needs(self) -> Needs:
        """Which names each installed distribution requires."""
        machine = (self.record.machine or {}).get("system") or {}
        platform: Platform = "win-64" if os.name == "nt" else _LINUX.get(machine.get("arch", ""), "linux-64")
        return {package.name: needs_of(package, platform, f"{self.minor}.0") for package in self.installed}


def open_environment(name: str, environ: Mapping[str, str], *, change: bool = False) -> Opened:
    """Return an environment that gpuenv made; with `change` an interrupted change is undone first.

    Raises UsageError for an unknown or busy one, one whose Python is gone, and one with an unreadable record.
    """
    environment = existing_to_change(name, environ) if change else existing(name, environ)
    paths, record = environment.paths, environment.record
    system = "windows" if os.name == "nt" else "linux"
    find = conda_calls.environment_python if record.manager in CONDA_MANAGERS else environment_python
    python = Path(find(str(paths.path), system))
    if record.problem is not None:
        raise UsageError(
            tr("the record of `{name}` cannot be read: {problem}", name=name, problem=record.problem),
            code="record-unreadable",
            fixes=(Fix(tr("recreate it"), f"gpuenv create {shlex.quote(name)} --force"),),
        )
    if not python.exists():
        raise python_missing(name, python)
    return Opened(paths, record, python, read_installed(paths.path), _original_request(record.plan))


def _original_request(plan: dict[str, Any]) -> OriginalRequest:
    """Return the request in a record's plan; older ones have only the requirements."""
    requested = plan.get("asked")
    if not isinstance(requested, dict):
        names = (
            requirement.name for text in texts_of(plan.get("pins")) if (requirement := parse_recorded(text))
        )
        return OriginalRequest((*names, *requirements_of(plan.get("requirements"))))
    devices = requested.get("devices")
    return OriginalRequest(
        requirements=requirements_of(requested.get("requirements")),
        mirrors=texts_of(requested.get("mirrors")),
        find_links=texts_of(requested.get("find_links")),
        cuda=str(requested.get("cuda") or "auto"),
        channel=str(requested.get("channel") or "auto"),
        devices=tuple(device for device in devices if isinstance(device, int))
        if isinstance(devices, list)
        else (),
    )


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts of a list in a record, none of anything else."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def requirements_of(value: Any) -> tuple[str, ...]:
    """Return the requirements of a list in a record; anything else was not written by gpuenv."""
    return tuple(text for text in texts_of(value) if parse_recorded(text) is not None)


def parse_recorded(text: str) -> Requirement | None:
    """Parse a requirement of a record, None for an invalid one."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def plan_options(
    opened: Opened, requirements: tuple[str, ...], options: ChangeOptions, *, cuda: str
) -> PlanOptions:
    """Return the options of a plan for the environment's own Python, from where its packages come."""
    return PlanOptions(
        requirements=requirements,
        python=opened.minor,
        cuda=cuda,
        manager="uv",
        mirrors=options.mirrors or opened.original.mirrors,
        find_links=(*options.find_links, *opened.original.find_links),
        offline=options.offline,
        only_binary=options.only_binary,
        devices=opened.original.devices,
        program=("gpuenv", "plan"),
    )


def with_its_python(opened: Opened, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables under which the environment's own Python is among those that are found."""
    folders = (str(opened.python.parent), environ.get("PATH", ""))
    return {**environ, "PATH": os.pathsep.join(folder for folder in folders if folder)}


def sources_of(opened: Opened, options: ChangeOptions, environ: Mapping[str, str]) -> Sources:
    """Return where packages beside the torch stack come from, and whether any may be built."""
    sources = _sources_of(opened, options, environ)
    return replace(sources, only_binary=options.only_binary or sources.only_binary)


def _sources_of(opened: Opened, options: ChangeOptions, environ: Mapping[str, str]) -> Sources:
    """Return where packages beside the torch stack come from: as typed, else as when it was made.

    A record holds no passwords: those of the user's configuration, of netrc and of the keyring count. Where
    it does not say, the configuration does.
    """
    check_wheelhouses(options.find_links)
    links = (*options.find_links, *opened.original.find_links)
    recorded = opened.record.plan.get("sources")
    if options.mirrors or not isinstance(recorded, dict):
        plan_options = PlanOptions(
            mirrors=options.mirrors or opened.original.mirrors, find_links=links, offline=options.offline
        )
        return _configured(configuration_for(plan_options, environ))
    configuration = read_installer_configuration(environ)
    configured = _configured(served_by(configuration.index_url, configuration, environ))
    known = {
        without_userinfo(url): url for url in (configured.index_url, *configured.extra_index_urls) if url
    }
    index = recorded.get("index_url")
    return Sources(
        index_url=known.get(index, index) if isinstance(index, str) else None,
        extra_index_urls=tuple(known.get(url, url) for url in texts_of(recorded.get("extra_index_urls"))),
        find_links=tuple(dict.fromkeys((*links, *configured.find_links))),
        no_index=recorded.get("no_index") is True,
        access=configured.access,
    )


def _configured(configuration: IndexConfiguration) -> Sources:
    return Sources(
        index_url=configuration.index_url.url if configuration.index_url else None,
        extra_index_urls=tuple(source.url for source in configuration.extra_index_urls),
        find_links=tuple(source.url for source in configuration.find_links),
        no_index=configuration.no_index,
        access=configuration.access,
    )
