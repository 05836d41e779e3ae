"""Ask an environment's Python what it is: in a child with a time limit that runs none of its code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv import process
from gpuenv.environments.check import site_packages
from gpuenv.machine.executables import is_there, read_text
from gpuenv.values.findings import Interpreter
from gpuenv.values.text import tr

_LIMIT_S = 20.0
_MARK = "gpuenv-interpreter:"
# -I and -S: no variable, .pth file or sitecustomize of the environment counts. From Python 3.6 on.
_QUESTION = """
import json, os, platform, site, struct, sys, sysconfig
prefix = sys.argv[1] or sys.prefix
try:
    packages = site.getsitepackages([prefix])
except AttributeError:
    packages = [sysconfig.get_paths(vars={"base": prefix, "platbase": prefix})["purelib"]]
told = {
    "version": platform.python_version(), "base_prefix": sys.prefix, "machine": platform.machine(),
    "bits": struct.calcsize("P") * 8, "free_threaded": "t" in getattr(sys, "abiflags", ""),
    "packages": packages, "own": site.getsitepackages([sys.prefix]),
    "user_site": site.getusersitepackages(),
    "stdlib": os.path.dirname(os.__file__),
}
print(sys.argv[2] + json.dumps(told))
"""


def ask_interpreter(python: Path, root: Path | None, environ: Mapping[str, str]) -> Interpreter:
    """Return what the Python tells of itself; `root` is the environment that it lies in, if in one."""
    venv = parse_pyvenv((read_text(root / "pyvenv.cfg") if root else None) or "")
    prefix = str(root) if root and (venv or is_there(root / "conda-meta")) else ""
    variables = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    argv = [str(python), "-I", "-S", "-c", _QUESTION, prefix, _MARK]
    done = process.run(argv, timeout_s=_LIMIT_S, environ=variables)
    try:
        told = parse_answer(done.stdout)
    except ValueError:
        return _silent(python, root, done)
    return _described(python, prefix, told, venv, environ)


def parse_answer(text: str) -> dict[str, Any]:
    """Return what the child printed behind its mark; raise ValueError without it."""
    line = next((line for line in text.splitlines() if line.startswith(_MARK)), None)
    if line is None:
        raise ValueError(tr("the interpreter did not answer"))
    try:
        told = json.loads(line.removeprefix(_MARK))
    except RecursionError:
        raise ValueError(tr("the interpreter's answer is nested too deeply")) from None
    if not isinstance(told, dict) or not isinstance(told.get("packages"), list):
        raise ValueError(tr("the interpreter's answer is of another kind"))
    return told


def parse_pyvenv(text: str) -> dict[str, str]:
    """Parse pyvenv.cfg: `include-system-site-packages = false`; keys in lower case."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _silent(python: Path, root: Path | None, done: process.Completed) -> Interpreter:
    if done.timed_out:
        reason = tr("it did not answer within {seconds:g} s", seconds=_LIMIT_S)
    else:
        last = next((line for line in reversed((done.stderr or "").splitlines()) if line.strip()), "")
        reason = done.error or last[:300] or tr("it ended without a word")
    places = tuple(map(str, site_packages(root))) if root else ()
    return Interpreter(str(python), prefix=str(root) if root else None, packages=places, problem=reason)


def _described(
    python: Path, prefix: str, told: dict[str, Any], venv: Mapping[str, str], environ: Mapping[str, str]
) -> Interpreter:
    shares = not venv or venv.get("include-system-site-packages", "").lower() == "true"
    packages = [str(one) for one in told["packages"]]
    packages += [str(one) for one in told["own"]] if venv and shares else []
    found = tuple(dict.fromkeys(place for place in packages if os.path.isdir(place)))  # noqa: PTH112
    locked = Path(str(told["stdlib"]), "EXTERNALLY-MANAGED")
    return Interpreter(
        path=str(python),
        version=str(told["version"]),
        prefix=prefix or str(told["base_prefix"]),
        base_prefix=str(told["base_prefix"]),
        machine=_architecture(str(told["machine"])),
        bits=int(told["bits"]),
        free_threaded=bool(told["free_threaded"]),
        packages=found,
        user_site=str(told["user_site"]),
        uses_user_site=shares and not environ.get("PYTHONNOUSERSITE"),
        locked=str(locked) if not venv and locked.is_file() else None,
        writable=bool(found) and os.access(found[0], os.W_OK),
    )


def _architecture(name: str) -> str:
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name.lower())
