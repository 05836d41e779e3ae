"""What a command came to on many machines: the exit status, the table, the page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest
from deciding import gpu_machine
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import plan

from gpuenv.cli.table import render_table
from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.fleet.render.report import render_report
from gpuenv.fleet.render.run import (
    STATES,
    columns_of,
    counts_in_words,
    error_of,
    machine_problems,
    render_run_data,
    table_rows,
)
from gpuenv.fleet.run_model import FleetRun, HostOutcome, OutcomeState
from gpuenv.model.machine import Problem

P100 = gpu_machine("535.104.05", "Tesla P100")
WORDS = st.text(max_size=40)
OUTCOMES = st.builds(
    HostOutcome,
    host=WORDS,
    state=st.sampled_from(list(STATES)),
    changed=st.booleans(),
    code=WORDS,
    problem=st.none() | WORDS,
    because=st.tuples(WORDS),
    fixes=st.tuples(WORDS),
    log=WORDS,
    environment=st.none() | WORDS,
    verify=st.none() | st.fixed_dictionaries({"ok": st.booleans(), "lines": st.lists(WORDS), "torch": WORDS}),
    machine=st.none() | st.builds(lambda text: replace(P100, problems=(Problem("x", text),)), WORDS),
)


def run_of(*hosts: HostOutcome, **facts: Any) -> FleetRun:
    return replace(FleetRun("create", "ansible", hosts, "paper"), **facts)


def of_state(*states: OutcomeState) -> FleetRun:
    return run_of(*(HostOutcome(f"n{position}", item, problem=item) for position, item in enumerate(states)))


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ((), 0),
        (("made", "unchanged", "replaced", "would-make", "would-replace", "detected", "verified"), 0),
        (("made", "not-served"), 3),
        (("made", "not-served", "unreachable"), 4),
        (("failed",), 4),
        (("not-served", "unreachable", "not-verified"), 6),
        (("not-verified", "not-made", "failed", "not-served"), 5),
    ],
)
def test_the_exit_status_is_that_of_the_worst(states: tuple[OutcomeState, ...], status: int) -> None:
    error = error_of(of_state(*states))
    assert (error.exit_code if error else 0) == status


def test_hosts_with_the_same_reason_are_named_together_and_all_reasons_are_told() -> None:
    hosts = [HostOutcome(f"n{number}", "unreachable", problem="refused") for number in range(3)]
    hosts += [HostOutcome("m", "not-made", problem="broken", because=("why",), log="a\nb\n\nc\nd\ne\n")]
    error = error_of(run_of(*hosts))
    assert error
    assert error.message == "environment not created on 1 of 4 machines"
    assert [because.text for because in error.because] == [
        "n0, n1, n2: refused", "m: broken", "  why", "  c", "  d", "  e",
    ]  # fmt: skip


def test_many_reasons_are_cut_and_said_to_be() -> None:
    hosts = [HostOutcome(f"n{number}", "failed", problem=f"reason {number}") for number in range(50)]
    error = error_of(run_of(*hosts))
    assert error
    assert len(error.because) == 11
    assert "40 other reasons" in error.because[-1].text


def test_what_is_wrong_with_machines_is_told_once_with_their_names() -> None:
    broken = replace(P100, problems=(Problem("x", "reboot"),))
    hosts = [HostOutcome(name, "detected", machine=broken) for name in ("a", "b")]
    assert machine_problems(run_of(*hosts, HostOutcome("c", "detected", machine=P100))) == ("a, b: reboot",)


def test_what_hosts_came_to_is_counted() -> None:
    assert counts_in_words(of_state("made", "failed", "made")) == "1 failed, 2 made"


@given(st.lists(OUTCOMES, max_size=6), st.sampled_from(["detect", "plan", "create", "verify"]))
def test_a_table_has_a_line_a_host_whatever_they_say(hosts: list[HostOutcome], command: Any) -> None:
    run = run_of(*hosts, command=command)
    lines = render_table(table_rows(run), columns_of(run)).split("\n")
    assert len(lines) == len(hosts) + 1
    assert all(line.isprintable() for line in lines)


@given(st.lists(OUTCOMES, max_size=6))
def test_the_data_are_json_with_every_host(hosts: list[HostOutcome]) -> None:
    data = json.loads(json.dumps(render_run_data(run_of(*hosts))))
    assert [item["host"] for item in data["hosts"]] == [outcome.host for outcome in hosts]
    assert data["changed"] == sum(outcome.changed for outcome in hosts)


def with_groups() -> FleetRun:
    hosts = (
        HostOutcome("a", "made", 1, changed=True, environment="/envs/paper", machine=P100),
        HostOutcome("b", "not-served", code="not-served", problem="no build", machine=P100),
    )
    machines = (FleetMachine("a", "", P100), FleetMachine("b", "", P100, "no build"))
    return run_of(*hosts, fleet=FleetPlan(machines, (FleetGroup("linux-64", (0,), plan()),), ()))


def test_groups_name_their_hosts_and_have_no_steps_that_nobody_runs() -> None:
    (group,) = render_run_data(with_groups())["groups"]
    assert group["machines"] == ["a"]
    assert group["steps"] == []
    (row, other) = table_rows(with_groups())
    assert (row["torch"], row["python"], other["torch"]) == ("2.14.1+cu126", "3.12", None)


# the page


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "ul", "li", "b", "code",
    "section", "details", "summary", "pre", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "dl",
    "dt", "dd",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "scope", "colspan", "data-label", "tabindex",
}  # fmt: skip


def page(run: FleetRun) -> Page:
    return Page(render_report(run, style="b { color: red }\n", made_by="gpuenv", made_on="today"))


@given(st.lists(OUTCOMES, max_size=4), WORDS)
def test_no_text_of_a_host_becomes_markup(hosts: list[HostOutcome], name: str) -> None:
    result = page(run_of(*hosts, environment=name))
    assert result.open == []
    assert {tag for tag, _ in result.tags} <= TAGS
    assert {attribute for _, names in result.tags for attribute in names} <= ATTRIBUTES
    assert sum(tag == "tbody" for tag, _ in result.tags) == len(hosts)


def test_the_page_tells_groups_reasons_and_what_hosts_are() -> None:
    text = "\n".join(page(replace(with_groups(), interrupted=True, check=True)).texts)
    for message in (
        "gpuenv fleet create paper", "interrupted", "dry run: no machine was changed", "torch 2.14.1+cu126",
        "b: no build", "Tesla P100", "535.104.05", "/envs/paper",
    ):  # fmt: skip
        assert message in text


def test_a_page_without_hosts_is_a_page() -> None:
    assert page(run_of()).open == []
