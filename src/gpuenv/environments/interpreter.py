"""Ask an environment's Python what it is: in a child with a time limit that runs none of its code."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuenv.environments.contents.pyvenv import parse_pyvenv
from gpuenv.host.executables import is_there, read_text
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.model.findings import Interpreter
from gpuenv.on_disk.installed import site_packages
from gpuenv.process import subprocesses as process
from gpuenv.process.exit_status import describe_status
from gpuenv.untrusted.documents import load_json

_LIMIT_S = 20.0
_LARGEST = 1 << 20  # bytes of an answer
_MARK = "gpuenv-interpreter:"
# -I and -S: no variable, .pth file or sitecustomize of the environment counts. From Python 3.6 on.
# Without `site` sys.prefix is the base's before Python 3.14, and Debian's getsitepackages tells by it whether
# it is asked within an environment: only there it names site-packages beside dist-packages.
_QUESTION = """
import json, os, platform, site, struct, sys, sysconfig
base = sys.base_prefix
prefix = sys.argv[1] or base
sys.prefix = prefix
try:
    packages = site.getsitepackages([prefix])
except AttributeError:
    packages = [sysconfig.get_paths(vars={"base": prefix, "platbase": prefix})["purelib"]]
facts = {
    "version": platform.python_version(), "base_prefix": base, "machine": platform.machine(),
    "bits": struct.calcsize("P") * 8, "free_threaded": "t" in getattr(sys, "abiflags", ""),
    "packages": packages, "own": site.getsitepackages([base]),
    "user_site": site.getusersitepackages(),
    "stdlib": os.path.dirname(os.__file__),
}
print(sys.argv[2] + json.dumps(facts))
"""


def ask_interpreter(python: Path, root: Path | None, environ: Mapping[str, str]) -> Interpreter:
    """Return what the Python tells of itself; `root` is the environment that it lies in, if in one."""
    venv = parse_pyvenv((read_text(root / "pyvenv.cfg") if root else None) or "")
    prefix = str(root) if root and (venv or is_there(root / "conda-meta")) else ""
    gone = _out_of_reach(python)
    if gone:
        return _silent(python, root, gone)
    variables = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    argv = [str(python), "-I", "-S", "-c", _QUESTION, prefix, _MARK]
    done = process.run(argv, timeout_s=_LIMIT_S, environ=variables, limit=_LARGEST)
    try:
        facts = parse_answer(done.stdout)
    except ValueError:
        return _silent(python, root, _last_words(done))
    return _described(python, prefix, facts, venv, environ)


def read_interpreter(python: Path, root: Path | None) -> Interpreter:
    """Return what the files of an environment tell of its Python, which is not started."""
    gone = _out_of_reach(python)
    if gone:
        return _silent(python, root, gone)
    venv = parse_pyvenv((read_text(root / "pyvenv.cfg") if root else None) or "")
    folders = site_packages(root) if root else ()
    folder = next((path.parent.name for path in folders), "")
    return Interpreter(
        path=str(python),
        version=venv.get("version") or venv.get("version_info") or folder.removeprefix("python") or None,
        prefix=str(root) if root else None,
        packages=tuple(map(str, folders)),
        writable=bool(folders) and os.access(folders[0], os.W_OK),
    )


def parse_answer(text: str) -> dict[str, Any]:
    """Return what the child printed behind its mark; raise ValueError without it."""
    line = next((line for line in text.splitlines() if line.startswith(_MARK)), None)
    if line is None:
        raise ValueError(tr("the interpreter did not respond"))
    answer = load_json(line.removeprefix(_MARK))
    if not isinstance(answer, dict) or not isinstance(answer.get("packages"), list):
        raise ValueError(tr("the interpreter's response has an unexpected format"))
    return answer


def _out_of_reach(python: Path) -> str | None:
    """Return why nothing is found at the interpreter's path, None where something is."""
    try:
        python.stat()
    except (OSError, ValueError) as error:
        if os.path.islink(python):  # noqa: PTH114 - false, where pathlib raises, without permission
            target = os.path.realpath(python)
            return tr("it points to `{target}`: {reason}", target=target, reason=reason_of(error))
        return reason_of(error)
    return None


def _last_words(done: process.Completed) -> str:
    if done.timed_out:
        return tr("it did not respond within {seconds:g} s", seconds=_LIMIT_S)
    last = next((line for line in reversed((done.stderr or "").splitlines()) if line.strip()), "")
    ended = describe_status(done.returncode) if done.returncode else tr("it ended without any output")
    if (done.returncode or 0) < 0 and last:  # a signal
        return f"{ended}: {last[:300]}"
    return done.error or last[:300] or ended


def _silent(python: Path, root: Path | None, reason: str) -> Interpreter:
    folders = tuple(map(str, site_packages(root))) if root else ()
    return Interpreter(str(python), prefix=str(root) if root else None, packages=folders, problem=reason)


def _described(
    python: Path, prefix: str, facts: dict[str, Any], venv: Mapping[str, str], environ: Mapping[str, str]
) -> Interpreter:
    shares = not venv or venv.get("include-system-site-packages", "").lower() == "true"
    packages = [str(item) for item in facts["packages"]]
    packages += [str(item) for item in facts["own"]] if venv and shares else []
    values = tuple(dict.fromkeys(package for package in packages if _may_be_folder(package)))
    machine = str(facts["machine"]).lower()
    locked = Path(str(facts["stdlib"]), "EXTERNALLY-MANAGED")
    return Interpreter(
        path=str(python),
        version=str(facts["version"]),
        prefix=prefix or str(facts["base_prefix"]),
        base_prefix=str(facts["base_prefix"]),
        machine={"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine),
        bits=int(facts["bits"]),
        free_threaded=bool(facts["free_threaded"]),
        packages=values,
        user_site=str(facts["user_site"]),
        uses_user_site=shares and not environ.get("PYTHONNOUSERSITE"),
        locked=str(locked) if not venv and locked.is_file() else None,
        writable=bool(values) and os.access(values[0], os.W_OK),
    )


def _may_be_folder(location: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(location).st_mode)  # noqa: PTH116 - texts, as the child printed them
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def is_virtual(python: Interpreter) -> bool:
    """Tell whether a Python is a virtual environment's."""
    return bool(python.prefix) and is_there(Path(python.prefix or "", "pyvenv.cfg"))


def is_environments(python: Interpreter) -> bool:
    """Tell whether a Python is an environment's, virtual or conda's, and not one by itself."""
    return is_virtual(python) or (bool(python.prefix) and is_there(Path(python.prefix or "", "conda-meta")))
