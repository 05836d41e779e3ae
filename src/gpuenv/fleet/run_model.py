"""Work on many machines: the task of each, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from gpuenv.fleet.model import FleetPlan
from gpuenv.model.machine import Machine
from gpuenv.model.plan import PlanWarning

Action = Literal["detect", "create", "verify"]
# `done`: the program ran there and printed its answer, whether or not what it did succeeded.
HostState = Literal["waiting", "running", "done", "failed", "unreachable"]


class NodeTask(Struct, frozen=True):
    """What to run on machines: one action, and for each host its request (the program's standard input).

    `check` only tells what would be done. Hosts that have no request are left alone.
    """

    action: Action
    requests: Mapping[str, Mapping[str, Any]]
    check: bool = False


class HostResult(Struct, frozen=True):
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

    @property
    def name(self) -> str:
        """What it is called: `ansible`, `slurm`."""

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the inventory or the partition, within `--limit`; raise UsageError."""

    def run(self, task: NodeTask, on_host: OnHost) -> tuple[HostResult, ...]:
        """Run the task everywhere it has a request for; tell each host's state as it changes.

        Returns one result a host. Raises UsageError where the engine itself is not there or does not start.
        """


# `waiting` and `running` are left where an interruption came before the end.
OutcomeState = Literal[
    "waiting", "running", "unreachable", "failed", "detected", "not-served", "planned", "not-made", "made",
    "replaced", "unchanged", "would-make", "would-replace", "verified", "not-verified",
]  # fmt: skip


class HostOutcome(Struct, frozen=True):
    """A host in the report: its machine, its group, what was made there and how it was proved.

    `problem` is why it got no further, `code` its word for programs, `because` the reasons under it, `log`
    the last lines of an installer. `verify` is the data of `gpuenv verify --json` with `ok` and `lines`.
    """

    host: str
    state: OutcomeState = "waiting"
    group: int | None = None
    changed: bool = False
    code: str | None = None
    problem: str | None = None
    because: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    log: str = ""
    environment: str | None = None
    verify: Mapping[str, Any] | None = None
    machine: Machine | None = None

    @property
    def is_proved(self) -> bool | None:
        """Whether verify held; None where it did not run."""
        return None if self.verify is None else bool(self.verify.get("ok"))


class FleetRun(Struct, frozen=True):
    """What one command came to on all hosts, as far as it came.

    `engine` is `ansible` or `slurm`, `environment` the name that was given, `fleet` the plan with its groups,
    its machines in the order of `hosts`.
    """

    command: Literal["detect", "plan", "create", "verify"]
    engine: str
    hosts: tuple[HostOutcome, ...]
    environment: str | None = None
    fleet: FleetPlan | None = None
    check: bool = False
    interrupted: bool = False
    warnings: tuple[PlanWarning, ...] = ()

    @property
    def changed(self) -> int:
        """On how many hosts something was changed."""
        return sum(outcome.changed for outcome in self.hosts)
