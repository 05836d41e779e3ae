"""The page of `gpuenv fleet --report`, looked at with a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from accessibility import violations
from chromium import Page, find_chromium, start_chromium
from deciding import gpu_machine
from plans import plan

from gpuenv.fleet.model import FleetGroup, FleetMachine, FleetPlan
from gpuenv.fleet.output_files import write_report
from gpuenv.fleet.render.report import _prose
from gpuenv.fleet.run_model import FleetRun, HostOutcome

pytestmark = pytest.mark.slow

H100 = gpu_machine("535.104.05", *["NVIDIA H100"] * 8)
EVIL = '"><script>window.harmed = 1</script><img src=x onerror="window.harmed = 1">'


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """Open the page of hosts of all kinds; it must complain of nothing, and ask for nothing but itself."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed here")
    made = {"ok": True, "lines": ["torch 2.14.1", "NVIDIA H100: 8 tests passed"], "torch": "2.14.1+cu126"}
    hosts = (
        HostOutcome("good", "made", 1, changed=True, environment="/envs/paper", verify=made, machine=H100),
        HostOutcome(EVIL, "not-made", 1, problem=EVIL, because=(EVIL,), log=f"{EVIL}\n" * 9, machine=H100),
        HostOutcome("x" * 300, "unreachable", problem="no route to host " + "y" * 300),
    )
    machines = tuple(FleetMachine(outcome.host, "", outcome.machine) for outcome in hosts)
    fleet = FleetPlan(machines, (FleetGroup("linux-64", (0, 1), plan(machines=(H100,))),), ())
    file = tmp_path / "report.html"
    write_report(FleetRun("create", "ansible", hosts, EVIL, fleet, interrupted=True), file)
    with start_chromium(chromium, tmp_path / "profile") as browser:
        opened = browser.page()
        opened.resize(1200, 900)
        opened.open(file.as_uri())
        yield opened
        assert opened.complaints == []
        assert opened.requests == [file.as_uri()]
        assert opened.evaluate("window.harmed") is None


def test_the_page_is_read_whole_and_unfolds_without_a_script(page: Page) -> None:
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("[...document.querySelectorAll('.badge')].map((one) => one.textContent)") == [
        "made", "works", "not created", "unreachable",
    ]  # fmt: skip
    first = "document.querySelector('tbody details')"
    assert page.evaluate(f"{first}.querySelector('dl').checkVisibility()") is False
    page.evaluate(f"{first}.querySelector('summary').click()")
    assert page.evaluate(f"{first}.querySelector('dl').checkVisibility()") is True
    assert "/envs/paper" in page.evaluate(f"{first}.innerText")


@pytest.mark.parametrize("width", [1200, 420])
def test_no_text_is_too_wide_for_the_window(page: Page, width: int) -> None:
    """The table alone may be scrolled to the side."""
    page.resize(width, 800, mobile=width < 500)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong(page: Page, width: int) -> None:
    page.resize(width, 800, mobile=width < 500)
    assert violations(page) == []


def test_the_state_of_a_machine_is_in_sight_on_a_phone(page: Page) -> None:
    page.resize(390, 844, mobile=True)
    ends = "[...document.querySelectorAll('td.state')].map((one) => one.getBoundingClientRect().right)"
    assert all(0 < end <= 390 for end in page.evaluate(ends))
    assert page.evaluate("document.querySelector('.wide').scrollWidth") <= 390


def test_what_stands_in_backticks_is_shown_as_code() -> None:
    assert _prose("run `df -h <x>`") == "run <code>df -h &lt;x&gt;</code>"
