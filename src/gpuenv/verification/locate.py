"""Find the Python of `gpuenv verify ENV`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from gpuenv.host.executables import find_executable, is_there
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.errors import Fix, UsageError

Lookup = Callable[[str], Path | None]
"""Returns the directory of the environment of that name, None where there is none."""

Choose = Callable[[], Path | None]
"""Returns the directory of gpuenv's only environment, None where there is none; several are an error."""

_MARKS = ("pyvenv.cfg", "conda-meta", "gpuenv.json")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_PYTHONS = ("bin/python", "bin/python3")
# a conda environment on Windows has its Python at the root
_WINDOWS_PYTHONS = ("Scripts/python.exe", "python.exe")


class LocatedPython(Struct, frozen=True):
    """The absolute path of a Python, never resolved as venvs have links, and its environment."""

    python: Path
    root: Path | None

    @property
    def label(self) -> str:
        """The environment's name in the data of verify."""
        return str(self.root or self.python)


def locate(
    env: str | None,
    environ: Mapping[str, str],
    lookup: Lookup,
    *,
    choose: Choose = lambda: None,
    own: Path = Path(sys.prefix),
    broken: bool = False,
    windows: bool = os.name == "nt",
) -> LocatedPython:
    """Return the Python of ENV, which is a name, a directory or a Python; without it, the active one.

    If none is active, that of `choose`, else that on PATH, but never gpuenv's own environment `own`. `broken`
    also accepts an environment whose Python is gone. Raises UsageError.
    """
    if env is None:
        root = _active(environ, own) or choose()
        if root is not None:
            return _locate_in(root, broken=broken, windows=windows)
        return _locate_on_path(environ, own, windows=windows)
    is_path = env.startswith((".", "~")) or os.sep in env or (os.altsep or os.sep) in env
    named = None if is_path else lookup(env)
    path = named or Path(os.path.abspath(os.path.expanduser(env)))  # noqa: PTH100, PTH111 - links must stay
    if env and os.path.isdir(path):  # noqa: PTH112 - false, where pathlib raises, for names that can't be
        return _locate_in(path, broken=broken, windows=windows)
    if os.path.isfile(path):  # noqa: PTH113
        if os.access(path, os.X_OK):
            return LocatedPython(path, environment_of(path))
        message = tr("`{path}` is not a Python: it cannot be executed", path=path)
        raise UsageError(message, code="no-python")
    _refuse_closed(path)
    if broken and _would_be_python(path):
        return LocatedPython(path, environment_of(path))
    raise UsageError(
        tr("there is no environment `{env}`", env=env if env.isprintable() else ascii(env)),
        code="no-such-environment",
        fixes=(Fix(tr("see the existing environments"), "gpuenv list"),),
    )


def environment_of(python: Path) -> Path | None:
    """Return the environment of a Python, None for an interpreter outside of any."""
    beside = python.parent
    root = beside.parent if beside.name.lower() in {"bin", "scripts"} else beside
    return root if _is_environment(root) else None


def _is_environment(root: Path) -> bool:
    return any(is_there(root / mark) for mark in _MARKS)


def _active(environ: Mapping[str, str], own: Path) -> Path | None:
    roots = (Path(environ[name]).absolute() for name in _ACTIVE if environ.get(name))
    return next((root for root in roots if not _is_same(root, own)), None)


def _locate_on_path(environ: Mapping[str, str], own: Path, *, windows: bool) -> LocatedPython:
    problem = tr("no environment is active, and there is no Python on PATH")
    fixes = [Fix(tr("name the environment, or the path of its Python"), "gpuenv verify ENV")]
    for python in _pythons_on_path(environ, windows=windows):
        root = environment_of(python)
        if not _is_same(root or _prefix_of(python), own):
            return LocatedPython(python, root)
        problem = tr(
            "no environment is active except gpuenv's own, {path}, and gpuenv has not created one yet",
            path=own,
        )
        fixes[1:] = [Fix(tr("or create one"), "gpuenv create NAME")]
    raise UsageError(problem, code="no-such-environment", fixes=tuple(fixes))


def _pythons_on_path(environ: Mapping[str, str], *, windows: bool) -> Iterator[Path]:
    """Yield the Pythons of each folder on PATH."""
    # Windows' own `python3` opens the Microsoft Store
    names = ("python", "python3") if windows else ("python3", "python")
    for folder in environ.get("PATH", "").split(os.pathsep):
        paths = (find_executable(name, {**environ, "PATH": folder}) for name in names if folder)
        yield from (python for python in paths if python)


def _prefix_of(python: Path) -> Path:
    """Return the prefix of an interpreter outside of any environment: /usr for /usr/bin/python3."""
    real = Path(os.path.realpath(python))
    return real.parent.parent if real.parent.name.lower() in {"bin", "scripts"} else real.parent


def _is_same(path: Path, other: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _locate_in(root: Path, *, broken: bool, windows: bool) -> LocatedPython:
    names = _WINDOWS_PYTHONS if windows else _PYTHONS
    paths = [root / name for name in names]
    for path in paths:
        if os.path.isfile(path):  # noqa: PTH113 - false, where pathlib raises, without permission
            return LocatedPython(path, root)
    for path in paths:
        _refuse_closed(path)
    link = next(filter(os.path.lexists, paths), None)
    if broken and _is_environment(root):
        return LocatedPython(link or paths[0], root)
    problem = tr("`{path}` is not an environment: it has no `{python}`", path=root, python=names[0])
    if link:
        target = os.path.realpath(link)
        problem = tr("`{path}` points to `{target}`, which has no reachable Python", path=link, target=target)
    raise UsageError(problem, code="no-python")


def _refuse_closed(path: Path) -> None:
    """Raise UsageError for a path in a directory that this user may not enter."""
    try:
        os.lstat(path)
    except PermissionError as error:
        fix = tr("ask its owner for permission, or create an environment of your own")
        raise UsageError(
            tr("`{path}` cannot be read: {reason}", path=path, reason=reason_of(error)),
            code="environment-unreadable",
            fixes=(Fix(fix, "gpuenv create NAME"),),
        ) from None
    except (OSError, ValueError):
        return


def _would_be_python(path: Path) -> bool:
    """Tell whether a missing file would be an environment's Python, or is a broken link named like one."""
    usual = {Path(location).name for location in (*_PYTHONS, *_WINDOWS_PYTHONS)}
    if path.name in usual and environment_of(path) is not None:
        return True
    return path.name.startswith("python") and os.path.islink(path)  # noqa: PTH114 - for names that can't be
