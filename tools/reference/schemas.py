"""JSON schemas of what `--json` prints, made from the types in `outputs`."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from reference.outputs import OUTPUTS, Envelope

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/{name}"


def file_name(command: str) -> str:
    """Return the name of a command's schema: `mirrors-list.json`."""
    return command.replace(" ", "-") + ".json"


def render_schemas() -> dict[str, str]:
    """Return each schema by its file's name: of a command's whole document, its data included."""
    return {file_name(command): json.dumps(schema(command), indent=2) + "\n" for command in OUTPUTS}


def schema(command: str) -> dict[str, Any]:
    """Return the schema of what a command prints.

    It does not forbid other fields: a newer gpuenv may print more.
    """
    types = (*OUTPUTS[command], Envelope)
    (*forms, _), parts = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    parts = {name: _always_there(part) for name, part in parts.items()}
    whole = parts.pop("Envelope")
    whole["properties"] |= {
        "command": {"const": command},
        # on failure null, or what is known all the same
        "data": {"type": ["object", "null"]},
    }
    held = {"if": {"properties": {"ok": {"const": True}}}, "then": {"properties": {"data": {"anyOf": forms}}}}
    return {"$schema": DIALECT, **whole, "title": f"gpuenv {command} --json", **held, "$defs": parts}


def _always_there(part: dict[str, Any]) -> dict[str, Any]:
    """Require what has a default in the program: it is printed all the same; what may be missing has none."""
    if part.get("type") != "object":
        return part
    filled = {name for name, field in part["properties"].items() if "default" in field}
    properties = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in part["properties"].items()
    }
    required = [name for name in properties if name in filled or name in part.get("required", ())]
    told = re.sub(r"\bNone\b", "null", part["description"])  # which the program's own types say
    return {**part, "description": told, "properties": properties, "required": required}
