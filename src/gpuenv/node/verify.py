"""Run the tests in an environment, with its own Python; gpuenv judges the results."""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from gpuenv.on_disk.places import EnvironmentPaths

from .create import recorded_plan
from .journal import is_pending
from .places import find_place, python_of
from .problems import NodeError, bad_request
from .running import run

_CHILD = "child.py"  # verification/child.py of gpuenv, carried beside this module
_LIMIT_S = 300.0
_SHARE_OF_A_TEST = 1 / 3
_LONGEST_S = 24 * 3600.0
_KEPT_LINES = 40
_LONGEST_LINE = 2000
_LARGEST_REPORT = 4 * 1024 * 1024


def verify(request: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Run the tests in the environment that is named; tell what they wrote, and how they ended."""
    environment = find_place(request, environ)
    if is_pending(environment) or not os.access(python_of(environment), os.X_OK):
        raise NodeError("no-such-environment", f"there is no environment `{environment.name}`")
    options = request.get("options") or {}
    if not isinstance(options, dict):
        raise bad_request("`options` is not an object")
    limit_s = options.get("timeout_s", _LIMIT_S)
    if not isinstance(limit_s, (int, float)) or not 0 < limit_s <= _LONGEST_S:
        raise bad_request("`timeout_s` is not a number of seconds")
    folder = tempfile.mkdtemp(prefix="gpuenv-verify-")
    try:
        arguments = [*_arguments(options), "--limit", str(limit_s * _SHARE_OF_A_TEST)]
        facts = _run(environment, arguments, limit_s, folder, environ)
        return dict(facts, ok=True, environment=str(environment.path), planned=_planned(environment))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    environment: EnvironmentPaths,
    arguments: list[str],
    limit_s: float,
    folder: str,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    child, result = os.path.join(folder, _CHILD), os.path.join(folder, "result.json")
    with open(child, "wb") as sink:
        sink.write(pkgutil.get_data(str(__package__), _CHILD) or b"")
    start = os.path.join(folder, "start")  # empty: no stray `torch.py` shadows the real one
    os.mkdir(start)
    python = python_of(environment)
    beside = os.pathsep.join([os.path.dirname(python), environ.get("PATH", os.defpath)])
    ended = run([python, child, result, *arguments], limit_s, dict(environ, PATH=beside), cwd=start)
    how = {"returncode": ended.returncode, "timed_out": ended.timed_out, "error": ended.error}
    printed = _some((ended.stdout + "\n" + ended.stderr).splitlines())
    return {"report": _read(result), "ended": dict(how, limit_s=limit_s), "printed": printed}


def _planned(environment: EnvironmentPaths) -> dict[str, Any]:
    """Return what the environment was planned for: gpuenv compares the result with it."""
    plan = recorded_plan(environment) or {}
    packages = plan.get("packages")
    dicts = (
        (package for package in packages if isinstance(package, dict)) if isinstance(packages, list) else ()
    )
    torch = next((entry.get("version") for entry in dicts if entry.get("name") == "torch"), None)
    requested = plan.get("asked")
    return {
        "torch": torch,
        "variant": plan.get("variant"),
        "cuda": requested.get("cuda") if isinstance(requested, dict) else None,
        "machines": plan.get("machines"),
    }


def _arguments(options: Mapping[str, Any]) -> list[str]:
    devices = options.get("devices") or []
    if not isinstance(devices, list) or not all(
        isinstance(device, int) and 0 <= device < 1 << 16 for device in devices
    ):
        raise bad_request("`devices` is not a list of numbers")
    chosen = ["--devices", ",".join(map(str, devices))] if devices else []
    return chosen + [
        option for name, option in (("compile", "--compile"), ("nccl", "--nccl")) if options.get(name)
    ]


def _read(path: str) -> Any:
    try:
        if os.path.getsize(path) > _LARGEST_REPORT:
            return None
        with open(path, encoding="utf-8", errors="replace") as source:
            return json.load(source)
    except (OSError, ValueError, RecursionError):
        return None


def _some(lines: list[str]) -> list[str]:
    """Return what was printed, without the middle where there is much of it."""
    kept = [line.rstrip()[:_LONGEST_LINE] for line in lines if line.strip()]
    half = _KEPT_LINES // 2
    if len(kept) <= _KEPT_LINES:
        return kept
    return [*kept[:half], f"({len(kept) - 2 * half} lines left out)", *kept[-half:]]
