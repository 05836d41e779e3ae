"""ecosystem.json: projects bound to torch, where their wheels lie and for which torch there are any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.version import InvalidVersion, Version

from gpuenv.matrix_checks.serialise import python_order
from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml

_KINDS = (
    "set",
    "project",
    "code",
    "abi",
    "wheels",
    "requires",
    "name",
    "member",
    "framework",
    "brings-torch",
)
_OF_SYSTEM = {"x86_64": "linux-64", "aarch64": "linux-aarch64", "amd64": "win-64"}
_BY_OTHERS = "mjun0812/flash-attention-prebuild-wheels"
_RELEASE = "https://github.com/{by}/releases/expanded_assets/{tag}"
_NO_PYPI_NAME = "jetson torch"
_IN_COMPANIONS = ("torchcodec", "torchdata", "torchtext", "xformers")
_OF_NVIDIA = "nvidia-"


def build_ecosystem(facts: Facts) -> list[Row]:
    """Make the rows of ecosystem.json; what torch's companions require stands in companions.json."""
    answer = read_toml(DATA / "ecosystem.toml")
    sources = facts.sources()
    try:
        rows = [
            *_sets(answer),
            *_projects(answer, facts, sources),
            *_beyond(answer, facts),
            *_codes(answer),
            *_abis(answer, sources),
            *_wheels(answer),
            *_pyg(facts, sources),
            *_by_others(facts, sources),
            *_requires(facts, sources),
            *({"kind": "name", **entry, "evidence": "matrix"} for entry in answer.get("name", ())),
            *_members(answer),
            *_frameworks(answer),
        ]
        return sorted(rows, key=_order)
    except (InvalidVersion, ValueError) as error:
        raise UnusableFacts(f"the facts of the ecosystem: {error}") from error


def _sets(answer: Row) -> Iterator[Row]:
    for entry in answer["set"]:
        fields = ("set", "projects", "page", "match", "ended", "missing_status", "source")
        yield {"kind": "set", **{name: entry[name] for name in fields}, **_rest(entry)}


def _projects(answer: Row, facts: Facts, sources: Sources) -> Iterator[Row]:
    sets = {project: entry["set"] for entry in answer["set"] for project in entry["projects"]}
    for entry in facts.document("ecosystem_pairing.toml")["project"]:
        if entry["name"] == _NO_PYPI_NAME:
            facts.left_out.append(f"{entry['name']}: no project of PyPI")
            continue
        for name in _names(entry["name"]):
            more = answer["project"].get(name, {})
            cited = "; ".join(entry.get("sources", ["pypi-live"]))
            yield {
                "kind": "project",
                "project": name,
                "set": sets.get(name),
                "form": entry["form"],
                "rule": entry["rule"],
                "least_compute_capability": more.get("least"),
                "least_for": more.get("least_for"),
                "gpu_only": more.get("gpu_only", False),
                **_pins(more),
                "source": "; ".join((sources.resolve(cited), *_own_source(more))),
                "evidence": "matrix",
            }


def _beyond(answer: Row, facts: Facts) -> Iterator[Row]:
    """Yield the projects that the facts lack."""
    known = {
        name
        for entry in facts.document("ecosystem_pairing.toml")["project"]
        for name in _names(entry["name"])
    }
    for name, entry in answer["project"].items():
        if name not in known and "rule" in entry:
            yield {
                "kind": "project",
                "project": name,
                "set": None,
                "form": "requires_dist",
                "rule": entry["rule"],
                "least_compute_capability": entry.get("least"),
                "least_for": entry.get("least_for"),
                "gpu_only": entry.get("gpu_only", False),
                **_pins(entry),
                "source": entry["source"],
                "evidence": "matrix",
            }


def _pins(entry: Row) -> Row:
    """Return which projects of the torch stack the releases pin, where they do."""
    return {name: entry[name] for name in ("pins", "built_for_pypi", "through") if name in entry}


def _own_source(more: Row) -> tuple[str, ...]:
    return (more["source"],) if "source" in more else ()


def _names(text: str) -> tuple[str, ...]:
    """Read `PyG (pyg-lib torch-scatter)`, `mmcv / mmcv-full` or a plain name."""
    inside = re.search(r"\((.*)\)", text)
    return tuple((inside[1] if inside else text.replace(" / ", " ")).lower().split())


def _codes(answer: Row) -> Iterator[Row]:
    for entry in answer["code"]:
        yield {"kind": "code", **entry, "evidence": "matrix"}


def _abis(answer: Row, sources: Sources) -> Iterator[Row]:
    for entry in answer["abi"]:
        yield {"kind": "abi", **entry, "source": sources.resolve("pypi-live"), "evidence": "matrix"}


def _wheels(answer: Row) -> Iterator[Row]:
    cited = {entry["set"]: entry["source"] for entry in answer["set"]}
    for entry in answer["wheels"]:
        for variant in entry["variants"]:
            for platform in entry["platforms"]:
                yield _wheel(
                    set=entry["set"],
                    torch=entry["torch"],
                    variant=variant,
                    platform=platform,
                    versions=entry["versions"],
                    source=cited[entry["set"]],
                    evidence=entry.get("evidence", "matrix"),
                )


