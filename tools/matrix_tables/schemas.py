"""JSON schemas of the tables, from the fields that gpuenv checks rows by."""

from __future__ import annotations

import json
from typing import Any

from gpuenv.knowledge.schema.field_types import TEXT, Fields, matching, number, object_schema
from gpuenv.knowledge.schema.tables import FIELDS
from gpuenv.matrix_checks.manifest import MANIFEST
from gpuenv.matrix_checks.serialise import SCHEMA_VERSION

_WIDTH = 110
_ABOUT = {
    "accelerator-architectures": (
        "what builds for accelerators are made for: gfx of AMD, device ips of Intel, chips of Apple, "
        "SoCs of Huawei, with the targets of builds whose code runs on each"
    ),
    "accelerator-builds": (
        "builds of torch for ROCm, XPU, macOS and Ascend: release x variant x platform x index, with "
        "what each has code for and needs"
    ),
    "accelerator-devices": ("devices of AMD, Intel, Apple, Huawei and others by PCI id, revision and name"),
    "accelerator-indexes": (
        "indexes with torch for accelerators, and the package that brings torch to each vendor's devices"
    ),
    "accelerator-known-bad": (
        "combinations on accelerators that are not NVIDIA's on a PC that install and then fail: when, who "
        "finds it, and what to do"
    ),
    "jetson": "releases of Jetson Linux and ARM servers: JetPack, CUDA, Python, and where torch comes from",
    "kernel-drivers": "AMD's kernel drivers: the ROCm releases that each supports, and how its module counts",
    "api-changes": (
        "what changed in the API of torch and of what hangs on it: from which release on, what code "
        "it concerns, what to write instead"
    ),
    "checks": (
        "doctor's checks: group, and for each case that a check tells apart what it needs, the "
        "cause, the fix and a command; {facts} are filled in"
    ),
    "companions": "releases of torch's companions, and which go with which torch (best first)",
    "conda-tools": (
        "what the conda tools and py-rattler say, and what it means; least releases and flaws of theirs"
    ),
    "conda": "builds of torch on conda channels: channel x torch release x variant x platform",
    "cuda": (
        "CUDA releases and families with their driver floors, driver branches, GPU architectures, "
        "integrated devices"
    ),
    "dependencies": (
        "what builds of torch ask for on their platform, without markers, and how many bytes wheels "
        "have, packed and unpacked"
    ),
    "ecosystem": (
        "projects bound to torch: the pages that list their wheels, for which torch there are any, "
        "what they require"
    ),
    "gpus": "product names and PCI ids with their compute capability",
    "images": "container images to start from: what they bring, by Python, distribution and CUDA",
    "installer-faults": (
        "what pip and uv say when a download fails, and what it means; {names} are groups of the pattern"
    ),
    "reports": "how programs write what they report of a machine: groups of the pattern are names of facts",
    "known-bad": (
        "combinations that install and then fail: when, who judges it, and what a plan does about it"
    ),
    "libraries": (
        "the least compute capability that a library of builds supports, from a release on; which "
        "release of it old builds bundle"
    ),
    "manifest": "how many rows each matrix has, and the SHA-256 digest of what tells them apart, sorted",
    "mirrors": (
        "mirrors of PyPI, of the PyTorch index and of conda's channels: what each carries, where, in "
        "which layout, and what it is known to get wrong"
    ),
    "nvidia-smi": "what nvidia-smi prints in place of an answer: the problem's code, and the repair",
    "pythons": (
        "releases of CPython: the day of the first final release, and the platforms for which uv brings it"
    ),
    "releases": (
        "for which Pythons releases of much used projects are built, and conda packages that go with one "
        "torch or CUDA"
    ),
    "signatures": (
        "texts by which programs tell what went wrong, the most telling first: how to find them, "
        "what they mean and what to do; `needs` are the words a text must have for a regex to match, "
        "whole words between blanks"
    ),
    "tegra": (
        "boards with a Tegra chip: whose wheels of torch have code for its GPU, and from which "
        "release of Jetson Linux on"
    ),
    "torch": "builds of torch: release x variant x platform x kind of index",
    "wheels": "files that indexes list, those of the PyTorch index by the subdir they lie in",
}
_MANIFEST: Fields = {"table": TEXT, "count": number(1), "keys": matching("[0-9a-f]{64}")}


def schema_texts() -> dict[str, str]:
    """Return the schema files by their names, without `.json`."""
    kinds = {table: list(rows.values()) for table, rows in FIELDS.items()} | {MANIFEST: [_MANIFEST]}
    return {f"{table}.schema": _render(_schema(table, rows)) + "\n" for table, rows in kinds.items()}


def _schema(table: str, kinds: list[Fields]) -> dict[str, Any]:
    rows = [object_schema(fields) for fields in kinds]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{table}.json",
        "description": _ABOUT[table],
        "type": "object",
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "rows": {"type": "array", "minItems": 1, "items": rows[0] if len(rows) == 1 else {"oneOf": rows}},
        },
        "required": ["schema_version", "rows"],
        "additionalProperties": False,
    }


def _render(value: Any, indent: str = "") -> str:
    """Write what fits on a line on one, as a person would."""
    line = json.dumps(value)
    if len(indent) + len(line) < _WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {_render(item, inner)}" for key, item in value.items()]
    else:
        items = [_render(item, inner) for item in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return start + "\n" + ",\n".join(inner + item for item in items) + f"\n{indent}{end}"
