"""An expression stands in one signature: where it is told best."""

from __future__ import annotations

import importlib
from typing import Any

import matrix_workshop
import pytest

assert matrix_workshop.TOOLS.is_dir()  # which can be imported from once that module is
UnusableFacts = importlib.import_module("matrix_tables.facts").UnusableFacts
refuse_twins = importlib.import_module("matrix_tables.signatures").refuse_twins


def row(name: str, *regexes: str, unless: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": name, "patterns": [{"regex": regex} for regex in regexes], "unless": list(unless)}


def test_an_expression_of_two_signatures_is_refused_and_both_are_named() -> None:
    with pytest.raises(UnusableFacts, match=r"sharp and broad: no such GPU$"):
        refuse_twins([row("sharp", "no such GPU"), row("broad", "other words", "no such GPU")], [])


def test_a_second_cause_and_one_behind_a_signature_that_stands_back_may_have_it_too() -> None:
    refuse_twins([row("sharp", "no such GPU"), row("broad", "no such GPU")], ["broad"])
    refuse_twins([row("sharp", "no such GPU", unless=("healthy",)), row("broad", "no such GPU")], [])
