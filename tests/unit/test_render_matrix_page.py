"""The page of the matrices as text: its data, its words, and that nothing in them gets out of place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from deciding import gpu_machine
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuenv.knowledge.accelerators import Accelerators
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.matrix.page import render as matrix_page
from gpuenv.matrix.page.machine import Here, render_here
from gpuenv.matrix.page.other_builds import render_other_builds
from gpuenv.matrix.page.render import PageParts, page_data, render_matrix_page
from gpuenv.matrix.page.texts import page_texts
from gpuenv.model.machine import Machine, System
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.target import choose_target

KNOWLEDGE = load_knowledge()
BARE = PageParts(
    "<style>@STYLE@</style>@OTHERS@<script id=data>@DATA@</script><script>@SCRIPT@</script>", "s", "j"
)
PAGE = Path(matrix_page.__file__).with_name("matrix_page")


def data(here: Here | None = None, knowledge: Knowledge = KNOWLEDGE) -> dict[str, Any]:
    return page_data(knowledge, here, made_by="gpuenv 1", made_on="2026-01-01")


def standing(driver: str, *gpus: str, **short: Any) -> Here:
    machine = gpu_machine(driver, *gpus, **short)
    return Here(machine, choose_target((machine,), (), cpu=False))


def embedded(page: str) -> Any:
    return json.loads(page.partition("<script id=data>")[2].partition("</script>")[0])


def small(**row: Any) -> Knowledge:
    """The matrices with one build, some of its facts changed."""
    return replace(KNOWLEDGE, torch_rows=({**KNOWLEDGE.torch_rows[-1], **row},))


@examples(5, 100)  # a whole page is made for each
@given(st.text())
def test_no_text_leaves_its_place_in_the_page(text: str) -> None:
    page = render_matrix_page(BARE, small(source=text), None, made_by="</script>", made_on="<!--")
    assert page.count("<") == BARE.html.count("<")
    value = embedded(page)
    assert value["rows"][0]["builds"][0]["source"] == text
    assert value["made_by"] == "</script>"


@pytest.mark.parametrize("html", ["", "@STYLE@ @SCRIPT@ @OTHERS@", "@STYLE@ @SCRIPT@ @OTHERS@ @DATA@ @DATA@"])
def test_a_template_without_each_marker_once_is_refused(html: str) -> None:
    with pytest.raises(ValueError, match=r"does not have exactly one @(DATA|STYLE)@"):
        render_matrix_page(replace(BARE, html=html), small(), None, made_by="", made_on="")


def test_rows_are_releases_and_variants_the_newest_first() -> None:
    rows = data()["rows"]
    keys = [(row["torch"], row["variant"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {(str(build.torch), str(build.variant)) for build in KNOWLEDGE.builds}
    assert sum(len(row["builds"]) for row in rows) == len(KNOWLEDGE.builds)
    assert [row["torch"].split(".")[0] for row in rows] == sorted(
        (row["torch"].split(".")[0] for row in rows), reverse=True
    )


def test_each_build_has_a_letter_for_each_capability_and_cpu_builds_none() -> None:
    fields = data()
    for row in fields["rows"]:
        for item in row["builds"]:
            assert len(item["runs"]) == (len(fields["capabilities"]) if row["cuda"] else 0)
            assert set(item["runs"]) <= set("np-xbd?")


def test_columns_begin_with_the_oldest_generation_that_anything_runs_on() -> None:
    shown = {item["name"]: item["shown"] for item in data()["generations"]}
    assert (shown["Fermi"], shown["Kepler"], shown["Rubin"]) == (False, True, True)


def test_names_that_were_sold_with_several_capabilities_keep_them_all() -> None:
    products = data()["products"]
    assert products["NVIDIA GeForce RTX 3080 Ti"] == ["8.6"]
    assert len(products["GeForce GTX 860M"]) > 1


def test_the_words_are_those_that_the_page_asks_for() -> None:
    script, html = (PAGE.with_suffix(f".{kind}").read_text(encoding="utf-8") for kind in ("js", "html"))
    requested = {*re.findall(r'\bsay\("([\w-]+)"', script), *re.findall(r'data-text="([\w-]+)"', html)}
    words = page_texts()
    assert requested <= set(words)
    composed = {name for name in words if name.startswith(("state-", "evidence-", "driver-", "count"))}
    filters = {"gpu", "driver", "torch", "variant", "python", "platform", "index", "wsl"}
    assert set(words) - requested - composed - filters == set()


def test_the_machine_is_told_with_what_runs_on_it() -> None:
    facts = render_here(standing("535.104.05", "9.0", "7.0"), KNOWLEDGE)
    assert facts["filters"] == {"gpu": "9.0, 7.0", "driver": "535.104.05", "platform": "linux-64"}
    counted, _, newest = facts["lines"][0].partition("; ")
    assert re.fullmatch(r"\d+ of the \d+ CUDA builds for linux-64 run on it", counted)
    assert newest == "the newest is torch 2.14.1 (cu126)"
    assert facts["lines"][1].startswith(
        "not torch 2.15.0: builds for CUDA 13.0 and 13.2 need driver 580.65.06"
    )


def test_under_wsl_the_driver_is_windows() -> None:
    facts = render_here(standing("580.95.05", "8.6", wsl=True), KNOWLEDGE)
    assert facts["filters"]["wsl"] == "1"
    assert facts["system"].endswith("WSL2")


def test_a_machine_on_which_nothing_runs_is_told_why() -> None:
    facts = render_here(standing("390.157", "2.0"), KNOWLEDGE)
    assert facts["lines"][0].startswith("none of the ")
    assert facts["lines"][1].startswith("not torch 2.15.0: ")


def test_a_machine_that_can_not_be_planned_for_sets_no_filters() -> None:
    here = Here(
        Machine(System("macos", "arm64")), None, "there are no CUDA builds of torch for macos on arm64"
    )
    facts = render_here(here, KNOWLEDGE)
    assert (facts["usable"], facts["filters"], facts["lines"]) == (False, {}, [here.problem])
    assert not any(item["here"] for row in data(here)["rows"] for item in row["builds"])


def test_what_identifies_a_machine_stays_out_of_the_page() -> None:
    machine = gpu_machine("535.104.05", "9.0")
    gpus = tuple(replace(gpu, uuid="GPU-1234", pci_id="beef") for gpu in machine.gpus)
    named = replace(machine, gpus=gpus)
    text = json.dumps(data(Here(named, choose_target((named,), (), cpu=False)))["machine"])
    assert "GPU-1234" not in text
    assert "beef" not in text


def test_builds_for_other_accelerators_stand_in_a_table() -> None:
    """With what each has code for and needs; text of rows is no HTML."""
    row = {
        "torch": "2.12.0", "kind": "rocm", "variant": "rocm7.14.0", "platform": "win-64", "index": "amd",
        "pythons": ["cp312"], "tags": ["win_amd64"], "targets": ["gfx1201", "<b>"], "targets_how": "wheel",
        "extra": True, "requires": {}, "triton": None, "torchvision": [], "torchaudio": [], "source": "wheel",
        "evidence": "wheel",
    }  # fmt: skip
    mac = {**row, "kind": "mps", "targets": [], "extra": False, "requires": {"macos": "11.0", "mps": "14.0"}}
    page = render_other_builds(Accelerators(lambda _: (row, mac, {**row, "kind": "cpu", "torch": "1.9.1"})))
    assert "gfx1201 &lt;b&gt; (by an extra)" in page
    assert "macOS 11.0, macOS 14.0 for MPS" in page
    assert "2 builds" in page
    assert "1.9.1" not in page
