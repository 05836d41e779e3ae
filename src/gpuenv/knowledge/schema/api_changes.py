"""The fields of a row of api-changes.json."""

from __future__ import annotations

from gpuenv.i18n.messages import marked
from gpuenv.knowledge.api_changes import CODE_LANGUAGES, KINDS
from gpuenv.knowledge.schema.field_types import (
    ORIGIN,
    Field,
    is_flag,
    is_regex,
    is_text,
    is_version,
    list_of,
    matching,
    one_of,
    or_null,
)

_NAME = r"[a-z0-9]+(-[a-z0-9]+)*"

API_CHANGE_FIELDS = (
    Field("id", matching(_NAME, marked("id such as driver-too-old"))),
    Field("project", matching(_NAME, marked("normalized name of a project"))),
    Field("version", is_version),
    Field("kind", one_of(*KINDS)),
    Field("often", is_flag),
    Field("names", list_of(is_text, least=1)),
    Field("pattern", or_null(is_regex)),
    Field("needs", list_of(list_of(is_text, least=1))),
    Field("languages", list_of(one_of(*CODE_LANGUAGES), least=1)),
    Field("text_en", is_text),
    Field("text_zh", is_text),
    Field("sample", or_null(is_text)),
    *ORIGIN,
)
