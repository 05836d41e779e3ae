"""What a command came to on many machines: as a table, as lines, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from gpuenv.fleet.grouping.advice import listed
from gpuenv.fleet.render.plan import driver_of, gpus_in_words, render_fleet_data, torch_of
from gpuenv.fleet.run_model import FleetRun, HostOutcome, OutcomeState
from gpuenv.formats.shell import one_line
from gpuenv.i18n.messages import N_, gettext, series, tr
from gpuenv.model.errors import (
    Because,
    Fix,
    GpuenvError,
    InstallFailed,
    Unreachable,
    Unsatisfiable,
    VerificationFailed,
)
from gpuenv.model.machine_json import render_machine

_LONGEST = 40  # characters of a host's name in a table
_MOST_REASONS = 10
_MOST_FIXES = 4
_LAST_LINES = 4  # of an installer

STATES: dict[OutcomeState, str] = {
    "waiting": N_("not started"),
    "running": N_("interrupted"),
    "unreachable": N_("unreachable"),
    "failed": N_("failed"),
    "detected": N_("detected"),
    "not-served": N_("not supported"),
    "planned": N_("planned"),
    "not-made": N_("not created"),
    "made": N_("made"),
    "replaced": N_("replaced"),
    "unchanged": N_("unchanged"),
    "would-make": N_("would be created"),
    "would-replace": N_("would be replaced"),
    "verified": N_("verified"),
    "not-verified": N_("not verified"),
}
_COLUMNS = {
    "host": N_("machine"),
    "gpus": N_("GPUs"),
    "driver": N_("driver"),
    "pythons": N_("Pythons"),
    "group": N_("group"),
    "torch": N_("torch"),
    "python": N_("Python"),
    "state": N_("state"),
    "verify": N_("verify"),
    "environment": N_("environment"),
}
_BRIEF = ("host", "group", "torch", "state", "verify", "environment")  # after the plan has been shown
_OF_COMMAND = {
    "detect": ("host", "gpus", "driver", "pythons", "state"),
    "plan": ("host", "gpus", "driver", "group", "torch", "python", "state"),
    "create": ("host", "gpus", "driver", "group", "torch", "python", "state", "verify"),
    "verify": ("host", "gpus", "driver", "torch", "state"),
}


def columns_of(run: FleetRun, *, brief: bool = False) -> dict[str, str]:
    """Return the columns of a command's table, with their headings in English."""
    names = _BRIEF if brief and run.command == "create" else _OF_COMMAND[run.command]
    return {name: _COLUMNS[name] for name in names}


def table_rows(run: FleetRun) -> list[dict[str, Any]]:
    """Return a row a host, for a table of `columns_of`."""
    return [_row(outcome, run) for outcome in run.hosts]


def _row(outcome: HostOutcome, run: FleetRun) -> dict[str, Any]:
    group = run.fleet.groups[outcome.group - 1] if run.fleet and outcome.group else None
    return {
        "host": host_name(outcome.host),
        "gpus": gpus_in_words(outcome.machine) if outcome.machine else None,
        "driver": driver_of(outcome.machine),
        "pythons": pythons_of(outcome),
        "group": outcome.group,
        "torch": torch_of(group) if group else _proved_torch(outcome),
        "python": group.plan.python if group else None,
        "state": state_of(outcome),
        "verify": verified_in_words(outcome),
        "environment": one_line(outcome.environment) if outcome.environment else None,
    }


def host_name(host: str) -> str:
    """Return a host's name as it can be shown: in one line, and not too long."""
    name = one_line(host)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def pythons_of(outcome: HostOutcome) -> str | None:
    """Return the releases of Python that environments can be made of there."""
    versions = outcome.machine.pythons if outcome.machine else ()
    return series(dict.fromkeys(".".join(python.version.split(".")[:2]) for python in versions)) or None


def state_of(outcome: HostOutcome) -> str:
    """Return what became of a host, in the language of the texts."""
    return gettext(STATES[outcome.state])


def verified_in_words(outcome: HostOutcome) -> str | None:
    """Return whether the environment was proved there."""
    if outcome.is_proved is None:
        return None
    return tr("works") if outcome.is_proved else tr("does not work")


def _proved_torch(outcome: HostOutcome) -> str | None:
    value = outcome.verify.get("torch") if outcome.verify else None
    return one_line(value) if isinstance(value, str) else None


def counts_in_words(run: FleetRun) -> str:
    """Return how many hosts came to what: `3 made, 1 unchanged, 1 unreachable`."""
    counts = Counter(outcome.state for outcome in run.hosts)
    return series(
        tr("{count} {state}", count=counts[state], state=gettext(words))
        for state, words in STATES.items()
        if counts[state]
    )


