"""Work on many machines: what each is told to do, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Action = Literal["detect", "create", "verify"]
# `done`: the program ran there and printed its answer, whether or not what it did succeeded.
HostState = Literal["waiting", "running", "done", "failed", "unreachable"]


@dataclass(frozen=True, slots=True)
class NodeTask:
    """What to run on machines: one action, and for each host its request (the program's standard input).

    `check` only tells what would be done. Hosts that have no request are left alone.
    """

    action: Action
    requests: Mapping[str, Mapping[str, Any]]
    check: bool = False


@dataclass(frozen=True, slots=True)
class HostResult:
    """What became of one host.

    `answer` is the JSON that the program printed there, None where it printed none; `message` is why it could
    not be reached or the program did not run, in the engine's words.
    """

    host: str
    state: HostState
    answer: Mapping[str, Any] | None = None
    message: str = ""


OnHost = Callable[[HostResult], None]


class Engine(Protocol):
    """Ansible or Slurm: knows the hosts and runs the program there; starts nothing on its own."""

    name: str

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the inventory or the partition, within `--limit`; raise UsageError."""

    def run(self, task: NodeTask, on_host: OnHost) -> tuple[HostResult, ...]:
        """Run the task everywhere it has a request for; tell each host's state as it changes.

        Returns one result a host. Raises UsageError where the engine itself is not there or does not start.
        """


@dataclass(frozen=True, slots=True)
class HostOutcome:
    """A host in the report: its machine, its group, what was made there and how it was proved."""

    host: str
    group: int | None = None
    state: str = ""
    changed: bool = False
    problem: str | None = None
    environment: str | None = None
    verify: Mapping[str, Any] | None = None
    machine: Mapping[str, Any] | None = field(default=None)
