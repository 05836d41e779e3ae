"""Hold what `--json` prints to the published schema of its command, more strictly than a reader should."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from pages import DOCS
from reference.outputs import OUTPUTS
from reference.schemas import file_name

SCHEMAS = DOCS / "schemas"


def complaints(document: dict[str, Any]) -> list[str]:
    """Return what the schema has against a document; here a field that it does not name is wrong too."""
    errors = _validator(document["command"]).iter_errors(document)
    return [f"{error.json_path}: {error.message[:300]}" for top in errors for error in (*top.context, top)]


@cache
def _validator(command: str) -> Draft202012Validator:
    assert command in OUTPUTS
    return Draft202012Validator(
        _closed(json.loads((SCHEMAS / file_name(command)).read_text(encoding="utf-8")))
    )


def _closed(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    closed = {name: _closed(item) for name, item in value.items()}
    return (
        closed | {"additionalProperties": False} if "required" in value and "properties" in value else closed
    )
