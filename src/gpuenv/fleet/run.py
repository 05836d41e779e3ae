"""Work on many machines: detect, plan, lock, create, verify; and what is known of each machine by then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any, Protocol

from msgspec.structs import replace

from gpuenv.explanation.installer_failure import with_cause
from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.fleet.names import placed
from gpuenv.fleet.parse_answers import (
    NodeFailure,
    NodeVerified,
    parse_created,
    parse_detected,
    parse_verified,
)
from gpuenv.fleet.plan import plan_fleet
from gpuenv.fleet.requests import create_request, verify_request
from gpuenv.fleet.run_model import Action, Engine, FleetRun, HostOutcome, HostResult, NodeTask, OutcomeState
from gpuenv.fleet.saved_machines import shown_names
from gpuenv.formats.shell import one_line
from gpuenv.i18n.foreign_messages import reason_of
from gpuenv.i18n.messages import tr
from gpuenv.locks.lock_plan import lock_if_possible
from gpuenv.model.errors import Because, GpuenvError, InstallFailed, Unsatisfiable, UsageError
from gpuenv.model.locked import Locked
from gpuenv.model.machine import Machine, System
from gpuenv.model.plan import Plan
from gpuenv.operations.verify import VerifyOptions
from gpuenv.planning.make_plan import choose_installer, plan_request
from gpuenv.planning.options import PlanOptions
from gpuenv.secrets.url_credentials import redact_credentials
from gpuenv.verification.describe_verdict import describe_failure, describe_verdict
from gpuenv.verification.report import render_report

_PROVABLE: tuple[OutcomeState, ...] = ("made", "replaced", "unchanged")
_CREATED: tuple[OutcomeState, ...] = (*_PROVABLE, "would-make", "would-replace")
_TARGET = ".venv"  # each node has its own
_LONGEST = 2000  # characters of what an engine says of a host

Read = Callable[[HostOutcome, Mapping[str, Any]], HostOutcome]


def check_options(options: PlanOptions, environ: Mapping[str, str]) -> None:
    """Raise UsageError for what is wrong with the options of a plan, before any host is asked."""
    options = _on_nodes(options)
    plan_request(options, choose_installer(options, environ), Machine(System("linux", "x86_64")))


def _on_nodes(options: PlanOptions) -> PlanOptions:
    return replace(options, manager="pip", on_nodes=True)


class FleetWatcher(Protocol):
    """Follows the work host by host; it may be called from several threads, one at a time."""

    def begin(self, action: Action, hosts: int) -> None:
        """Hear that something begins on this many hosts."""

    def waiting(self, host: str, why: str) -> None:
        """Hear that a host has to wait, such as in a queue."""

    def running(self, host: str) -> None:
        """Hear that a host is at work."""

    def ended(self, outcome: HostOutcome) -> None:
        """Hear what a host came to."""


class Fleet:
    """The hosts of an engine, and what is known of each; one that fails at a step is left out of the next.

    An interruption between or within the steps leaves what was known by then.
    """

    def __init__(self, engine: Engine, watcher: FleetWatcher, environ: Mapping[str, str]) -> None:
        self._engine = engine
        self._watcher = watcher
        self._environ = environ
        self._one_at_a_time = Lock()
        self._outcomes: dict[str, HostOutcome] = {}
        self._made: dict[int, Locked | Plan] = {}
        self.plan: FleetPlan | None = None

    @property
    def hosts(self) -> tuple[HostOutcome, ...]:
        """What is known of each host."""
        return tuple(self._outcomes.values())

    def run(self, command: FleetRun) -> FleetRun:
        """Return the command with what is known by now."""
        warnings = self.plan.warnings if self.plan and self.plan.groups else ()
        return replace(command, hosts=self.hosts, fleet=self.plan, warnings=warnings)

    def detect(self) -> None:
        """Let each host tell what it is; raise UsageError where the engine has no hosts or does not start."""
        self._outcomes = {host: HostOutcome(host) for host in self._engine.hosts()}
        self._carry_out(NodeTask("detect", {host: {} for host in self._outcomes}), _detected)

    def decide(self, options: PlanOptions) -> None:
        """Plan for the hosts that were detected: one environment, or the fewest.

        Raises UsageError for what is wrong with the options, and Unreachable.
        """
        names = shown_names(tuple(self._outcomes))
        machines = tuple(
            FleetMachine(name, "", host_outcome.machine, host_outcome.problem)
            for name, host_outcome in zip(names, self.hosts, strict=True)
        )
        self.plan = plan_fleet(_on_nodes(options), self._environ, target=_TARGET, machines=machines)
        for number, outcome in enumerate(self.hosts):
            self._outcomes[outcome.host] = _planned(outcome, self.plan, number)

    def lock(self, options: PlanOptions) -> None:
        """Find every file of each group's plan, once for all its machines."""
        groups: list[FleetGroup] = []
        for position, group in enumerate(self.plan.groups if self.plan else (), 1):
            try:
                made = lock_if_possible(group.plan, _on_nodes(options), self._environ)
            except (Unsatisfiable, UsageError) as error:
                self._drop(position, error)
                groups.append(group)
                continue
            self._made[position] = made
            groups.append(replace(group, plan=made.plan if isinstance(made, Locked) else made))
        self.plan = self.plan and replace(self.plan, groups=tuple(groups))

    def create(self, names: Mapping[int, str], *, force: bool = False, check: bool = False) -> None:
        """Make each group's environment, called as in `names`, on its machines; with `check` only tell."""
        requests: dict[str, Mapping[str, Any]] = {}
        for outcome in self.hosts:
            if outcome.state == "planned" and outcome.group and outcome.machine:
                made, name = self._made[outcome.group], names[outcome.group]
                request = create_request(name, made, outcome.machine, force=force, check=check)
                requests[outcome.host] = placed(request, name)
        self._carry_out(NodeTask("create", requests, check), _created)

    def verify(self, names: Mapping[int, str] | str, options: VerifyOptions) -> None:
        """Prove what was made, or on all hosts the environment of one name."""
        chosen = [
            host_outcome
            for host_outcome in self.hosts
            if host_outcome.state == "detected" or host_outcome.state in _PROVABLE
        ]
        requests = {}
        for outcome in chosen:
            name = names if isinstance(names, str) else names[outcome.group or 0]
            requests[outcome.host] = placed(verify_request(name, options), name)
        self._carry_out(NodeTask("verify", requests), self._verified)

    def _drop(self, position: int, error: GpuenvError) -> None:
        """Leave out a group whose files cannot be locked."""
        for outcome in self.hosts:
            if outcome.group == position:
                self._outcomes[outcome.host] = _with_error(replace(outcome, state="not-served"), error)

    def _verified(self, before: HostOutcome, answer: Mapping[str, Any]) -> HostOutcome:
        made = self._made.get(before.group) if before.group else None
        result = parse_verified(answer, made, before.machine)
        if isinstance(result, NodeFailure):
            return _failed(before, "not-verified", result)
        return _judged(before, result)

    def _carry_out(self, task: NodeTask, read: Read) -> None:
        if not task.requests:
            return
        left = set(task.requests)

        def on_host(result: HostResult) -> None:
            with self._one_at_a_time:
                if result.host not in left:
                    return
                if result.state == "waiting":
                    self._watcher.waiting(result.host, one_line(result.message)[:_LONGEST])
                    return
                if result.state == "running":
                    self._begun(result.host)
                    self._watcher.running(result.host)
                    return
                left.discard(result.host)
                outcome = _taken(self._outcomes[result.host], result, read)
                self._outcomes[result.host] = outcome
                self._watcher.ended(outcome)

        for host in task.requests:
            self._begun(host, waiting=True)
        self._watcher.begin(task.action, len(task.requests))
        for result in self._engine.run(task, on_host):
            on_host(result)
        for host in tuple(left):
            on_host(HostResult(host, "failed", message=tr("no information")))

    def _begun(self, host: str, *, waiting: bool = False) -> None:
        """Note how far a host is; what was made stays made, however far its proof comes."""
        before = self._outcomes[host]
        if before.state not in _PROVABLE:
            self._outcomes[host] = replace(before, state="waiting" if waiting else "running")


