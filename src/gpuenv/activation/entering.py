"""Entering an environment: commands that run in it, and what a shell has to change."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from gpuenv.environments.contents.constraints_file import constraints_url
from gpuenv.environments.contents.last_use import mark_used
from gpuenv.environments.listing import python_missing
from gpuenv.environments.record import Record
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.indexes.configuration.active_environment import own_constraints
from gpuenv.model.activation import Activation
from gpuenv.model.errors import Fix, UsageError
from gpuenv.operations.find import existing, foreign
from gpuenv.operations.proof_age import outdated_proof
from gpuenv.planning.own_constraints import own_pip_constraints
from gpuenv.process import foreground

_BIN = "Scripts" if os.name == "nt" else "bin"
_CONDA_BIN = ("", "Library/bin", "Scripts") if os.name == "nt" else ("bin",)
_PYTHONS = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python",)
_PIP = re.compile(r"pip(?:3(?:\.\d+)?)?(?:\.exe)?", re.IGNORECASE)
# what would send Python, pip or uv into another environment
_ELSEWHERE = (
    "PYTHONHOME", "__PYVENV_LAUNCHER__", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON",
    "UV_PYTHON", "UV_SYSTEM_PYTHON",
)  # fmt: skip
_OF_CONDA = ("CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL")
_OF_VENV = ("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT")
_PACKAGES = ("site-packages", "dist-packages")


class EnteredEnvironment(Struct, frozen=True):
    """An environment that is about to be entered; `record` is None where gpuenv did not make it."""

    name: str
    root: Path
    record: Record | None

    @property
    def is_conda(self) -> bool:
        """Whether a conda tool made it."""
        return (self.root / "conda-meta").is_dir()

    @property
    def notice(self) -> str | None:
        """What to tell before it is entered: its proof may be of other hardware."""
        return outdated_proof(self.record, self.name) if self.record else None


def find_entry(name: str, environ: Mapping[str, str]) -> EnteredEnvironment:
    """Return the environment of that name or at that path, and note that it is used.

    Raises UsageError for an unknown one, and for one whose Python is gone (another would run in its place).
    """
    path = foreign(name, environ)
    if path is not None:
        return EnteredEnvironment(name, path, None)
    environment = existing(name, environ)
    root = environment.paths.path
    if not any((root / python).exists() for python in _PYTHONS):
        raise python_missing(name, root / _PYTHONS[0])
    if os.pathsep in str(root):
        raise UsageError(
            tr("`{path}` cannot be put on PATH: it has a `{separator}`", path=root, separator=os.pathsep),
            code="bad-path",
            fixes=(Fix(tr("create it at another path")),),
        )
    mark_used(root)
    return EnteredEnvironment(name, root, environment.record)


def run(
    name: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    tell: Callable[[str], None] = lambda _: None,
) -> int:
    """Run a command in an environment, as if it were active; return the command's exit code.

    Raises UsageError where `find_entry` does, for a command that can't be started, and for pip where the
    environment has none: another's would install elsewhere.
    """
    entry = find_entry(name, environ)
    _check_pip(entry, argv[0])
    if entry.notice:
        tell(entry.notice)
    try:
        return foreground.become(argv, activated(entry.root, environ))
    except OSError as error:
        raise UsageError(
            tr("`{program}` cannot be started: {error}", program=argv[0], error=reason_of(error)),
            code="command-not-found",
            fixes=(Fix(tr("see what is in {directory}", directory=entry.root / _BIN)),),
        ) from None


def _check_pip(entry: EnteredEnvironment, program: str) -> None:
    if not _PIP.fullmatch(program):
        return
    import shutil  # noqa: PLC0415 - for pip alone

    if shutil.which(program, path=os.pathsep.join(_folders(entry.root, is_conda=entry.is_conda))):
        return
    name = shlex.quote(entry.name)
    raise UsageError(
        tr(
            "there is no `{program}` in `{name}`, and another environment's is not run",
            program=program,
            name=name,
        ),
        code="no-pip",
        fixes=(
            Fix(tr("install through gpuenv, which needs no pip inside"), f"gpuenv install {name} REQ"),
            Fix(tr("or add pip"), f"gpuenv run {name} -- python -m ensurepip --default-pip"),
        ),
    )


def activation_of(root: Path, environ: Mapping[str, str]) -> Activation:
    """Return what activating an environment changes, the user's own constraints kept."""
    is_conda = (root / "conda-meta").is_dir()
    prompt = re.sub(r"[^\w.+-]", "_", root.name)  # shells expand what a prompt says
    held = _hold(root, environ)
    variables = {name: value for name, value in held.items() if value}
    dropped = [*_ELSEWHERE, *(name for name in held if name not in variables)]
    if is_conda:
        variables |= _conda_variables(root, prompt, environ)
        dropped += _OF_VENV
    else:
        variables |= {"VIRTUAL_ENV": str(root), "VIRTUAL_ENV_PROMPT": prompt}
    if (path := environ.get("PYTHONPATH")) and (own := _own_pythonpath(path)) != path:
        variables["PYTHONPATH"] = own
    return Activation(
        prompt=prompt,
        folders=_folders(root, is_conda=is_conda),
        variables=tuple(variables.items()),
        dropped=tuple(dropped),
        scripts=_conda_scripts(root, "activate.d") if is_conda else (),
        leaving=_conda_scripts(root, "deactivate.d")[::-1] if is_conda else (),
    )


