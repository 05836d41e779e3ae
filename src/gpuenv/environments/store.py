"""Where environments live: their names, their paths, and what gpuenv keeps beside them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from gpuenv.environments.os_errors import DISK_FULL, because_of, ways_out
from gpuenv.files.private import make_private_folder
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, GpuenvError, UsageError
from gpuenv.on_disk.directories import is_full, restrict_directory
from gpuenv.on_disk.names import LONGEST, problem_of_name, problem_of_path, shown_name
from gpuenv.on_disk.places import EnvironmentPaths, EnvironmentStore
from gpuenv.on_disk.replace import replace_file

BY_PATH = "./NAME"
_LONGEST_PART, _LONGEST_PATH = 255, 4095  # bytes, on all that gpuenv runs on
_SHOWN = 200  # letters of a path


def find_store(environ: Mapping[str, str]) -> EnvironmentStore:
    """Return GPUENV_DATA_DIR, else the platform's user data directory."""
    if environ.get("GPUENV_DATA_DIR"):
        return EnvironmentStore(_named(Path(environ["GPUENV_DATA_DIR"]).absolute()))
    from platformdirs import user_data_dir  # noqa: PLC0415 - only where no directory was named

    try:
        return EnvironmentStore(Path(user_data_dir("gpuenv", appauthor=False)))
    except RuntimeError as error:  # a user without a home, as in a container
        raise UsageError(
            tr("there is no home directory for environments: {error}", error=error),
            code="no-home",
            fixes=(Fix(tr("set GPUENV_DATA_DIR to a writable directory")),),
        ) from None


def _named(root: Path) -> Path:
    """Return the directory; raise UsageError for a path that no system can hold, which nothing can lie at."""
    if os.name == "posix" and (
        len(os.fsencode(root)) > _LONGEST_PATH
        or any(len(os.fsencode(part)) > _LONGEST_PART for part in root.parts)
    ):
        raise UsageError(
            tr("environments cannot be kept in `{path}`: {problem}", path=f"{str(root)[:_SHOWN]}…",
               problem=tr("it is longer than any system allows")),
            code="bad-path",
            fixes=(Fix(tr("set {variable} to another directory", variable="GPUENV_DATA_DIR")),),
        )  # fmt: skip
    return root


def find_place(name: str, environ: Mapping[str, str], home: Path | None = None) -> EnvironmentPaths:
    """Return where `name` is: a path when it has a separator or starts with `.` or `~`, else in the store.

    With `home`, the folder in which a conda tool keeps its environments, a name lies there.

    Raises UsageError for a name that can't be one on every system.
    """
    store = find_store(environ)
    if is_path(name):
        return EnvironmentPaths(store, name, _path(name))
    name = unicodedata.normalize("NFC", name)
    check_name(name)
    return EnvironmentPaths(store, name, (home or store.environments) / name)


def is_path(name: str) -> bool:
    """Tell whether `name` is a path: it has a separator, or starts with `.` or `~`."""
    return name.startswith((".", "~")) or os.sep in name or (os.altsep or os.sep) in name


def _path(name: str) -> Path:
    if "\0" in name or any(unicodedata.category(letter) == "Cc" for letter in name):
        raise bad_name(name, tr("it has control characters"))
    try:
        # the directory itself may be a link: what is replaced or removed is what it points to
        path = Path(os.path.realpath(Path(name).expanduser()))
        home = Path(os.path.realpath(Path("~").expanduser()))
    except (RuntimeError, OSError, ValueError) as error:
        raise bad_name(name, str(error)) from None
    problem = problem_of_path(str(path), str(path.parent), path.name, str(home))
    if problem:
        raise bad_name(name, tr(problem, longest=LONGEST))
    return path


def check_name(name: str, by_path: str = BY_PATH) -> None:
    """Raise UsageError unless `name` is a file name on every system that no program takes for an option."""
    problem = problem_of_name(name)
    if problem:
        raise bad_name(name, tr(problem, longest=LONGEST), by_path)


def bad_name(name: str, problem: str, by_path: str = BY_PATH) -> UsageError:
    """Say what is wrong with a name, and a better one; `by_path` is how a path is given instead."""
    better = _better_name(name)
    fixes = (Fix(tr("name it `{name}`", name=better)),) if better else ()
    return UsageError(
        tr("`{name}` is not a valid environment name: {problem}", name=shown_name(name), problem=problem),
        code="bad-name",
        fixes=(*fixes, Fix(tr("or give a path: `{path}`", path=by_path))),
    )


def _better_name(name: str) -> str | None:
    if is_path(name):
        return None
    better = re.sub(r"[^\w.+]+", "-", name).strip("-+._")[:40]
    return better if better and problem_of_name(better) is None else None


def make_directory(path: Path) -> Path:
    """Make a private directory of the store; raise UsageError where that can't be done."""
    try:
        make_private_folder(path)
    except OSError as error:
        raise unwritable(path, error) from None
    return path


def make_own_directory(path: Path) -> Path:
    """Make a directory of the store that no other user may enter; raise UsageError where that can't be done.

    What lies in it decides what is removed and moved: another user's is refused, unless a group shares it.
    """
    try:
        is_own = restrict_directory(make_directory(path))
    except OSError as error:
        raise unwritable(path, error) from None
    if not is_own:
        raise UsageError(
            tr("`{path}` is owned by another user", path=path),
            code="data-dir-foreign",
            fixes=(Fix(tr("set GPUENV_DATA_DIR to a directory of your own")),),
        )
    return path


def write_own_file(file: Path, text: str) -> None:
    """Write a file that only this user may read or replace; raise UsageError where that can't be done."""
    make_own_directory(file.parent)
    try:
        replace_file(file, text, mode=0o600)
    except OSError as error:
        raise unwritable(file.parent, error) from None


def unwritable(path: Path, error: OSError) -> GpuenvError:
    """Say that gpuenv's own directory can't be written."""
    text = tr("`{path}` cannot be written: {error}", path=path, error=reason_of(error))
    if is_full(error):
        return UsageError(text, code=DISK_FULL, because=because_of(path, error), fixes=ways_out())
    return UsageError(
        text,
        code="data-dir-unwritable",
        fixes=(Fix(tr("set GPUENV_DATA_DIR to a writable directory")),),
    )