# what a host answered


def _taken(before: HostOutcome, result: HostResult, read: Read) -> HostOutcome:
    if result.state == "unreachable":
        return replace(before, state="unreachable", code="unreachable", problem=_reason(result.message))
    if result.state == "failed" or result.answer is None:
        return replace(before, state="failed", code="node-failed", problem=_reason(result.message))
    try:
        return read(before, result.answer)
    except (ValueError, RecursionError) as error:
        problem = tr("its output cannot be read: {reason}", reason=reason_of(error))
        return replace(before, state="failed", code="bad-answer", problem=problem)


def _reason(message: str) -> str:
    return one_line(redact_credentials(message))[:_LONGEST] or tr("no reason was given")


def _detected(before: HostOutcome, answer: Mapping[str, Any]) -> HostOutcome:
    machine = parse_detected(answer)
    if isinstance(machine, Machine):
        return replace(before, state="detected", machine=machine)
    return _failed(before, "failed", machine)


def _planned(outcome: HostOutcome, plan: FleetPlan, number: int) -> HostOutcome:
    if outcome.machine is None:
        return outcome
    group = plan.group_of(number)
    if group is not None:
        return replace(outcome, state="planned", group=group)
    problem = one_line(plan.machines[number].problem or "")
    return replace(outcome, state="not-served", code="not-served", problem=problem)


