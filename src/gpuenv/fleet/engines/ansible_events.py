"""What Ansible tells of its hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpuenv.fleet.run_model import HostResult
from gpuenv.i18n.messages import tr

_LONGEST = 4000  # characters of a message
_LINES = 8
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_COMPLAINT = re.compile(r"ERROR!|\[ERROR\]|[\w-]+: error:")
_COUNT = re.compile(r"hosts \((\d+)\):")


def parse_host_list(text: str) -> tuple[str, ...]:
    """Parse what `ansible all --list-hosts` prints; raise ValueError for anything else.

    ::

          hosts (2):
            gpu1
            gpu2
    """
    lines = [line.strip() for line in _COLOUR.sub("", text).splitlines() if line.strip()]
    heads = [position for position, line in enumerate(lines) if _COUNT.fullmatch(line)]
    if not heads:
        raise ValueError(tr("ansible printed no list of hosts"))
    named = tuple(dict.fromkeys(lines[heads[-1] + 1 :]))
    counted = _COUNT.fullmatch(lines[heads[-1]])
    if counted is None or int(counted[1]) != len(named):
        raise ValueError(tr("ansible printed no list of hosts"))
    return named


def parse_event(event: Mapping[str, Any]) -> HostResult | None:
    """Parse an event of ansible-runner; None for one that changes no host's state.

    {"event": "runner_on_ok", "event_data": {"host": "gpu1", "res": {"changed": false, "answer": {...}}}}
    """
    data = _mapping(event.get("event_data"))
    host, facts = data.get("host"), _mapping(data.get("res"))
    if not isinstance(host, str):
        return None
    match event.get("event"):
        case "runner_on_start":
            return HostResult(host, "running")
        case "runner_on_unreachable":
            return HostResult(host, "unreachable", message=_message(facts))
        case "runner_on_ok" | "runner_on_failed":
            return _ended(host, facts)
        case _:
            return None


def _ended(host: str, facts: Mapping[str, Any]) -> HostResult:
    answer = facts.get("answer")
    if isinstance(answer, dict):
        return HostResult(host, "done", answer)
    return HostResult(host, "failed", message=_message(facts))


def _message(facts: Mapping[str, Any]) -> str:
    """Return Ansible's words, and the last that Python said where the module could not start."""
    words = [str(facts.get("msg") or tr("ansible reported no reason"))]
    for stream in ("module_stdout", "module_stderr"):
        words += str(facts.get(stream) or "").strip().splitlines()[-_LINES:]
    return plain("\n".join(dict.fromkeys(words)))


def plain(text: str) -> str:
    """Return text without colours and what does not print, and not too much of it."""
    lines = _COLOUR.sub("", text).splitlines()
    kept = ("".join(letter if letter.isprintable() else " " for letter in line).rstrip() for line in lines)
    return "\n".join(line for line in kept if line)[:_LONGEST]


def last_words(printed: str) -> str:
    """Return what Ansible complained of in what it printed: its errors, else its last lines.

    ::

        [WARNING]: provided hosts list is empty, only localhost is available
        ansible: error: unrecognized arguments: --sudo
        ERROR! couldn't resolve module/action 'gpuenv_node'
        [ERROR]: Specified inventory, host pattern and/or --limit leaves us without any hosts to target.
    """
    lines = [line for line in plain(printed).splitlines() if line.strip()]
    starts = [position for position, line in enumerate(lines) if _COMPLAINT.match(line)]
    return "\n".join(lines[starts[0] :][:_LINES] if starts else lines[-_LINES:])


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