def activated(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a process that runs in an environment."""
    activation = activation_of(root, environ)
    gone = {*activation.dropped, *_OF_CONDA, *_OF_VENV}
    variables = {name: value for name, value in environ.items() if name not in gone}
    before = variables.get("PATH", os.defpath)
    variables["PATH"] = os.pathsep.join((*activation.folders, before) if before else activation.folders)
    return variables | dict(activation.variables)


def python_of(root: Path) -> Path:
    """Return an environment's interpreter."""
    return next((root / python for python in _PYTHONS if (root / python).exists()), root / _PYTHONS[0])


def programs_of(root: Path) -> Path:
    """Return the folder of a virtual environment's programs."""
    return root / _BIN


def is_active(entry: EnteredEnvironment, environ: Mapping[str, str]) -> bool:
    """Tell whether the environment is active where gpuenv was started."""
    active = environ.get("CONDA_PREFIX" if entry.is_conda else "VIRTUAL_ENV")
    on_path = environ.get("PATH", "").split(os.pathsep)
    return active == str(entry.root) and set(_folders(entry.root, is_conda=entry.is_conda)) <= set(on_path)


def _folders(root: Path, *, is_conda: bool) -> tuple[str, ...]:
    return tuple(str(root / folder) for folder in (_CONDA_BIN if is_conda else (_BIN,)))


def _hold(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the constraints in effect inside: the environment's, then the user's own; empty where none is.

    pip takes one variable in place of what its files say, so that those stand in it as well.
    """
    ours = constraints_url(root)
    pip, uv = "PIP_CONSTRAINT", "UV_CONSTRAINT"
    own = {name: own_constraints(environ[name]) for name in (pip, uv) if name in environ}
    if ours is not None:
        own = {pip: own_pip_constraints(environ, root), uv: own.get(uv, ())}
    return {name: " ".join((*([ours] if ours else []), *words)) for name, words in own.items()}


def _own_pythonpath(path: str) -> str:
    """Return PYTHONPATH without the packages of other environments: their pip would be run."""
    entries = (entry for entry in path.split(os.pathsep) if Path(entry).name not in _PACKAGES)
    return os.pathsep.join(entries)


def _conda_variables(root: Path, prompt: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what `conda activate` sets; within another environment it notes that one by its level."""
    level, before = environ.get("CONDA_SHLVL", ""), environ.get("CONDA_PREFIX")
    number = int(level) if re.fullmatch(r"[0-9]{1,3}", level) else 0
    outer = {f"CONDA_PREFIX_{number}": before} if number and before else {}
    return {
        "CONDA_PREFIX": str(root),
        "CONDA_DEFAULT_ENV": str(root),
        "CONDA_PROMPT_MODIFIER": f"({prompt}) ",
        "CONDA_SHLVL": str(number + 1),
        **outer,
    }


def _conda_scripts(root: Path, folder: str) -> tuple[str, ...]:
    """Return the scripts that packages bring, in conda's order, without their endings."""
    try:
        return tuple(
            sorted({str(path.with_suffix("")) for path in (root / "etc" / "conda" / folder).iterdir()})
        )
    except OSError:
        return ()
