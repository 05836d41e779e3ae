"""Read one request from standard input, do it, print one line of JSON, or words with `--in-words`.

python3 -I gpuenv-node.pyz detect|create|verify [--in-words] < REQUEST
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from .create import create
from .facts import gather_facts
from .problems import NodeError, bad_request, refused_by_system
from .verify import verify

SCHEMA_VERSION = 1
_LARGEST = 64 * 1024 * 1024
_INTERRUPTED = 130
_BAD_USAGE = 2
_IN_WORDS = "--in-words"


def main(argv: list[str]) -> int:
    """Do one action and print the answer; the status is 0 where there is one, in words where it is good."""
    if not argv or argv[0] not in _ACTIONS or argv[1:] not in ([], [_IN_WORDS]):
        print("usage: gpuenv-node.pyz {} [{}]".format("|".join(_ACTIONS), _IN_WORDS), file=sys.stderr)
        return _BAD_USAGE
    _end_cleanly()
    try:
        answer = _ACTIONS[argv[0]](_request(), dict(os.environ))
    except NodeError as error:
        answer = error.answer()
    except OSError as error:  # such as no folder for temporary files
        answer = refused_by_system(error, "").answer()
    except KeyboardInterrupt:
        return _INTERRUPTED
    if argv[1:] == [_IN_WORDS]:
        return _print_words(answer)
    document = dict({"schema_version": SCHEMA_VERSION, "action": argv[0]}, **answer)
    document["reason"] = reason_of(answer)  # for who has no gpuenv to read the rest
    # ASCII: what is between here and gpuenv may know no other encoding
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()
    return 0


def _print_words(answer: Mapping[str, Any]) -> int:
    lines, well = in_words(answer, os.environ)
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()
    return 0 if well else 1


def _detect(_request: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    return {"ok": True, "told": gather_facts(environ)}


_ACTIONS = {"detect": _detect, "create": create, "verify": verify}


def _request() -> Mapping[str, Any]:
    """Read the request; none at all is an empty one."""
    text = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(_LARGEST)
    if not text.strip():
        return {}
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise bad_request("it is not JSON") from None
    if not isinstance(request, dict):
        raise bad_request("it is not an object")
    return request


def _end_cleanly() -> None:
    """Treat the end of a job, or of a connection, as Ctrl-C, so that what is half-made goes."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


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
        return "error: torch cannot be imported in {}: {}".format(where, json.dumps(report.get("failure")))
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
