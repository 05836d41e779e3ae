"""Where environments live: the same folders, names and keys as gpuenv's own (`environments.store`)."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv.on_disk.directories import restrict_directory
from gpuenv.on_disk.names import LONGEST, problem_of_name, problem_of_path, shown_name
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore

from .problems import NodeError, bad_request


def python_of(environment: EnvironmentPaths) -> str:
    """Return an environment's interpreter."""
    return str(environment.path / "bin" / "python")


def make_folder(path: Path) -> Path:
    """Make a folder of the store; raise NodeError where it can't be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from None
    return path


def make_own_folder(path: Path) -> Path:
    """Make a folder of the store that no other user may enter: what lies there is acted on."""
    try:
        is_own = restrict_directory(make_folder(path))
    except OSError as error:
        raise unwritable(path, error) from None
    if not is_own:
        message = f"`{path}` is owned by another user: set GPUENV_DATA_DIR to a directory of your own"
        raise NodeError("data-dir-foreign", message)
    return path


def unwritable(path: Path, error: OSError) -> NodeError:
    """Say that gpuenv's own folder can't be written."""
    reason = error.strerror or str(error)
    message = f"`{path}` cannot be written: {reason}; set GPUENV_DATA_DIR to a writable directory"
    return NodeError("data-dir-unwritable", message, (str(error),))


def find_place(request: Mapping[str, Any], environ: Mapping[str, str]) -> EnvironmentPaths:
    """Return the environment that a request names: by `name` in the store, or by `target`, a path."""
    name, target = request.get("name"), request.get("target")
    if isinstance(target, str) and target:
        path = _path(target)
        return EnvironmentPaths(_store(environ), path, Path(path))
    if not isinstance(name, str) or not name:
        raise bad_request("it does not name an environment")
    name = unicodedata.normalize("NFC", name)
    problem = "it starts with a dot" if name.startswith(".") else problem_of_name(name)
    if problem:
        raise _bad_name(name, problem)
    store = _store(environ)
    return EnvironmentPaths(store, name, store.environments / name)


def _store(environ: Mapping[str, str]) -> EnvironmentStore:
    return EnvironmentStore(Path(_data_folder(environ)))


def _data_folder(environ: Mapping[str, str]) -> str:
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
        raise _bad_name(target, "it is not an absolute path")
    home = os.path.realpath(os.path.expanduser("~"))
    problem = problem_of_path(path, os.path.dirname(path), os.path.basename(path), home)
    if problem:
        raise _bad_name(target, problem)
    return path


def _bad_name(name: str, problem: str) -> NodeError:
    problem = problem.format(longest=LONGEST)
    return NodeError("bad-name", f"`{shown_name(name)}` is not a valid environment name: {problem}")


def names_in(folder: str) -> list[str]:
    """Return the names of what is in a folder; none where it can't be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
