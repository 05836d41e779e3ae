"""`gpuenv matrix show --html`, looked at and used with a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from accessibility import violations
from chromium import Browser, Page, find_chromium, start_chromium
from deciding import machine
from fake_nvidia_smi import FakeGpu, broken_nvidia_smi, fake_nvidia_smi
from running import Program, make_program

from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.gpu_coverage import runs_on
from gpuenv.resolution.target import choose_target

_MOST_BYTES = 1_500_000
_SHOWN = """[...document.querySelectorAll("tr.build")].map(
    (row) => [row.dataset.torch, row.dataset.variant, row.classList.contains("here")])"""
# driver, GPUs, platform, whether under WSL2
_MACHINES = (
    ("470.256.02", ("3.7",), "linux-64", False),
    ("450.80.02", ("7.0",), "linux-64", False),
    ("525.60.11", ("8.9",), "linux-64", False),
    ("525.60.13", ("7.5",), "linux-64", False),
    ("535.104.05", ("9.0", "7.0"), "linux-64", False),
    ("535.104.05", ("6.1",), "win-64", False),
    ("456.81", ("7.2",), "win-64", False),  # through PTX alone, which CUDA 11.3 wants a newer driver for
    ("550.54.14", ("12.0",), "linux-64", False),
    ("570.133.07", ("10.0", "8.6"), "linux-64", False),
    ("580.95.05", ("12.1",), "linux-aarch64", False),
    ("580.95.05", ("6.1", "12.0"), "linux-64", False),
    ("527.41", ("8.6",), "linux-64", True),
    ("526.98", ("8.6",), "linux-64", True),
    ("390.157", ("2.1",), "linux-64", False),
    ("418.87.01", ("6.2",), "linux-64", False),
    ("410.48", ("7.2",), "linux-64", False),
    ("999", ("10.7", "11.0"), "linux-aarch64", False),
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed here")
    with start_chromium(chromium, tmp_path_factory.mktemp("profile")) as started:
        yield started


@dataclass
class Looked:
    """The page before a reader's eyes."""

    page: Page

    def at(self, path: Path, **filters: str) -> Looked:
        self.page.open(f"{path.as_uri()}#{urlencode(filters)}")
        return self

    def go(self, **filters: str) -> Looked:
        """Follow a link to other filters."""
        self.page.evaluate(
            f"""new Promise((done) => {{
                addEventListener("hashchange", () => done(), {{once: true}});
                location.hash = {json.dumps(urlencode(filters))};
            }})"""
        )
        return self

    def shown(self) -> list[list[Any]]:
        return list(self.page.evaluate(_SHOWN))

    def builds(self) -> set[tuple[str, str]]:
        """The builds that are shown, as torch and variant."""
        return {(torch, variant) for torch, variant, _ in self.shown()}

    def marked(self) -> set[tuple[str, str]]:
        """Those that are marked to run on the machine that the page was made on."""
        return {(torch, variant) for torch, variant, here in self.shown() if here}

    def text(self, selector: str) -> str:
        return str(self.page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def focus(self, selector: str) -> None:
        self.page.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def click(self, selector: str) -> Looked:
        self.page.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        return self

    def type(self, selector: str, text: str) -> Looked:
        """Type into a field in place of what is there."""
        self.focus(selector)
        self.page.evaluate("document.activeElement.select()")
        self.page.type(text)
        return self

    def is_wrong(self, selector: str) -> bool:
        return bool(
            self.page.evaluate(f"document.querySelector({json.dumps(selector)}).ariaInvalid === 'true'")
        )


@pytest.fixture
def look(browser: Browser) -> Iterator[Looked]:
    """Look at a page; it must complain of nothing and ask for nothing but itself."""
    looked = Looked(browser.page())
    looked.page.resize(1440, 900)
    yield looked
    assert looked.page.complaints == []
    assert all(address.startswith("file:") for address in looked.page.requests)
    assert len(looked.page.requests) == 1
    looked.page.close()


def write(program: Program, path: Path) -> Path:
    done = program.run("matrix", "show", "--html", str(path))
    assert (done.status, done.out) == (0, ""), done.err
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a machine without a GPU makes it."""
    folder = tmp_path_factory.mktemp("plain")
    return write(make_program(folder / "user"), folder / "page.html")


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a machine with two kinds of GPU makes it."""
    folder = tmp_path_factory.mktemp("mine")
    program = make_program(folder / "user")
    gpus = (FakeGpu("Tesla V100-SXM2-16GB", "7.0"), FakeGpu("NVIDIA H100 PCIe", "9.0"))
    fake_nvidia_smi(program.bin, "535.104.05", *gpus)
    return write(program, folder / "page.html")


def running_on(driver: str, gpus: tuple[str, ...], platform: str, *, wsl: bool) -> set[tuple[str, str]]:
    """What the rules of the decision let run there."""
    there = machine({"driver": driver, "gpus": list(gpus), "platform": platform, "wsl": wsl})
    target, knowledge = choose_target((there,), (), cpu=False), load_knowledge()
    builds = (build for build in knowledge.builds if runs_on(build, target, knowledge))
    return {(str(build.torch), str(build.variant)) for build in builds}


def test_the_page_is_one_file_that_asks_for_nothing(plain: Path) -> None:
    page = plain.read_text(encoding="utf-8")
    assert len(page.encode()) < _MOST_BYTES
    assert not re.search(r"<(?:link|img|iframe|script)[^>]*\s(?:src|href)=.(?!data:)|@import|url\(", page)
    assert "default-src 'none'" in page


def test_a_page_that_can_not_be_written_is_refused(program: Program, tmp_path: Path) -> None:
    done = program.run("matrix", "show", "--html", str(tmp_path / "no" / "such" / "page.html"), "--json")
    assert done.status == 2
    assert done.error["code"] == "unwritable"


def test_the_filters_of_an_address_show_what_runs_there(look: Looked, plain: Path) -> None:
    everything = look.at(plain, platform="").builds()
    volta = look.go(gpu="7.0", driver="535.104.05", platform="linux-64").builds()
    assert ("2.14.1", "cu126") in volta
    assert ("2.15.0", "cu132") in everything - volta
    assert not {variant for _, variant in volta} & {"cu130", "cu132"}
    newest = look.go(gpu="12.0", torch="2.15", platform="linux-64").builds()
    assert newest == {("2.15.0", "cu130"), ("2.15.0", "cu132")}
    assert look.go(gpu="3.7", driver="470.57.02", torch="2.4", platform="linux-64").builds() == set()
    assert look.text("#count").startswith("none of the ")


def test_the_filters_agree_with_the_rules_of_the_decision(look: Looked, plain: Path) -> None:
    look.at(plain)
    for driver, gpus, platform, wsl in _MACHINES:
        filters = {
            "driver": driver,
            "gpu": ", ".join(gpus),
            "platform": platform,
            **({"wsl": "1"} if wsl else {}),
        }
        assert look.go(**filters).builds() == running_on(driver, gpus, platform, wsl=wsl), filters


def test_other_filters_choose_by_what_the_matrix_says(look: Looked, plain: Path) -> None:
    rows = [build for build in load_knowledge().builds if build.cuda]
    look.at(plain)

    def those(**facts: Any) -> set[tuple[str, str]]:
        return {
            (str(build.torch), str(build.variant))
            for build in rows
            if all(getattr(build, name) == value for name, value in facts.items())
        }

    assert look.go(index="pypi").builds() == those(index="pypi")
    assert look.go(index="pypi", platform="win-64").builds() == those(index="pypi", platform="win-64")
    assert look.go(python="3.13t").builds() == {
        (str(build.torch), str(build.variant)) for build in rows if "cp313t" in build.pythons
    }
    assert {variant for _, variant in look.go(variant="cu126").builds()} == {"cu126"}
    assert {variant[:4] for _, variant in look.go(variant="12").builds()} == {"cu12"}
    assert {variant for _, variant in look.go(variant="cpu").builds()} == {"cpu"}
    assert {torch for torch, _ in look.go(torch=">=2.13,<2.14.1").builds()} == {"2.13.0", "2.14.0"}
    assert len(look.click("#reset").builds()) == len(those())


def test_cells_tell_how_a_generation_runs_a_build(look: Looked, plain: Path) -> None:
    def states(torch: str, variant: str) -> dict[str, str]:
        look.go(torch=f"=={torch}", variant=variant, platform="linux-64")
        cells = "[...document.querySelectorAll('tr.build td.gpu')]"
        return dict(look.page.evaluate(f"{cells}.map((cell) => [cell.dataset.label, cell.dataset.state])"))

    look.at(plain)
    newest = states("2.15.0", "cu132")
    assert next(iter(newest)) == "Kepler"
    assert list(newest)[-1] == "Rubin"
    assert (newest["Volta"], newest["Turing"], newest["Blackwell"]) == ("-", "n", "n")
    assert states("2.4.0", "cu118")["Kepler"] == "x"
    assert look.text("#legend").splitlines()
    assert "dropped by a bundled library" in look.text("#legend")
    assert states("2.3.1", "cu118")["Kepler"] == "+"
    assert look.text("td.gpu[data-label=Kepler] small") == "3.7"


def test_cells_tell_where_it_depends_on_the_platform(look: Looked, plain: Path) -> None:
    look.at(plain, torch="==2.14.1", variant="cu126")
    cell = "td.gpu[data-label=Maxwell]"
    assert look.page.evaluate(f"document.querySelector('{cell}').dataset.state") == "+"
    assert look.page.evaluate(f"document.querySelector('{cell}').title").splitlines() == [
        "Maxwell",
        "linux-64: 5.0, 5.2: runs natively",
        "linux-aarch64: 5.0, 5.2: no code for it",
        "win-64: 5.0, 5.2: runs natively",
    ]
    assert look.page.evaluate(f"document.querySelector('{cell} small')") is None


def test_the_machine_it_is_made_on_is_named_and_what_runs_on_it_marked(look: Looked, mine: Path) -> None:
    runs = running_on("535.104.05", ("7.0", "9.0"), "linux-64", wsl=False)
    look.at(mine)
    assert re.search(r"V100.*H100.*535\.104\.05", look.text("#machine-name"))
    assert "newest is torch 2.14.1 (cu126)" in look.text("#machine-lines")
    assert look.builds() == look.marked() == runs
    look.click("#show-all")
    assert look.marked() == runs
    assert len(look.builds()) > len(runs)
    assert look.click("#show-mine").builds() == runs


def test_without_a_gpu_no_machine_is_shown(look: Looked, plain: Path) -> None:
    look.at(plain)
    assert look.page.evaluate("document.getElementById('machine').hidden") is True
    assert look.builds()
    assert look.marked() == set()


def test_a_machine_with_a_broken_driver_is_told_so_and_nothing_marked(
    look: Looked, program: Program, tmp_path: Path
) -> None:
    broken_nvidia_smi(program.bin, "Failed to initialize NVML: Driver/library version mismatch", 18)
    look.at(write(program, tmp_path / "broken.html"))
    assert "is not usable" in look.text("#machine-lines")
    assert look.page.evaluate("document.getElementById('show-mine').hidden") is True
    assert look.builds()
    assert look.marked() == set()


def test_what_is_typed_counts_at_once_and_stands_in_the_address(look: Looked, plain: Path) -> None:
    look.at(plain, platform="linux-64").type("#gpu", "rtx 3080 ti")
    assert look.text("#gpu-hint") == "NVIDIA GeForce RTX 3080 Ti: compute capability 8.6"
    look.type("#driver", "570.133.07")
    assert look.text("#driver-hint") == "up to CUDA 12.8"
    expected = running_on("570.133.07", ("8.6",), "linux-64", wsl=False)
    assert look.builds() == expected
    assert re.match(rf"{len(expected)} of \d+ builds shown, torch ", look.text("#count"))
    address = look.page.evaluate("location.href")
    assert look.page.evaluate("location.hash").startswith("#gpu=rtx+3080+ti&driver=570.133.07")
    look.page.open(address)
    assert look.builds() == expected


_NOT_UNDERSTOOD = (
    ("gpu", "Voodoo 2", "no GPU called Voodoo 2 is known"),
    ("gpu", "9.9", "no GPU called 9.9 is known"),
    ("gpu", "titan x", "is ambiguous"),
    ("gpu", "GeForce GTX 860M", "is ambiguous"),
    ("driver", "latest", "latest is not a valid driver version"),
    ("torch", "new", "new is not a valid version"),
)


def test_what_can_not_be_understood_is_said_and_does_not_count(look: Looked, plain: Path) -> None:
    before = look.at(plain, variant="cu132").builds()
    for field, text, hint in _NOT_UNDERSTOOD:
        look.type(f"#{field}", text)
        assert hint in look.text(f"#{field}-hint")
        assert look.is_wrong(f"#{field}")
        assert look.builds() == before
        look.go(variant="cu132")
        assert not look.is_wrong(f"#{field}")


_NAMES = (
    "NVIDIA H100 80GB HBM3", "H100", "h100 pcie", "NVIDIA GeForce RTX 4090 D", "GeForce RTX3080Ti",
    "Tesla T4", "Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "Quadro RTX 6000", "GTX 1080 Ti",
    "GeForce GTX 750", "Jetson Nano",  # other cards' names hold these
)  # fmt: skip


def test_names_as_nvidia_smi_prints_them_and_people_type_them_are_understood(
    look: Looked, plain: Path
) -> None:
    look.at(plain, variant="cu132")
    for name in _NAMES:
        fact = load_knowledge().gpu_names.find(name)
        assert fact is not None, name
        look.go(gpu=name, variant="cu132")
        assert look.text("#gpu-hint").endswith(f"compute capability {fact.capability}"), name


def test_the_builds_behind_a_row_are_shown_by_keyboard(look: Looked, plain: Path) -> None:
    look.at(plain, platform="linux-64", torch="2.15", variant="cu132")
    look.focus("button.more")
    look.page.press("Enter", 13, "\r")
    assert look.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    message = look.text("tr.details")
    assert "compiled for\nsm_75 sm_80 sm_86 sm_90 sm_100 sm_120" in message
    assert "manylinux_2_28_x86_64" in message
    look.page.press("Enter", 13, "\r")
    assert look.page.evaluate("document.querySelector('tr.details').hidden") is True


def test_every_field_has_a_label_and_every_cell_words(look: Looked, mine: Path) -> None:
    look.at(mine)
    fields = "[...document.querySelectorAll('input, select')]"
    assert look.page.evaluate(f"{fields}.every((field) => field.labels[0]?.innerText.trim())") is True
    cells = "[...document.querySelectorAll('td.gpu')]"
    assert look.page.evaluate(f"{cells}.every((cell) => cell.querySelector('.unseen').textContent)") is True
    assert look.page.evaluate("document.getElementById('count').ariaLive") == "polite"
    assert look.page.evaluate("document.documentElement.lang") == "en"
    assert look.page.evaluate("document.title")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(look: Looked, mine: Path, scheme: str) -> None:
    look.page.resize(360, 740, mobile=True)
    look.page.media("screen", scheme)
    look.at(mine).click("button.more")
    assert look.page.evaluate("document.documentElement.scrollWidth") <= 360
    ground = look.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")


@pytest.mark.parametrize("width", [1280, 1440])
def test_no_column_is_cut_at_the_width_of_a_laptop(look: Looked, plain: Path, width: int) -> None:
    look.page.resize(width, 900)
    look.at(plain, torch="2.15", platform="")
    assert look.page.evaluate("document.documentElement.scrollWidth") <= width
    assert "cuDNN" in look.click("button.more").text(".builds")  # what has no column there


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong(look: Looked, mine: Path, width: int) -> None:
    look.page.resize(width, 800, mobile=width < 500)
    look.at(mine, torch="2.15").click("button.more")
    assert violations(look.page) == []


def test_on_paper_the_filters_are_words(look: Looked, mine: Path) -> None:
    look.at(mine)
    look.page.media("print")
    assert look.text("#asked") == "GPU: 7.0, 9.0 · NVIDIA driver: 535.104.05 · platform: linux-64"
    assert look.page.evaluate("document.getElementById('filters').offsetHeight") == 0


def test_hostile_names_stay_text(look: Looked, program: Program, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=alert(1)>`&amp;"
    fake_nvidia_smi(program.bin, "535.104.05", FakeGpu(name, "8.6"))
    look.at(write(program, tmp_path / "hostile.html"))
    assert name in look.text("#machine-name")
    assert look.page.evaluate("document.images.length") == 0
    look.go(gpu="<b>", driver="<i>", torch="<u>", platform="<s>", python="__proto__", no="such")
    assert look.page.evaluate("document.querySelectorAll('b, i, u, s').length") == 0
    assert look.builds()
