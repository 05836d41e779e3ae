"""companions.json: which releases of torch's companions go with which torch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.core.matrix_text import COMPANIONS, sort_rows
from gpuenv.values.variant import parse_cuda_version
from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml

_WITHOUT_CUDA = ("torchtext", "torchdata")
_COLUMNS = ("torchvision", "torchaudio", "torchtext")


def build_companions(facts: Facts, builds: list[Row]) -> list[Row]:
    """Make the rows of companions.json: one a torch release and project, then one a companion release.

    `builds` are the rows of torch.json, whose columns name the companions that were published beside a torch.
    """
    sources = facts.sources()
    matches = read_toml(DATA / "companions.toml")["match"]
    declared = [fact for fact in facts.table("torch_pairs.csv") if fact["project"] in COMPANIONS]
    try:
        _refuse_unknown_torches(builds, declared)
        pairs = [*_pairs(builds, declared, sources), *_triton(builds)]
        releases = [_release(fact, sources, matches) for fact in declared]
    except (InvalidVersion, InvalidSpecifier, ValueError) as error:
        raise UnusableFacts(f"torch_pairs.csv: {error}") from error
    return [dict(row) for row in sort_rows("companions", [*pairs, *releases])]


def _pairs(builds: list[Row], declared: list[dict[str, str]], sources: Sources) -> Iterator[Row]:
    for torch in sorted({row["torch"] for row in builds}, key=Version):
        for project in COMPANIONS:
            facts = {fact["version"]: fact for fact in declared if fact["project"] == project}
            named = _named(project, torch, builds, facts)
            if named:
                yield _pair(torch, project, _best_first(torch, named, facts), facts, sources)


def _refuse_unknown_torches(builds: list[Row], declared: list[dict[str, str]]) -> None:
    torches = {row["torch"] for row in builds}
    known = torches | {_minor(torch) for torch in torches}
    for fact in declared:
        named = set(fact["documented_torch"].split())
        # a pin may name the variant too: ==1.10.0+cu102
        wanted = SpecifierSet(re.sub(r"\+\w+", "", fact["torch_requirement"]))
        if named - known or not any(wanted.contains(torch) for torch in torches):
            what = ", ".join(sorted(named - known)) or fact["torch_requirement"]
            raise ValueError(f"{fact['project']} {fact['version']} names torch {what}, which does not exist")


def _minor(torch: str) -> str:
    return ".".join(torch.split(".")[:2])


def _named(project: str, torch: str, builds: list[Row], facts: dict[str, dict[str, str]]) -> set[str]:
    named: set[str] = set()
    if project in _COLUMNS:
        for row in builds:
            if row["torch"] == torch:
                named.update(row[project])
    else:
        # torchdata has no column: what its releases declare is all that is known
        named.update(version for version, fact in facts.items() if _declares(fact, torch))
    named.update(v for v, fact in facts.items() if _minor(torch) in fact["documented_torch"].split())
    unknown = named - set(facts)
    if unknown:
        raise ValueError(
            f"torch {torch} is paired with {project} {', '.join(sorted(unknown))}, which no row knows"
        )
    return named


def _declares(fact: dict[str, str], torch: str) -> bool:
    wanted = fact["torch_requirement"]
    return bool(wanted) and SpecifierSet(wanted).contains(torch)


def _pinned(fact: dict[str, str], torch: str) -> bool:
    return fact["requirement_state"] == "pinned" and _declares(fact, torch)


def _best_first(torch: str, named: set[str], facts: dict[str, dict[str, str]]) -> list[str]:
    """Order the versions: those that pin this torch, newest first, then the nearest of the others.

    A release that only sets a lower bound was built beside the newest torch it names, so for an older torch
    the nearest one fits best; where nothing is compiled (torchdata) the newest does.
    """
    pinned = sorted((v for v in named if _pinned(facts[v], torch)), key=Version, reverse=True)
    others = sorted(
        named - set(pinned), key=Version, reverse=all(facts[v]["project"] == "torchdata" for v in named)
    )
    ranked = pinned + others
    return sorted(ranked, key=lambda version: facts[version]["yanked"] == "all")


def _pair(
    torch: str, project: str, versions: list[str], facts: dict[str, dict[str, str]], sources: Sources
) -> Row:
    best = facts[versions[0]]
    row: Row = {
        "kind": "pair",
        "torch": torch,
        "project": project,
        "versions": versions,
        "source": sources.resolve(best["source"]),
        "evidence": _pair_evidence(best, torch),
    }
    return row | ({"note": best["note"]} if best["note"] else {})


def _pair_evidence(fact: dict[str, str], torch: str) -> str:
    if _pinned(fact, torch):
        return "wheel"
    documented = fact["documented_torch"].split()
    return (
        "matrix"
        if torch in documented or _minor(torch) in documented or fact["torch_requirement"]
        else "assumed"
    )


def _triton(builds: list[Row]) -> Iterator[Row]:
    for torch in sorted({row["torch"] for row in builds}, key=Version):
        rows = [row for row in builds if row["torch"] == torch and row["triton"]]
        wanted = {row["triton"] for row in rows}
        if len(wanted) > 1:
            raise ValueError(f"torch {torch} asks for triton {' and '.join(sorted(wanted))}")
        if wanted:
            SpecifierSet(rows[0]["triton"])
            best = next((row for row in rows if row["evidence"] == "wheel"), rows[0])
            yield {
                "kind": "pair",
                "torch": torch,
                "project": "triton",
                "specifier": best["triton"],
                "source": best["source"],
                "evidence": best["evidence"],
            }


def _release(fact: dict[str, str], sources: Sources, matches: list[Row]) -> Row:
    SpecifierSet(fact["requires_python"])
    cuda = fact["pypi_linux_x86_64_cuda"]
    match = _cuda_match(fact, matches)
    row: Row = {
        "kind": "release",
        "project": fact["project"],
        "version": str(Version(fact["version"])),
        "requires_torch": fact["torch_requirement"] or None,
        "requires_python": fact["requires_python"] or None,
        "pythons": fact["python_tags"].split(),
        "yanked": fact["yanked"] == "all",
        "pypi_cuda": {"linux-64": str(parse_cuda_version(cuda))} if cuda else {},
        "cuda_match": match["cuda"],
        "source": "; ".join(filter(None, (sources.resolve(fact["source"]), match.get("source")))),
        "evidence": "wheel",
    }
    return row | ({"note": fact["note"]} if fact["note"] else {})


def _cuda_match(fact: dict[str, str], matches: list[Row]) -> Row:
    for match in matches:
        if match["project"] == fact["project"] and SpecifierSet(match["versions"]).contains(fact["version"]):
            return match
    return {"cuda": None if fact["project"] in _WITHOUT_CUDA else "exact"}
