"""The machine's own Pythons: each reports its version, and whether it can create environments."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .places import names_in
from .problems import NodeError
from .running import absolute_path, run, without_misleading

_PROGRAM = re.compile(r"python3(\.\d{1,2}t?)?")
_LIMIT_S = 10.0
_MOST = 40
_CONDA = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "miniconda", "anaconda")
# Debian has venv without ensurepip, which brings pip
_QUESTION = """
import json, os, sys
def there(name):
    try:
        __import__(name)
    except Exception:
        return False
    return True
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": "%d.%d.%d" % sys.version_info[:3],
    "release": sys.version_info[3] == "final",
    "path": os.path.realpath(sys.executable),
    "free_threaded": "t" in getattr(sys, "abiflags", ""),
    "virtual": sys.prefix != sys.base_prefix,
    "venv": there("venv"),
    "ensurepip": there("ensurepip"),
}))
"""


def find_pythons(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what each Python tells of itself, in the order of PATH, then those of uv, pyenv and conda.

    One that does not answer is reported with its path alone.
    """
    programs = list(dict.fromkeys(os.path.realpath(path) for path in _candidates(environ)))[:_MOST]
    if not programs:
        return []
    variables = without_misleading(environ)
    with ThreadPoolExecutor(max_workers=8) as pool:
        return list(pool.map(lambda program: _ask(program, variables), programs))


def choose_python(version: str, environ: Mapping[str, str]) -> str:
    """Return a Python of this machine of the wanted MAJOR.MINOR that can make environments.

    uv creates them with any; without uv it needs venv and ensurepip. Raises NodeError without such a Python.
    """
    there = [find_python for find_python in find_pythons(environ) if _is_fit(find_python, version)]
    for entry in there:
        if find_uv(environ) or (entry.get("venv") and entry.get("ensurepip")):
            return str(entry["path"])
    if there:
        named = f"Python {version} at `{there[0]['path']}`"
        raise NodeError(
            "no-venv", f"{named} cannot create environments: install `python{version}-venv`, or uv"
        )
    raise NodeError("no-python", f"there is no Python {version} on this machine")


def _is_fit(facts: Mapping[str, Any], version: str) -> bool:
    unfit = facts.get("free_threaded") or facts.get("virtual") or not facts.get("release")
    is_cpython = facts.get("implementation") == "cpython"
    return is_cpython and not unfit and str(facts.get("version")).startswith(version + ".")


def find_uv(environ: Mapping[str, str]) -> str | None:
    """Return the uv on PATH, if there is one."""
    return shutil.which("uv", path=absolute_path(environ))


def _ask(program: str, environ: Mapping[str, str]) -> dict[str, Any]:
    ended = run([program, "-I", "-c", _QUESTION], _LIMIT_S, environ, cwd="/")
    try:
        answer = json.loads(ended.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        answer = None
    return answer if isinstance(answer, dict) else {"path": program, "version": None}


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    for folder in absolute_path(environ).split(os.pathsep):
        if os.path.isabs(folder):
            for path in _programs(folder):
                # a virtual environment's leads to the one it was made from, a shim is a script that does not
                if not _is_script(path):
                    yield path
    if sys.executable:
        yield sys.executable
    for folder in _usual_folders(environ):
        for path in _programs(folder):
            yield path


def _usual_folders(environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("HOME") or os.path.expanduser("~")
    data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    uv = environ.get("UV_PYTHON_INSTALL_DIR") or os.path.join(data, "uv", "python")
    pyenv = os.path.join(environ.get("PYENV_ROOT") or os.path.join(home, ".pyenv"), "versions")
    for location in (uv, pyenv):
        for name in sorted(names_in(location)):
            if not name.startswith("."):
                yield os.path.join(location, name, "bin")
    for variable in ("CONDA_EXE", "MAMBA_EXE"):
        if os.path.isabs(environ.get(variable, "")):
            yield os.path.join(os.path.dirname(os.path.dirname(environ[variable])), "bin")
    for name in _CONDA:
        yield os.path.join(home, name, "bin")
    yield "/opt/conda/bin"


def _programs(folder: str) -> list[str]:
    """Return a folder's Pythons, the most exactly named first (`python3.12` before `python3`)."""
    names = sorted((name for name in names_in(folder) if _PROGRAM.fullmatch(name)), reverse=True)
    paths = (os.path.join(folder, name) for name in names)
    return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)]


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True