def _wheel(**facts: Any) -> Row:
    """Make a row; what is not told is what most rows have."""
    most: Row = {
        "kind": "wheels", "set": None, "by": None, "torch": None, "variant": None, "platform": None,
        "pythons": [], "versions": [], "pages": [], "source": None, "evidence": "matrix",
    }  # fmt: skip
    return most | facts


def _pyg(facts: Facts, sources: Sources) -> Iterator[Row]:
    for row in facts.table("pyg_pages.csv"):
        torch = row["torch_page_key"].removesuffix(".0")
        for variant in row["variants"].split():
            yield _wheel(set="pyg", torch=torch, variant=variant, source=sources.resolve(row["source"]))


def _by_others(facts: Facts, sources: Sources) -> Iterator[Row]:
    """Yield what others built of flash-attn: of each torch, variant and platform the newest release."""
    newest: dict[tuple[str, str, str], tuple[Version, set[str], set[str]]] = {}
    passed = 0
    for row in facts.table("flash_attn_prebuilt.csv"):
        if row["project"] != "flash_attn":
            passed += 1
            continue
        key = (row["torch"], row["cuda_tag"], _platform(row["platform_tag"]))
        version = Version(row["version"])
        tags, pythons = set(row["release_tags"].split()), set(row["pythons"].split())
        known = newest.get(key)
        if known is None or version > known[0]:
            newest[key] = (version, tags, pythons)
        elif version == known[0]:
            known[1].update(tags)
            known[2].update(pythons)
    facts.left_out.append(f"flash_attn_prebuilt.csv: {passed} files of other projects than flash-attn")
    for (torch, variant, platform), (version, tags, pythons) in newest.items():
        ordered = sorted(tags, key=Version, reverse=True)
        yield _wheel(
            set="flash-attn",
            torch=torch,
            variant=variant,
            platform=platform,
            versions=[str(version)],
            by=_BY_OTHERS,
            pythons=sorted(pythons, key=python_order),
            pages=[_RELEASE.format(by=_BY_OTHERS, tag=tag) for tag in ordered],
            source=sources.resolve("mjun0812-prebuilt"),
        )


def _platform(tag: str) -> str:
    """Read `manylinux_2_24_x86_64.manylinux_2_28_x86_64`, `win_amd64`."""
    return next(platform for ending, platform in _OF_SYSTEM.items() if tag.endswith(ending))


def _requires(facts: Facts, sources: Sources) -> Iterator[Row]:
    for row in facts.table("ecosystem_requires.csv"):
        if row["project"] in _IN_COMPANIONS or row["project"].startswith(_OF_NVIDIA):
            continue
        torch, _, marker = (part.strip() for part in row["torch"].partition(";"))
        yield {
            "kind": "requires",
            "project": row["project"],
            "version": row["version"],
            "requires_torch": None if torch in ("", "*") else torch,
            "requires_python": row["requires_python"] or None,
            "pythons": row["python_tags"].split(),
            "platforms": row["platforms"].split(),
            "yanked": row["yanked"] == "yes",
            "source": sources.resolve("pypi-live"),
            "evidence": "matrix",
            **({"note": f"torch is required where {marker}"} if marker else {}),
        }


def _members(answer: Row) -> Iterator[Row]:
    """Yield the projects of each family; families of one shape share an entry."""
    for entry in answer["family"]:
        for family in entry["families"]:
            for member in entry["members"]:
                yield {
                    "kind": "member",
                    "family": family,
                    "project": member["project"].format(family=family),
                    "extra": member.get("extra"),
                    "cuda": member["cuda"],
                    "versions": member.get("versions"),
                    "clash": entry.get("clash"),
                    "source": entry["source"],
                    "evidence": "matrix",
                }


def _frameworks(answer: Row) -> Iterator[Row]:
    """Yield the projects of other frameworks, and those that come with torch."""
    for entry in answer["framework"]:
        for pattern in entry["projects"]:
            bounds = {name: entry.get(name) for name in ("releases", "python")}
            row = {"kind": "framework", "pattern": pattern, **bounds}
            yield {**row, "source": entry["source"], "evidence": "matrix"}
    for entry in answer["brings_torch"]:
        for pattern in entry["projects"]:
            row = {"kind": "brings-torch", "pattern": pattern, "source": entry["source"]}
            yield {**row, "evidence": "matrix"}


def _rest(entry: Row) -> Row:
    return {"evidence": "matrix"} | ({"note": entry["note"]} if "note" in entry else {})


def _order(row: Row) -> Any:
    torch = row["torch"] if row["kind"] == "wheels" else "0"
    return (
        _KINDS.index(row["kind"]),
        str(row.get("set") or ""),
        str(row.get("by") or ""),
        Version(torch),
        str(row.get("project") or ""),
        Version(str(row.get("version") or "0")),
        str(row.get("variant") or ""),
        str(row.get("platform") or ""),
        str(row.get("versions") or row.get("torch") or ""),
        str(row.get("extra") or ""),
        str(row.get("pattern") or ""),
        str(row.get("releases") or "~"),
    )
