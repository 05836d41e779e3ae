"""What the mirrors of the matrix may not say of each other, and of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from gpuenv import matrices
from gpuenv.indexes.mirrors.records import parse_mirror
from gpuenv.matrix.show import show_matrix
from gpuenv.matrix_checks.run import check_matrices

Row = dict[str, Any]


def lab(name: str = "lab", **fields: Any) -> Row:
    """The smallest sound mirror on a host of its own."""
    row = {
        "name": name, "title": name, "kind": "university", "status": "alive", "aliases": [],
        "hosts": [f"{name}.example"], "pypi": {"simple": f"https://{name}.example/simple"},
        "missing_status": [], "faults": [], "source": "a page",
    }  # fmt: skip
    return row | fields


def faults(*rows: Row) -> list[tuple[str, str]]:
    return [(fault.row_key, fault.message) for fault in check_matrices({"mirrors": rows})]


def test_mirrors_apart_from_each_other_have_no_fault() -> None:
    assert faults(lab(), lab("den", intranet=["den.intern.example"])) == []


@pytest.mark.parametrize(
    "second",
    [
        {"aliases": ["lab"]},
        {"aliases": ["LAB"]},
        {"aliases": ["old"]},
        {"hosts": ["den.example", "Lab.example"]},
        {"intranet": ["lab.example"]},
    ],
    ids=str,
)
def test_a_word_that_means_two_mirrors_is_found(second: Row) -> None:
    ((row, message),) = faults(lab(aliases=["old"]), lab("den", **second))
    assert row == "den"
    assert message.endswith("already means `lab`")


def test_a_word_that_stands_twice_in_a_row_is_found() -> None:
    assert faults(lab(aliases=["old", "Old"])) == [("lab", "`Old` already means `lab`")]


@pytest.mark.parametrize(
    "fields",
    [
        {"pypi": {"simple": "https://lab.example/simple", "aliases": ["http://lab.example/pypi"]}},
        {"torch": {"address": "http://lab.example/whl/{variant}", "layout": "pep503"}},
        {"conda": {"root": "http://LAB.example/conda"}},
        {"conda": {"root": "https://lab.example/conda", "elsewhere": {"x": "http://lab.example/x"}}},
    ],
    ids=str,
)
def test_plain_http_where_the_host_has_https_is_found(fields: Row) -> None:
    ((row, message),) = faults(lab(**fields))
    assert row == "lab"
    assert message.startswith("`http://")
    assert message.endswith("is not encrypted, and its host has https")


def test_plain_http_is_no_fault_where_nothing_else_is_known_or_in_what_is_known_to_be_wrong() -> None:
    assert faults(lab(pypi={"simple": "http://lab.example/simple"})) == []
    assert (
        faults(lab(pypi={"simple": "https://lab.example/simple", "wrong": ["http://lab.example/"[:-1]]}))
        == []
    )


def test_an_address_on_a_host_that_the_mirror_does_not_name_is_found() -> None:
    elsewhere = {"address": "https://wheels.example/{variant}", "layout": "flat"}
    assert faults(lab(torch=elsewhere)) == [("lab", "`wheels.example` is not one of its hosts")]


def test_a_right_address_that_is_said_to_be_wrong_is_found() -> None:
    simple = "https://lab.example/simple"
    assert faults(lab(pypi={"simple": simple, "wrong": [simple]})) == [
        ("lab", f"`{simple}` is right and wrong")
    ]
    torch = {"address": "https://lab.example/whl/{variant}", "layout": "pep503"}
    for part in ({"torch": {**torch, "wrong": ["https://lab.example/whl/cu121"]}}, {"torch": torch}):
        bogus = [] if "wrong" in part["torch"] else ["https://lab.example/whl"]
        ((_, message),) = faults(lab(**part, bogus=bogus))
        assert message == "`https://lab.example/whl/{variant}` is right and wrong"


def test_the_matrix_of_mirrors_can_be_shown() -> None:
    rows = show_matrix("mirrors")
    assert rows == matrices.load("mirrors")
    assert next(parse_mirror(row).name for row in rows) == "official"
