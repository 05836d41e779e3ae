"""Where environments live: the same folders, names and keys as gpuenv's own (`environments.store`)."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gpuenv.on_disk.directories import identity_of
from gpuenv.on_disk.names import LONGEST, key_of, problem_of_name, problem_of_path, shown_name

from .problems import NodeError, bad_request

RECORD = "gpuenv.json"


class NodeEnvironmentPaths(NamedTuple):
    """Where one environment is or will be; `store` is gpuenv's folder, `name` what people call it."""

    store: str
    name: str
    path: str

    @property
    def key(self) -> str:
        """A file name that stands for the path, on file systems that fold case too."""
        return key_of(self.path)

    @property
    def is_elsewhere(self) -> bool:
        """Whether it lies outside the store."""
        return os.path.dirname(self.path) != os.path.join(self.store, "envs")

    @property
    def record(self) -> str:
        """The file in which gpuenv keeps what it knows of the environment."""
        return os.path.join(self.path, RECORD)

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return os.path.join(self.path, "bin", "python")

    def folder(self, name: str) -> str:
        """Return a folder of the store, which is made where it is not there."""
        path = os.path.join(self.store, name)
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from None
        return path

    def own_folder(self, name: str) -> str:
        """Return a folder of the store that no other user may enter: what lies there is acted on."""
        path = self.folder(name)
        try:
            status = os.lstat(path)
            shared = status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IWGRP  # by a group, on purpose
            if shared:
                return path
            if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077:
                os.chmod(path, 0o700)
        except OSError as error:
            raise unwritable(path, error) from None
        if status.st_uid != os.geteuid():
            message = f"`{path}` belongs to another user: GPUENV_DATA_DIR may name a folder of your own"
            raise NodeError("data-dir-foreign", message)
        return path


def unwritable(path: str, error: OSError) -> NodeError:
    """Say that gpuenv's own folder can't be written."""
    reason = error.strerror or str(error)
    message = f"`{path}` can't be written: {reason}; GPUENV_DATA_DIR may name a folder that can"
    return NodeError("data-dir-unwritable", message, (str(error),))


def find_place(request: Mapping[str, Any], environ: Mapping[str, str]) -> NodeEnvironmentPaths:
    """Return the place that a request names: by `name` in the store, or by `target`, a path."""
    name, target = request.get("name"), request.get("target")
    if isinstance(target, str) and target:
        path = _path(target)
        return NodeEnvironmentPaths(_store(environ), path, path)
    if not isinstance(name, str) or not name:
        raise bad_request("it names no environment")
    name = unicodedata.normalize("NFC", name)
    problem = "it starts with a dot" if name.startswith(".") else problem_of_name(name)
    if problem:
        raise _bad_name(name, problem)
    store = _store(environ)
    return NodeEnvironmentPaths(store, name, os.path.join(store, "envs", name))


def _store(environ: Mapping[str, str]) -> str:
    named = environ.get("GPUENV_DATA_DIR")
    if named:
        return os.path.abspath(named)
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NodeError("no-home", "there is no home directory to keep environments in: set GPUENV_DATA_DIR")
    data = environ.get("XDG_DATA_HOME", "").strip()
    if sys.platform == "darwin" and not data:
        return os.path.join(home, "Library", "Application Support", "gpuenv")
    return os.path.join(data or os.path.join(home, ".local", "share"), "gpuenv")


def _path(target: str) -> str:
    if any(unicodedata.category(letter) == "Cc" for letter in target):
        raise _bad_name(target, "it has control characters")
    path = os.path.realpath(os.path.expanduser(target))
    if not os.path.isabs(os.path.expanduser(target)):
        raise _bad_name(target, "it is no absolute path")
    home = os.path.realpath(os.path.expanduser("~"))
    problem = problem_of_path(path, os.path.dirname(path), os.path.basename(path), home)
    if problem:
        raise _bad_name(target, problem)
    return path


def _bad_name(name: str, problem: str) -> NodeError:
    problem = problem.format(longest=LONGEST)
    return NodeError("bad-name", f"`{shown_name(name)}` can't name an environment: {problem}")


def is_environment(path: str) -> bool:
    """Tell whether a directory is an environment of any manager."""
    marks = (
        os.path.isfile(os.path.join(path, "pyvenv.cfg")),
        os.path.isdir(os.path.join(path, "conda-meta")),
    )
    return identity_of(Path(path)) is not None and any(marks)


def names_in(folder: str) -> list[str]:
    """Return the names of what is in a folder; none where it can't be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
