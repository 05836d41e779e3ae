"""`gpuenv matrix show --html`, looked at with a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_nvidia_smi import FakeGpu, fake_nvidia_smi
from running import Program

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
with_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")

# a browser for tests: it asks nothing of the network, and no name can be found
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
)  # fmt: skip
_BUILD = re.compile(r'<tr class="build([^"]*)" data-torch="([^"]+)" data-variant="([^"]+)"')
_MOST_BYTES = 1_500_000

Look = Callable[[Path, str], str]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Return what a browser makes of a page, its scripts run; a complaint of the page's fails the test."""

    def dump(page: Path, filters: str) -> str:
        assert CHROMIUM is not None
        seen = subprocess.run(
            (
                CHROMIUM,
                *_QUIET,
                f"--user-data-dir={tmp_path / 'browser'}",
                "--dump-dom",
                f"{page.as_uri()}#{filters}",
            ),
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert "CONSOLE" not in seen.stderr, seen.stderr
        return seen.stdout

    return dump


def builds(dom: str) -> set[tuple[str, str]]:
    """The builds that are shown, as torch and variant."""
    return {(torch, variant) for _, torch, variant in _BUILD.findall(dom)}


def write(program: Program, path: Path) -> Path:
    assert program.run("matrix", "show", "--html", str(path)).status == 0
    return path


def test_the_page_is_one_file_that_asks_for_nothing(program: Program, tmp_path: Path) -> None:
    page = write(program, tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(page.encode()) < _MOST_BYTES
    assert not re.search(r"<(?:link|img|iframe|script)[^>]*\s(?:src|href)=.(?!data:)|@import|url\(", page)


def test_a_page_that_can_not_be_written_is_refused(program: Program, tmp_path: Path) -> None:
    done = program.run("matrix", "show", "--html", str(tmp_path / "no" / "such" / "page.html"), "--json")
    assert done.status == 2
    assert done.error["code"] == "unwritable"


@with_browser
def test_the_filters_of_an_address_show_what_runs_there(program: Program, tmp_path: Path, look: Look) -> None:
    page = write(program, tmp_path / "page.html")
    everything = builds(look(page, "platform="))
    volta = builds(look(page, "gpu=7.0&driver=535.104.05&platform=linux-64"))
    assert ("2.14.1", "cu126") in volta
    assert ("2.15.0", "cu132") in everything - volta
    assert not {variant for torch, variant in volta} & {"cu130", "cu132"}
    newest = builds(look(page, "gpu=12.0&torch=2.15&platform=linux-64"))
    assert newest == {("2.15.0", "cu130"), ("2.15.0", "cu132")}
    assert builds(look(page, "gpu=3.7&driver=470.57.02&torch=2.4&platform=linux-64")) == set()


@with_browser
def test_the_machine_it_is_made_on_is_named_and_what_runs_on_it_marked(
    program: Program, tmp_path: Path, look: Look
) -> None:
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu("Tesla V100-SXM2-16GB", "7.0"))
    dom = look(write(program, tmp_path / "mine.html"), "")
    assert re.search(r'id="machine-name">[^<]*V100[^<]*535\.104\.05', dom)
    shown = _BUILD.findall(dom)
    assert shown
    assert all("here" in marks.split() for marks, _, _ in shown)


@with_browser
def test_without_a_gpu_no_machine_is_shown(program: Program, tmp_path: Path, look: Look) -> None:
    dom = look(write(program, tmp_path / "page.html"), "")
    assert re.search(r'<section id="machine"[^>]* hidden', dom)
    assert not any("here" in marks.split() for marks, _, _ in _BUILD.findall(dom))
