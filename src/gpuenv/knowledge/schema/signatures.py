"""The fields of a row of signatures.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuenv.i18n.messages import marked, tr
from gpuenv.knowledge.schema.field_types import (
    Field,
    is_number,
    is_regex,
    is_text,
    list_of,
    matching,
    one_of,
    or_null,
)
from gpuenv.signatures.catalogue import CLASSES, REPLANS

_ID = matching(r"[a-z0-9]+(-[a-z0-9]+)*", marked("id such as driver-too-old"))


def _is_pattern(value: Any) -> None:
    if not isinstance(value, Mapping) or set(value) != {"regex", "needs"}:
        raise ValueError(tr("a pattern has `regex` and `needs`"))
    is_regex(value["regex"])
    list_of(list_of(is_text, least=1), least=1)(value["needs"])


SIGNATURE_FIELDS = (
    Field("id", _ID),
    Field("class", one_of(*CLASSES)),
    Field("case_of", or_null(_ID)),
    Field("priority", is_number),
    Field("patterns", list_of(_is_pattern, least=1)),
    Field("unless", list_of(_is_pattern)),
    Field("reads", list_of(is_regex)),
    Field("cause_en", is_text),
    Field("cause_zh", is_text),
    Field("fix_en", is_text),
    Field("fix_zh", is_text),
    Field("detail_en", or_null(is_text)),
    Field("detail_zh", or_null(is_text)),
    Field("replan", one_of(*REPLANS)),
    Field("replan_how", or_null(is_text)),
    Field("wants", list_of(is_text)),
    Field("checks", list_of(matching(r"D\d{2}", marked("check such as D01")))),
    Field("samples", list_of(is_text, least=1)),
    Field("source", is_text),
    Field("evidence", one_of("matrix", "assumed")),
    Field("note", is_text, optional=True),
)
