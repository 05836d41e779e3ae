"""The table of signatures: a row is parsed when a text may have it; what is none of one is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpuenv import matrices
from gpuenv.signatures.catalogue import Signature, Signatures, parse_signature
from gpuenv.signatures.match import examine

TABLE = matrices.read_bytes(matrices.directory(), "signatures")
NO_KERNELS = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def test_a_text_has_few_rows_parsed_and_means_what_it_means_with_all_parsed() -> None:
    parsed: list[str] = []

    def parse(row: Mapping[str, Any]) -> Signature:
        parsed.append(row["id"])
        return parse_signature(row)

    lazy, all_parsed = Signatures(TABLE, parse), Signatures(TABLE, parse_signature)
    assert len(list(all_parsed)) == len(all_parsed) == len(matrices.load("signatures"))
    matches = examine(NO_KERNELS, lazy, lambda: 0.0).matches
    assert matches == examine(NO_KERNELS, all_parsed, lambda: 0.0).matches
    assert matches[0].id in parsed
    assert len(parsed) == len(set(parsed)) < len(lazy) / 10


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"rows": 1}', b'{"rows": [{"id": 1}]}', b"\xff"])
def test_what_is_no_table_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - in the words of its parser
        Signatures(content, parse_signature)


def test_a_row_that_is_no_signature_is_told_when_it_is_looked_at() -> None:
    rows = [{"id": "some", "patterns": [{"regex": "some error", "needs": [["some", "error"]]}]}]
    signatures = Signatures(json.dumps({"rows": rows}).encode(), parse_signature)
    assert examine("nothing", signatures, lambda: 0.0).matches == ()
    with pytest.raises(ValueError, match="row"):
        examine("some error", signatures, lambda: 0.0)
