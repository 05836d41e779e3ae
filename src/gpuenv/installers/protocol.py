"""The interface of the managers, which are modules, and what they have in common."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.model.conda import CondaWanted
from gpuenv.model.machine import FoundPython
from gpuenv.model.plan import CheckedStack, HeldFiles, Sources, Step
from gpuenv.model.python import PythonOffer


class InstallRequest(Struct, frozen=True):
    """The environment that a manager is to create.

    `python` is MAJOR.MINOR (`3.13t`: free-threaded), `python_path` its interpreter if installed, `release`
    the patch release to install. `target` is the path of the environment; `system` is linux, windows or
    macos. `hashed` is a requirements file with the hashes of all files, which replaces all other
    requirements. `checked` are local files to install first, `held` further files, both by their hashes.
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
        """The distinct requirements for pip and uv, constraints among them, for which they have no option."""
        if self.hashed is not None:
            return ("--no-deps", "--require-hashes", "-r", self.hashed)
        requested = tuple(dict.fromkeys((*self.pins, *self.requirements, *self.constraints)))
        for text in requested:
            if text.startswith("-"):
                raise ValueError(tr("`{text}` is an option, not a requirement", text=text))
        return requested

    @property
    def why(self) -> str:
        """Say what is installed, and why there are constraints."""
        if self.hashed is not None:
            return tr("install the files that the lock lists, each checked by hash")
        if self.checked:
            why = tr("install everything else from the index")
        else:
            why = tr("install torch from the source of its build, everything else from the index")
        if not self.constraints:
            return why
        facts = {"constraints": " ".join(self.constraints)}
        return f"{why}; {tr('{constraints} excludes versions that are known to break it', **facts)}"

    @property
    def target_python(self) -> str:
        """The interpreter of the new environment."""
        return environment_python(self.target, self.system)


def checked_arguments(checked: CheckedStack, strictly: str = "--require-hashes") -> tuple[str, ...]:
    """Return the arguments to install only checked files, by hash, as their paths would be recorded."""
    folders = (word for folder in checked.folders for word in ("--find-links", folder))
    return ("--no-deps", "--no-index", strictly, "-r", checked.listed, *folders)


def held_arguments(listed: str, strictly: str = "--require-hashes") -> tuple[str, ...]:
    """Return the arguments by which pip and uv install files by their hashes, from any index."""
    return ("--no-deps", strictly, "-r", listed)


def why_checked() -> str:
    """Say why the torch stack is installed by itself."""
    return tr("install torch and its companions from the files that were checked")


def why_held() -> str:
    """Say why the rest is installed by hash."""
    return tr("install the rest by hash, each from the first index that lists it")


class Manager(Protocol):
    """A module that knows one package manager."""

    NAME: str

    def steps(self, wanted: InstallRequest) -> tuple[Step, ...]:
        """Return the commands that, pasted into a shell, do what `create` does."""

    def executables(self) -> Mapping[str, str]:
        """Map the programs of the steps to paths, where they are not on PATH."""

    def environment(self, environ: Mapping[str, str], sources: Sources) -> dict[str, str]:
        """Return the variables to run the steps with."""

    def available_pythons(
        self, pythons: tuple[FoundPython, ...], environ: Mapping[str, str], *, offline: bool = False
    ) -> tuple[PythonOffer, ...]:
        """Return the available Pythons, newest first, installed ones before the others."""


class CondaManager(Protocol):
    """A manager of conda packages."""

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
    """Return installed interpreters as offers."""
    return sort_offers(
        PythonOffer(python.version, python.path, installed=True, free_threaded=python.free_threaded)
        for python in pythons
    )


def sort_offers(offers: Iterable[PythonOffer]) -> tuple[PythonOffer, ...]:
    """Newest first; of one release the installed ones first, and free-threaded ones last."""

    def order(offer: PythonOffer) -> tuple[object, ...]:
        return offer.minor, offer.installed, not offer.free_threaded

    return tuple(sorted(offers, key=order, reverse=True))


def without(environ: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the variables without some that would redirect an installer."""
    return {name: value for name, value in environ.items() if name not in names}


# pip counts packages in a foreign PYTHONPATH as installed; PYTHONHOME breaks any other interpreter.
MISLEADING = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