def _created(before: HostOutcome, answer: Mapping[str, Any]) -> HostOutcome:
    result = parse_created(answer)
    if isinstance(result, NodeFailure):
        return _failed(before, "not-made", result)
    state = next((known for known in _CREATED if known == result.state), None)
    if state is None:
        raise ValueError(tr("`{state}` is not a known state of an environment", state=result.state))
    return replace(before, state=state, changed=result.changed, environment=result.environment)


def _judged(before: HostOutcome, result: NodeVerified) -> HostOutcome:
    verdict, data = result.verdict, render_report(result.report, result.environment)
    verify = {"ok": verdict.ok, "lines": list(describe_verdict(result.report, verdict)), **data}
    after = replace(before, environment=result.environment, verify=verify)
    if verdict.ok:
        return after if before.state in _PROVABLE else replace(after, state="verified")
    error = _explained(describe_failure(verdict, result.environment, data))
    failed = _with_error(replace(after, state="not-verified"), error)
    return replace(failed, problem=failed.because[0], because=failed.because[1:])


def _failed(before: HostOutcome, state: OutcomeState, failure: NodeFailure) -> HostOutcome:
    """Say why a host could not; what an installer failed with goes through `explain`."""
    after = replace(before, state=state, log=redact_credentials(failure.log))
    error = InstallFailed(
        failure.message,
        code=failure.code,
        because=tuple(Because(text, before.host) for text in failure.because),
        data={"messages": failure.log.splitlines()},
    )
    return _with_error(after, _explained(error) if failure.log else error)


def _explained(error: GpuenvError) -> GpuenvError:
    with suppress(GpuenvError):  # then the failure itself has to do
        return with_cause(error)
    return error


def _with_error(after: HostOutcome, error: GpuenvError) -> HostOutcome:
    return replace(
        after,
        code=error.code,
        problem=one_line(redact_credentials(error.message)),
        because=tuple(one_line(redact_credentials(because.text)) for because in error.because),
        fixes=tuple(fix.text + (f": `{fix.command}`" if fix.command else "") for fix in error.fixes),
    )
