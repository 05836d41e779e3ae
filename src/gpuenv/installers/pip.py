"""The pip manager: `python -m venv` and `pip install`, with pip's own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.active_environment import without_active_hold
from gpuenv.installers.protocol import (
    MISLEADING,
    InstallRequest,
    checked_arguments,
    held_arguments,
    installed_offers,
    why_checked,
    why_held,
    without,
)
from gpuenv.installers.reaching import pip_reaching
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import CheckedStack, Sources, Step
from gpuenv.model.python import PythonOffer
from gpuenv.process import subprocesses as process

NAME = "pip"
_PROBE_LIMIT_S = 10.0
_MISLEADING = (
    *MISLEADING,
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_DRY_RUN",
    "PIP_NO_DEPS",
    "PIP_PYTHON",
)
_REPLACING = ("PIP_FORCE_REINSTALL", "PIP_IGNORE_INSTALLED", "PIP_UPGRADE")
# Bundled pips before 20.3 (Python 3.9.0 still has 20.2) know neither manylinux_2_28 nor the resolver.
_FIRST_WITH_NEW_PIP = (3, 10)


def steps(wanted: InstallRequest) -> tuple[Step, ...]:
    """Return the commands that create the environment; isolated, so that no `venv.py` is imported."""
    options = source_options(wanted.sources)
    install = (wanted.target_python, "-I", "-m", "pip", "install")
    why = tr("create an environment with Python {version}", version=wanted.python)
    result = [
        Step((*_interpreter(wanted), "-I", "-m", "venv", wanted.target), why),
        *_upgrade(wanted, install, options),
    ]
    if wanted.checked:
        result.append(checked_step(wanted.checked, wanted.target_python))
    held = wanted.held
    if held and held.listed is not None:
        result.append(Step((*install, *held_arguments(held.listed), *options), why_held()))
    if not (held and held.complete):
        bounds = ("--constraint", held.bounds) if held and held.bounds else ()
        result.append(Step((*install, *wanted.packages, *bounds, *options), wanted.why))
    return tuple(result)


def checked_step(checked: CheckedStack, python: str, *, anew: bool = False) -> Step:
    """Return the command that installs the checked files; `anew`: also over installed ones."""
    head = (python, "-I", "-m", "pip", "install", *(("--force-reinstall",) if anew else ()))
    return Step((*head, *checked_arguments(checked)), why_checked())


def _upgrade(wanted: InstallRequest, install: tuple[str, ...], options: tuple[str, ...]) -> tuple[Step, ...]:
    is_new = PythonOffer(wanted.python.rstrip("t")).minor >= _FIRST_WITH_NEW_PIP
    if is_new or wanted.sources.no_index or wanted.sources.offline:
        return ()
    why = tr(
        "the pip that comes with Python {version} may be too old for today's wheels", version=wanted.python
    )
    return (Step((*install, "--upgrade", "pip", *options), why),)


def _interpreter(wanted: InstallRequest) -> tuple[str, ...]:
    if wanted.python_path:
        return (wanted.python_path,)
    return ("py", f"-{wanted.python}") if wanted.system == "windows" else (f"python{wanted.python}",)


def source_options(sources: Sources) -> tuple[str, ...]:
    """Return pip's options for indexes and links; offline no index, which pip always queries."""
    no_index = sources.no_index or sources.offline
    access = sources.access
    options: list[str] = ["--no-index"] if no_index else []
    if sources.index_url and not no_index:
        options += ["--index-url", access.naming_user(sources.index_url)]
    for url in () if no_index else sources.extra_index_urls:
        options += ["--extra-index-url", access.naming_user(url)]
    for find_link in sources.find_links:
        options += ["--find-links", access.naming_user(find_link)]
    options += ["--only-binary", ":all:"] if sources.only_binary else []
    return tuple(options)


def executables() -> Mapping[str, str]:
    """Return an empty mapping: the steps name interpreters by their paths."""
    return {}


def environment(environ: Mapping[str, str], sources: Sources) -> dict[str, str]:
    """Return the variables to run pip with: the user's, without those that redirect the installation."""
    variables = without(without_active_hold(environ), _MISLEADING)
    variables |= pip_reaching(sources.access, variables)
    # of what is there, in a new environment and after a step of ours, nothing is to be replaced unseen
    variables |= dict.fromkeys(_REPLACING, "0")
    variables.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    variables.setdefault("PIP_NO_INPUT", "1")  # stdin is closed: never wait for a password
    return variables


def available_pythons(
    pythons: tuple[FoundPython, ...], environ: Mapping[str, str], *, offline: bool = False
) -> tuple[PythonOffer, ...]:
    """Return the Pythons that can create an environment with pip; pip itself installs none."""
    del offline
    offers = installed_offers(pythons)
    if not offers:
        return ()
    with ThreadPoolExecutor(max_workers=min(8, len(offers))) as pool:
        able = tuple(pool.map(lambda offer: can_make_environments(str(offer.path), environ), offers))
    return tuple(offer for offer, is_able in zip(offers, able, strict=True) if is_able)


def can_make_environments(python: str, environ: Mapping[str, str]) -> bool:
    """Tell whether the interpreter has venv and ensurepip, unlike Debian's."""
    probe = (python, "-I", "-c", "import ensurepip, venv")
    return process.run(probe, timeout_s=_PROBE_LIMIT_S, environ=without(environ, MISLEADING)).ok