# what went wrong

_ERRORS: tuple[tuple[tuple[OutcomeState, ...], type[GpuenvError], str], ...] = (
    (("not-made",), InstallFailed, N_("environment not created on {count} of {all} machines")),
    (("not-verified",), VerificationFailed,
     N_("the environment does not work on {count} of {all} machines")),
    (("unreachable", "failed"), Unreachable,
     N_("{count} of {all} machines could not be reached or queried")),
    (("not-served",), Unsatisfiable, N_("{count} of {all} machines are not supported")),
)  # fmt: skip
_CODES = {5: "fleet-not-made", 6: "fleet-not-verified", 4: "fleet-unreachable", 3: "machines-not-served"}


def error_of(run: FleetRun) -> GpuenvError | None:
    """Return the error that a command ends with where hosts failed: the worst, with all their reasons.

    Exit status 5 where an environment could not be made, else 6 where one does not work, else 4 where a host
    could not be reached, else 3 where nothing can be planned for one.
    """
    for states, kind, message in _ERRORS:
        count = sum(outcome.state in states for outcome in run.hosts)
        if count:
            text = tr(message, count=count, all=len(run.hosts))
            return kind(text, code=_CODES[kind.exit_code], because=_because(run), fixes=_fixes(run))
    return None


def machine_problems(run: FleetRun) -> tuple[str, ...]:
    """Return what is wrong with the machines as they are, each once with the hosts that have it."""
    results = (
        (outcome, problem.message)
        for outcome in run.hosts
        if outcome.machine
        for problem in outcome.machine.problems
    )
    return tuple(_of_hosts(text, outcomes) for text, outcomes in _by_text(results).items())


def _by_text(results: Iterable[tuple[HostOutcome, str]]) -> dict[str, list[HostOutcome]]:
    hosts: dict[str, list[HostOutcome]] = {}
    for outcome, text in results:
        hosts.setdefault(text, []).append(outcome)
    return hosts


def _of_hosts(text: str, outcomes: Iterable[HostOutcome]) -> str:
    names = listed(host_name(outcome.host) for outcome in outcomes)
    return tr("{names}: {problem}", names=names, problem=one_line(text))


def _because(run: FleetRun) -> tuple[Because, ...]:
    """Name each reason once, with the hosts that have it and what is under it on the first of them."""
    hosts = _by_text((outcome, outcome.problem) for outcome in run.hosts if outcome.problem)
    reasons: list[Because] = []
    for problem, outcomes in list(hosts.items())[:_MOST_REASONS]:
        reasons.append(Because(_of_hosts(problem, outcomes), run.engine))
        reasons += [Because(f"  {text}", outcomes[0].host) for text in _under(outcomes[0])]
    if len(hosts) > _MOST_REASONS:
        left = len(hosts) - _MOST_REASONS
        reasons.append(
            Because(tr("and {count} other reasons: see the table with --json", count=left), run.engine)
        )
    return tuple(reasons)


def _under(outcome: HostOutcome) -> tuple[str, ...]:
    """Return the reasons under a problem, and the last that an installer printed."""
    return (
        *outcome.because,
        *(line for line in map(one_line, outcome.log.splitlines()[-_LAST_LINES:]) if line),
    )


def _fixes(run: FleetRun) -> tuple[Fix, ...]:
    texts: Iterable[str] = dict.fromkeys(text for outcome in run.hosts for text in outcome.fixes)
    return tuple(Fix(text) for text in list(texts)[:_MOST_FIXES])


# as data


def render_run_data(run: FleetRun) -> dict[str, Any]:
    """Return the JSON form: each host with what became of it, and the plan of each group."""
    plan = render_fleet_data(run.fleet) if run.fleet else {"groups": [], "together": []}
    for group in plan["groups"]:
        group["steps"] = []  # what is run, the machines find out themselves
        group["machines"] = [outcome.host for outcome in run.hosts if outcome.group == group["group"]]
    return {
        "engine": run.engine,
        "environment": run.environment,
        "check": run.check,
        "changed": run.changed,
        "hosts": [_host_data(outcome) for outcome in run.hosts],
        "groups": plan["groups"],
        "together": plan["together"],
    }


def _host_data(outcome: HostOutcome) -> dict[str, Any]:
    return {
        "host": outcome.host,
        "state": outcome.state,
        "group": outcome.group,
        "changed": outcome.changed,
        "code": outcome.code,
        "problem": outcome.problem,
        "because": list(outcome.because),
        "fixes": list(outcome.fixes),
        "log": outcome.log,
        "environment": outcome.environment,
        "verify": outcome.verify,
        "machine": render_machine(outcome.machine) if outcome.machine else None,
    }
