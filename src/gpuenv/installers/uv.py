"""The uv manager: `uv venv`, `uv pip install`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.active_environment import without_active_hold
from gpuenv.indexes.configuration.uv_settings import uv_variables
from gpuenv.installers.protocol import (
    MISLEADING,
    InstallRequest,
    checked_arguments,
    held_arguments,
    installed_offers,
    sort_offers,
    why_checked,
    why_held,
    without,
)
from gpuenv.installers.reaching import uv_reaching
from gpuenv.installers.uv_pythons import managed_pythons
from gpuenv.model.errors import Fix, UsageError
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import CheckedStack, Sources, Step
from gpuenv.model.python import PythonOffer
from gpuenv.process.surroundings import find_executable
from gpuenv.process.uv_binary import find_embedded_uv

NAME = "uv"
REFUSING_DOWNLOADS = ("UV_PYTHON_DOWNLOADS", "UV_OFFLINE")
# `--torch-backend` sends torch to download.pytorch.org whatever the index options say (facts: B1 to B3).
_MISLEADING = (
    *MISLEADING, "UV_TORCH_BACKEND", "UV_SYSTEM_PYTHON", "UV_VENV_CLEAR", "UV_NO_VERIFY_HASHES",
)  # fmt: skip
# Of files that have a hash each, as strict as `--require-hashes`, which fails where the user has constraints.
_STRICTLY = "--verify-hashes"
_TIMEOUT_S = "120"  # uv's own 30 s is short for files of gigabytes on a slow mirror


def steps(wanted: InstallRequest) -> tuple[Step, ...]:
    """Return the commands that create the environment."""
    python = wanted.python_path or wanted.release or wanted.python
    why = tr("create an environment with Python {version}", version=wanted.python)
    venv = Step(("uv", "venv", "--python", python, wanted.target), why)
    return (venv, *install_steps(wanted, wanted.target))


def install_steps(wanted: InstallRequest, environment: str) -> tuple[Step, ...]:
    """Return the commands that install into an environment, checked files first."""
    checked = (checked_step(wanted.checked, environment),) if wanted.checked else ()
    return (*checked, install_step(wanted, environment))


def checked_step(checked: CheckedStack, environment: str, *, anew: bool = False) -> Step:
    """Return the command that installs the checked files; `anew`: also over installed ones."""
    head = ("uv", "pip", "install", "--python", environment, *(("--reinstall",) if anew else ()))
    return Step((*head, *checked_arguments(checked, _STRICTLY)), why_checked())


def install_step(wanted: InstallRequest, environment: str) -> Step:
    """Return the command that installs into an environment; a lock's hashes allow any index."""
    install, sources, held = ("uv", "pip", "install", "--python", environment), wanted.sources, wanted.held
    if wanted.hashed is not None:
        options = (*source_options(sources), "--index-strategy", "unsafe-best-match")
        return Step((*install, *held_arguments(wanted.hashed, _STRICTLY), *options), wanted.why)
    if held and held.complete and held.listed is not None:
        return Step((*install, *held_arguments(held.listed, _STRICTLY), *source_options(sources)), why_held())
    return Step((*install, *wanted.packages, *source_options(sources)), wanted.why)


def source_options(sources: Sources) -> tuple[str, ...]:
    """Return uv's options for indexes and links; extra indexes are the user's own, and take precedence."""
    access = sources.access
    options: list[str] = ["--no-index"] if sources.no_index else []
    if sources.index_url and not sources.no_index:
        options += ["--default-index", access.naming_user(sources.index_url)]
    for url in () if sources.no_index else sources.extra_index_urls:
        options += ["--index", access.naming_user(url)]
    for find_link in sources.find_links:
        options += ["--find-links", access.naming_user(find_link)]
    options += ["--only-binary", ":all:"] if sources.only_binary else []
    return tuple(options)


def find() -> str:
    """Return the path of the embedded uv, else of the one on PATH; raise UsageError without either."""
    path = find_embedded_uv() or find_executable("uv", os.environ)
    if path is not None:
        return str(path)
    fixes = (
        Fix(tr("install it next to gpuenv"), "pip install uv"),
        Fix(tr("or use another manager: --manager pip")),
    )
    raise UsageError(tr("uv was not found"), code="manager-missing", fixes=fixes)


def executables() -> Mapping[str, str]:
    """Return the path of uv."""
    return {"uv": find()}


def environment(environ: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """Return the variables for uv: the user's configuration, pip's CA bundle, a longer timeout."""
    variables = uv_variables(without(without_active_hold(environ), _MISLEADING))
    variables |= uv_reaching(sources.access, variables)
    if sources.offline:
        variables["UV_OFFLINE"] = "1"
    variables.setdefault("UV_HTTP_TIMEOUT", variables.get("UV_REQUEST_TIMEOUT", _TIMEOUT_S))
    return variables


def available_pythons(
    pythons: tuple[FoundPython, ...],
    environ: Mapping[str, str],
    *,
    offline: bool = False,
    uv: str | None = None,
) -> tuple[PythonOffer, ...]:
    """Return the installed Pythons, those that uv manages, and, unless offline, those it can download."""
    managed = _on_offer(environ, offline=offline, uv=uv)
    installed = installed_offers(pythons)
    releases = {(offer.minor, offer.free_threaded) for offer in installed}
    others = (offer for offer in managed if (offer.minor, offer.free_threaded) not in releases)
    return sort_offers((*installed, *others))


def exact_pythons(environ: Mapping[str, str], *, offline: bool = False) -> tuple[PythonOffer, ...]:
    """Return every patch release that uv manages or can download, as MAJOR.MINOR.PATCH, newest first."""
    return _on_offer(environ, offline=offline, exact=True)


def _on_offer(
    environ: Mapping[str, str], *, offline: bool, exact: bool = False, uv: str | None = None
) -> tuple[PythonOffer, ...]:
    managed = managed_pythons(uv or find(), tuple(sorted(environ.items())), exact=exact)
    downloads, uv_offline = (environ.get(name, "") for name in REFUSING_DOWNLOADS)
    if offline or downloads in {"never", "manual", "false", "0"} or uv_offline not in {"", "0", "false"}:
        return tuple(offer for offer in managed if offer.installed)
    return managed
