"""What every manager offers: one module each, all of this shape."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gpuenv.i18n.messages import tr
from gpuenv.model.conda import CondaWanted
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import CheckedStack, HeldFiles, Sources, Step
from gpuenv.model.python import PythonOffer


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """What a manager is told to make.

    `python` is MAJOR.MINOR (`3.13t`: free-threaded), `python_path` the interpreter to use where one is there.
    `target` is where the environment goes; `system` is linux, windows or macos. `hashed` is a requirements
    file that has the hash of every file, and stands for all else that is asked for. `release` is the
    MAJOR.MINOR.PATCH that the manager is to bring, where a patch release was asked for. `checked` are files
    on this disk that are installed first, by their hashes; `held` are further files, by their hashes.
    """

    pins: tuple[str, ...]
    requirements: tuple[str, ...]
    constraints: tuple[str, ...]
    sources: Sources
    python: str
    python_path: str | None
    target: str
    system: str
    hashed: str | None = None
    release: str | None = None
    checked: CheckedStack | None = None
    held: HeldFiles | None = None

    @property
    def packages(self) -> tuple[str, ...]:
        """All that is asked for, each once, as pip and uv take it.

        Neither uv nor pip takes constraints on its command line, so they stand among the requirements.
        """
        if self.hashed is not None:
            return ("--no-deps", "--require-hashes", "-r", self.hashed)
        requested = tuple(dict.fromkeys((*self.pins, *self.requirements, *self.constraints)))
        for text in requested:
            if text.startswith("-"):
                raise ValueError(tr("`{text}` is an option, not a requirement", text=text))
        return requested

    @property
    def why(self) -> str:
        """Say what is installed, and why what was not asked for."""
        if self.hashed is not None:
            return tr("install the files that the lock lists, each checked by hash")
        why = (
            tr("install everything else from the index")
            if self.checked
            else tr("install torch from the source of its build, everything else from the index")
        )
        if not self.constraints:
            return why
        constraints = " ".join(self.constraints)
        return (
            why
            + "; "
            + tr("{constraints} excludes versions that are known to break it", constraints=constraints)
        )

    @property
    def target_python(self) -> str:
        """The interpreter of the environment to be made."""
        return environment_python(self.target, self.system)


def checked_arguments(checked: CheckedStack) -> tuple[str, ...]:
    """Return what pip and uv take to install checked files, and no others whatever they are configured for.

    By hash, not by path: for a path they would record in the environment where the file lay.
    """
    folders = (word for folder in checked.folders for word in ("--find-links", folder))
    return ("--no-deps", "--no-index", "--require-hashes", "-r", checked.listed, *folders)


def held_arguments(listed: str) -> tuple[str, ...]:
    """Return what pip and uv take to install files by their hashes, on whichever index they lie."""
    return ("--no-deps", "--require-hashes", "-r", listed)


def why_checked() -> str:
    """Say why the torch stack is installed by itself."""
    return tr("install torch and its companions from the files that were checked")


class Manager(Protocol):
    """A module that knows one package manager."""

    NAME: str

    def steps(self, wanted: InstallRequest) -> tuple[Step, ...]:
        """Return the commands that, pasted into a shell, do what `create` does."""

    def executables(self) -> Mapping[str, str]:
        """Map the program names that stand first in the steps to the files to run, where they differ."""

    def environment(self, environ: Mapping[str, str], sources: Sources) -> dict[str, str]:
        """Return the variables to run the steps with."""

    def available_pythons(
        self, pythons: tuple[FoundPython, ...], environ: Mapping[str, str], *, offline: bool = False
    ) -> tuple[PythonOffer, ...]:
        """Return the Pythons an environment can have, newest first, installed ones before the others."""


class CondaManager(Protocol):
    """What knows one tool for conda packages."""

    @property
    def NAME(self) -> str:  # noqa: N802 - as the modules of the other managers have it
        """The name that --manager takes."""

    def steps(self, wanted: CondaWanted) -> tuple[Step, ...]:
        """Return the commands that, pasted into a shell, make the environment."""


def environment_python(target: str, system: str) -> str:
    """Return where an environment of uv or pip has its interpreter."""
    if system == "windows":
        return ntpath.join(target, "Scripts", "python.exe")
    return posixpath.join(target, "bin", "python")


def installed_offers(pythons: tuple[FoundPython, ...]) -> tuple[PythonOffer, ...]:
    """Return the interpreters that were found, as offers."""
    offers = (
        PythonOffer(python.version, python.path, installed=True, free_threaded=python.free_threaded)
        for python in pythons
    )
    return sort_offers(tuple(offers))


def sort_offers(offers: tuple[PythonOffer, ...]) -> tuple[PythonOffer, ...]:
    """Newest first; of one release the installed ones first, and free-threaded ones last."""
    return tuple(
        sorted(
            offers, key=lambda offer: (offer.minor, offer.installed, not offer.free_threaded), reverse=True
        )
    )


def without(environ: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the variables except those named: they would send an installer elsewhere."""
    return {name: value for name, value in environ.items() if name not in names}


# Under a foreign PYTHONPATH pip takes what lies there for installed; PYTHONHOME breaks any other interpreter.
MISLEADING = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
