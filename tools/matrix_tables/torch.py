"""torch.json: torch release x variant x platform x kind of index."""

from __future__ import annotations

import re
from collections import Counter

from packaging.version import InvalidVersion, Version

from gpuenv.matrix_checks.serialise import python_order, sort_rows
from gpuenv.model.capability import parse_compute_capability
from gpuenv.model.variant import Variant
from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml

PLATFORMS = {"linux_x86_64": "linux-64", "linux_aarch64": "linux-aarch64", "win_amd64": "win-64"}
# builds for systems that gpuenv does not plan for
FOREIGN = frozenset({"macosx_arm64", "macosx_x86_64", "win_arm64", "linux_s390x"})
_FOREIGN_VARIANT = re.compile(r"rocm[\d.]+|xpu|cpu-cxx11-abi")
_INDEXES = {"pypi": "pypi", "index": "pytorch"}


def build_torch(facts: Facts) -> list[Row]:
    """Make the rows of torch.json, sorted; raise UnusableFacts for a row that can't be read."""
    sources = facts.sources()
    absent = [(item["project"], item["version"]) for item in read_toml(DATA / "companions.toml")["absent"]]
    rows = [_build(fact, sources) for fact in facts.table("torch_builds.csv") if _wanted(fact, facts)]
    for project, version in absent:
        for row in rows:
            row[project] = [other for other in row[project] if other != version]
    _fill_tags(rows)
    return [dict(row) for row in sort_rows("torch", rows)]


def _wanted(fact: dict[str, str], facts: Facts) -> bool:
    if fact["platform"] not in PLATFORMS and fact["platform"] not in FOREIGN:
        raise UnusableFacts(f"torch_builds.csv: `{fact['platform']}` is no platform known here")
    if not Variant(fact["variant"]).is_cuda_or_cpu and not _FOREIGN_VARIANT.fullmatch(fact["variant"]):
        raise UnusableFacts(f"torch_builds.csv: `{fact['variant']}` is no variant known here")
    if fact["platform"] in FOREIGN or not Variant(fact["variant"]).is_cuda_or_cpu:
        return False
    if fact["evidence"] == "uncertain":
        facts.left_out.append(f"torch {fact['torch']} {fact['variant']} {fact['platform']}: {fact['note']}")
        return False
    return True


def _build(fact: dict[str, str], sources: Sources) -> Row:
    where = f"torch_builds.csv: torch {fact['torch']} {fact['variant']} {fact['platform']}"
    try:
        return _row(fact, sources)
    except (InvalidVersion, ValueError, KeyError) as error:
        raise UnusableFacts(f"{where}: {error}") from error


def _row(fact: dict[str, str], sources: Sources) -> Row:
    row: Row = {
        "torch": str(Version(fact["torch"])),
        "variant": fact["variant"],
        "platform": PLATFORMS[fact["platform"]],
        "index": _INDEXES[fact["channel"]],
        "cuda": fact["cuda"] or None,
        "pythons": sorted(fact["pythons"].split(), key=python_order),
        "architectures": _architectures(fact),
        "cudnn": fact["cudnn"] or None,
        "tags": fact["platform_tags"].split(),
        "triton": fact["triton"] or None,
        "torchvision": fact["torchvision"].split(),
        "torchaudio": fact["torchaudio"].split(),
        "torchtext": fact["torchtext"].split(),
        "source": sources.resolve(";".join([*_places(fact["evidence"]), fact["arch_source"]])),
        "evidence": _evidence(fact),
    }
    return row | ({"note": fact["note"]} if fact["note"] else {})


def _places(evidence: str) -> list[str]:
    # `index-page-2025-07-09 lock-file`
    return evidence.split()


def _architectures(fact: dict[str, str]) -> list[str]:
    machine = [f"sm_{_digits(text)}" for text in fact["arch_list"].split()]
    return machine + [f"compute_{_digits(text)}" for text in fact["ptx"].split()]


def _digits(text: str) -> str:
    capability = parse_compute_capability(text)
    return f"{capability.major}{capability.minor}"


def _evidence(fact: dict[str, str]) -> str:
    if fact["evidence"] == "release-matrix":
        return "assumed"
    return "wheel" if fact["arch_source"] == "measured in wheel" else "matrix"


def _fill_tags(rows: list[Row]) -> None:
    """Give rows known from the release matrix alone the platform tags that their platform had last."""
    seen: dict[tuple[str, Version], Counter[tuple[str, ...]]] = {}
    for row in rows:
        if row["tags"]:
            seen.setdefault((row["platform"], Version(row["torch"])), Counter())[tuple(row["tags"])] += 1
    for row in rows:
        row["tags"] = row["tags"] or _last_tags(row, seen)


def _last_tags(row: Row, seen: dict[tuple[str, Version], Counter[tuple[str, ...]]]) -> list[str]:
    earlier = [key for key in seen if key[0] == row["platform"] and key[1] <= Version(row["torch"])]
    if not earlier:
        raise UnusableFacts(f"torch_builds.csv: torch {row['torch']} {row['platform']}: no platform tags")
    return list(seen[max(earlier)].most_common(1)[0][0])
