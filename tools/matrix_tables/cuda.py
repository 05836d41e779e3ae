"""cuda.json: CUDA releases and families with their driver floors, driver branches, GPU architectures."""

from __future__ import annotations

import re
from typing import Any

from packaging.version import Version

from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.variant import parse_cuda_version
from matrix_tables.facts import Facts, Row, Sources, UnusableFacts

_UNTIL = re.compile(r"except_from_cuda_(\d+)_(\d+)")


def build_cuda(facts: Facts) -> list[Row]:
    """Make the rows of cuda.json, sorted by kind and version."""
    sources = facts.sources()
    try:
        releases = [_release(fact, sources) for fact in facts.table("cuda_driver.csv")]
        families = [
            _family(fact, sources)
            for fact in facts.table("cuda_minor_version_compat.csv")
            if fact["linux_min_driver"]
        ]
        branches = [_branch(fact, sources) for fact in facts.table("driver_branch_cuda.csv")]
        architectures = [_architecture(fact, sources) for fact in facts.table("gpu_arch_support.csv")]
    except (ValueError, KeyError) as error:
        raise UnusableFacts(f"the CUDA tables: {error}") from error
    integrated = _integrated(facts, sources)
    return [
        *sorted(releases, key=lambda row: Version(row["release"])),
        *sorted(families, key=lambda row: row["major"]),
        *sorted(branches, key=lambda row: (row["os"], row["branch"])),
        *sorted(architectures, key=_architecture_order),
        *sorted(integrated, key=lambda row: parse_compute_capability(row["compute_capability"])),
    ]


def _release(fact: dict[str, str], sources: Sources) -> Row:
    branch = re.fullmatch(r"R(\d+)", fact["driver_branch"])
    if not branch:
        raise ValueError(f"`{fact['driver_branch']}` is no driver branch such as R570")
    row = {
        "kind": "release",
        "cuda": str(parse_cuda_version(fact["cuda"])),
        "release": str(Version(fact["cuda"])),
        "label": fact["label"],
        "branch": int(branch[1]),
        "linux": _driver(fact["linux_x86_64_min_driver"]),
        "windows": _driver(fact["windows_min_driver"]),
        "source": sources.resolve(fact["source"]),
        "evidence": "matrix",
    }
    if "driver no longer bundled" in fact["note"]:
        # no driver is published for it; the first of its branch is the least that can know it
        row["linux"] = branch[1]
    return _noted(row, fact)


def _driver(text: str) -> str | None:
    if text in ("", "N/A"):
        return None
    Version(text)
    return text


def _family(fact: dict[str, str], sources: Sources) -> Row:
    row: Row = {
        "kind": "family",
        "major": int(fact["cuda_major"]),
        "linux": _driver(fact["linux_min_driver"]),
        "windows": _driver(fact["windows_min_driver"]),
        "source": sources.resolve(fact["source"]),
        "evidence": "matrix",
    }
    return _noted(row, fact)


def _branch(fact: dict[str, str], sources: Sources) -> Row:
    recalled = fact["basis"].startswith("recalled")
    row: Row = {
        "kind": "branch",
        "os": fact["os"],
        "branch": int(fact["driver_branch"]),
        "cuda": str(parse_cuda_version(fact["max_cuda_shown"])),
        "source": sources.resolve(fact["basis"]),
        "evidence": "assumed" if recalled else "matrix",
    }
    return _noted(row, fact)


def _architecture(fact: dict[str, str], sources: Sources) -> Row:
    capabilities = sorted(parse_compute_capability(text) for text in fact["compute_capabilities"].split())
    row: Row = {
        "kind": "architecture",
        "architecture": fact["architecture"],
        "compute_capabilities": [str(capability) for capability in capabilities],
        "first_cuda": str(parse_cuda_version(fact["first_cuda_toolkit"])),
        "last_cuda": _optional_cuda(fact["last_cuda_toolkit"]),
        "last_driver_branch": int(fact["last_driver_branch"]) if fact["last_driver_branch"] else None,
        "source": sources.resolve(fact["sources"]),
        "evidence": "matrix",
    }
    return _noted(row, fact)


def _integrated(facts: Facts, sources: Sources) -> list[Row]:
    """Make a row for each device whose code runs on it alone, with the CUDA that lets it run others' code.

    [sm."8.0"]
    except = ["8.7"]
    except_from_cuda_13_2 = []
    """
    rules = facts.document("torch_device_rules.toml")["sm"]
    return [
        {
            "kind": "integrated",
            "compute_capability": str(parse_compute_capability(text)),
            "until_cuda": _until(text, rules),
            "source": sources.resolve("torch-2.15.0-wheel"),
            "evidence": "wheel",
        }
        for text, rule in rules.items()
        if "only" in rule
    ]


def _until(text: str, rules: Row) -> str | None:
    ends = {
        f"{match[1]}.{match[2]}"
        for rule in rules.values()
        if text in rule.get("except", ())
        for key, still in rule.items()
        if (match := _UNTIL.fullmatch(key)) and text not in still
    }
    if len(ends) > 1:
        raise UnusableFacts(
            f"torch_device_rules.toml: {text} is an exception until {' and '.join(sorted(ends))}"
        )
    return ends.pop() if ends else None


def _optional_cuda(text: str) -> str | None:
    return str(parse_cuda_version(text)) if text else None


def _noted(row: Row, fact: dict[str, str]) -> Row:
    return row | ({"note": fact["note"]} if fact["note"] else {})


def _architecture_order(row: Row) -> Any:
    return parse_compute_capability(row["compute_capabilities"][0])
