"""ecosystem.json: rows that hang together, and what is asked of them."""

from __future__ import annotations

import importlib
import string
import sys
from pathlib import Path

import pytest
from matrix_workshop import PREBUILT, Workshop
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv import matrices
from gpuenv.matrix_checks.run import check_matrices
from gpuenv.model.variant import Variant
from gpuenv.planning.load_knowledge import load_knowledge

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
builder = importlib.import_module("matrix_tables.ecosystem")
facts_of = importlib.import_module("matrix_tables.facts")
ROWS = matrices.load("ecosystem")
ECOSYSTEM = load_knowledge().ecosystem


def of_kind(kind: str) -> list[dict[str, object]]:
    return [dict(row) for row in ROWS if row["kind"] == kind]


def test_projects_and_sets_name_each_other() -> None:
    named = {project: row["set"] for row in of_kind("set") for project in row["projects"]}  # type: ignore[attr-defined]
    assert named == {row["project"]: row["set"] for row in of_kind("project") if row["set"]}


def test_wheels_are_of_a_set_and_pages_go_by_what_their_rows_tell() -> None:
    pages = {row["set"]: str(row["page"]) for row in of_kind("set")}
    for row in of_kind("wheels"):
        fields = {name for _, name, _, _ in string.Formatter().parse(pages[row["set"]]) if name}
        assert fields <= {"torch", "variant", "version"}
        assert row["by"] or bool(row["versions"]) >= ("version" in fields)
        assert row["pages"] or not row["by"]


@pytest.mark.parametrize(
    ("wanted", "counts"),
    [
        ("", True), (">=2.5", True), ("<2.7", True), ("==2.8.3", True), ("==2.*", True),
        ("<2", False), ("==1.0.9", False), ("~=1.0", False), (">=1,<2", False),
    ],
)  # fmt: skip
def test_the_least_gpu_holds_for_the_releases_that_it_is_told_of(wanted: str, counts: bool) -> None:
    project = ECOSYSTEM.project("flash-attn")
    assert project is not None
    assert project.least_counts(SpecifierSet(wanted)) is counts


@pytest.mark.parametrize(
    ("torch", "variant", "cxx11"),
    [
        ("2.5.1", "cu124", False),
        ("2.6.0", "cu124", False),
        ("2.6.0", "cu126", True),
        ("2.7.1", "cu118", True),
    ],
)
def test_the_abi_of_torch_is_told_by_release_and_variant(torch: str, variant: str, cxx11: bool) -> None:
    assert ECOSYSTEM.cxx11_abi(Version(torch), Variant(variant)) is cxx11


def test_what_is_not_known_is_not_told() -> None:
    assert ECOSYSTEM.project("numpy") is None
    assert ECOSYSTEM.set_of("vllm") is None
    assert ECOSYSTEM.architectures("mmcv", Version("2.2.0")) == ()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("wheels", {"set": "nobody"}, "no set is called `nobody`"),
        ("set", {"projects": ["nobody"]}, "the row of nobody does not name this set"),
        ("set", {"page": "https://wheels.example.com/{abi}"}, "is not a valid address"),
        ("set", {"page": "https://wheels.example.com/{torch.__class__}"}, "is not a valid address"),
        ("set", {"page": "https://wheels.example.com/{torch"}, "is not a valid address"),
    ],
)
def test_a_contradiction_between_rows_is_found(kind: str, change: dict[str, object], message: str) -> None:
    rows = [dict(row) for row in ROWS]
    next(row for row in rows if row["kind"] == kind).update(change)
    faults = check_matrices({"ecosystem": rows})
    assert any(message in fault.message for fault in faults)
    assert not check_matrices({"ecosystem": ROWS})


def test_the_builder_carries_the_facts_over(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    rows = builder.build_ecosystem(facts_of.Facts(workshop.facts))
    pyg = [row for row in rows if row["kind"] == "wheels" and row["set"] == "pyg"]
    assert [(row["torch"], row["variant"]) for row in pyg] == [("2.7", "cpu"), ("2.7", "cu126")]
    (by_others,) = [row for row in rows if row.get("by")]
    assert (by_others["platform"], by_others["versions"]) == ("linux-64", ["2.8.3"])
    assert by_others["pythons"] == ["cp39", "cp310"]
    assert [page.rpartition("/")[2] for page in by_others["pages"]] == ["v0.10", "v0.1"]


def test_a_fact_that_is_no_version_is_refused(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.write("flash_attn_prebuilt.csv", [{**PREBUILT, "version": "newest"}])
    with pytest.raises(facts_of.UnusableFacts):
        builder.build_ecosystem(facts_of.Facts(workshop.facts))
