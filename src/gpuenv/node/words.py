"""An answer in words, for who runs the program where no gpuenv reads it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from typing import Any


def in_words(answer: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[list[str], bool]:
    """Return the lines to print, each with the machine's name before it, and whether all is well."""
    reason = reason_of(answer)
    log = [] if answer.get("ok") else str(answer.get("log") or "").splitlines()
    done = "{}: {}".format(answer.get("state", "it works"), answer.get("environment", ""))
    lines = [done] if reason is None else [*log, *reason.splitlines()]
    host = environ.get("SLURMD_NODENAME") or platform.node()
    return [f"{host}: {line}" for line in lines], reason is None


def reason_of(answer: Mapping[str, Any]) -> str | None:
    """Return why an answer is bad news, None where it is good."""
    if not answer.get("ok"):
        error = answer.get("error") or {}
        return "\n".join(map(str, ["error: {}".format(error.get("message")), *(error.get("because") or [])]))
    return _not_proven(answer) if "report" in answer else None


def _not_proven(answer: Mapping[str, Any]) -> str | None:
    """Return what an environment fails at; gpuenv can tell more of it (`gpuenv fleet verify`)."""
    report, where = answer["report"], answer.get("environment")
    if not isinstance(report, dict):
        return "\n".join([f"error: the tests of {where} left no report", *(answer.get("printed") or [])])
    torch = report.get("torch")
    if not isinstance(torch, dict):
        return "error: torch can't be imported in {}: {}".format(where, json.dumps(report.get("failure")))
    devices = report.get("devices") or []
    if torch.get("cuda") and not any(device.get("index") is not None for device in devices):
        return "error: torch sees no GPU in {}: {}".format(where, torch.get("error") or "none is visible")
    tests = [(device.get("name"), test) for device in devices for test in device.get("tests") or []]
    failed = [(name, test.get("id"), test.get("detail")) for name, test in tests if not test.get("ok")]
    if failed:
        return "\n".join("error: {}: {}: {}".format(*item) for item in failed)
    if not tests or not report.get("complete"):
        return f"error: the tests of {where} did not come to their end"
    return None
