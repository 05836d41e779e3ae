"""companions.json: which releases of torch's companions go with which torch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from gpuenv.matrix_checks.serialise import COMPANIONS, sort_rows
from gpuenv.model.variant import parse_cuda_version
from matrix_tables.facts import DATA, Facts, Row, Sources, UnusableFacts, read_toml

_WITHOUT_CUDA = ("torchtext", "torchdata")
_COLUMNS = ("torchvision", "torchaudio", "torchtext")
_LINUX = "linux-64"


def build_companions(facts: Facts, builds: list[Row], records: list[Row]) -> list[Row]:
    """Make the rows of companions.json: one a torch release and project, then one a companion release.

    `builds` are the rows of torch.json, whose columns name the companions that were published beside a torch;
    `records` tell what xformers' wheels were built with.
    """
    sources = facts.sources()
    answer = read_toml(DATA / "companions.toml")
    matches, absent = (
        answer["match"],
        {(item["project"], item["version"]): item["why"] for item in answer["absent"]},
    )
    facts.left_out += (f"{project} {version}: {why}" for (project, version), why in absent.items())
    wanted = (fact for fact in facts.table("torch_pairs.csv") if fact["project"] in COMPANIONS)
    declared = [fact for fact in wanted if (fact["project"], fact["version"]) not in absent]
    try:
        built = Built(facts, records)
        declared += built.declared
        _refuse_unknown_torches(builds, declared)
        pairs = [*_Pairing(builds, declared, built, sources).pairs(), *_triton(builds)]
        releases = [_release(fact, sources, matches, built) for fact in declared]
    except (InvalidVersion, InvalidSpecifier, ValueError) as error:
        raise UnusableFacts(f"torch_pairs.csv, ecosystem_requires.csv: {error}") from error
    return [dict(row) for row in sort_rows("companions", [*pairs, *releases])]


class Built:
    """Releases whose wheels record what they were built with (xformers), in the words of torch_pairs.csv."""

    def __init__(self, facts: Facts, records: list[Row]) -> None:
        self.records: dict[tuple[str, str], dict[str, Row]] = {}
        for record in records:
            self.records.setdefault((record["project"], record["version"]), {})[record["platform"]] = record
        recorded = {project for project, _ in self.records}
        answers = [row for row in facts.table("ecosystem_requires.csv") if row["project"] in recorded]
        self.declared = [self._declare(row) for row in answers if self._is_recorded(row, facts)]

    def of(self, fact: dict[str, str]) -> dict[str, Row]:
        """What a release's wheels record, by platform."""
        return self.records.get((fact["project"], fact["version"]), {})

    def _is_recorded(self, row: dict[str, str], facts: Facts) -> bool:
        recorded = (row["project"], row["version"]) in self.records
        if not recorded:
            facts.left_out.append(f"{row['project']} {row['version']}: its wheel does not record its build")
        return recorded

    def _declare(self, row: dict[str, str]) -> dict[str, str]:
        record = next(iter(self.of(row).values()))
        pinned = row["torch"].startswith("==")
        if pinned and not SpecifierSet(row["torch"]).contains(record["torch"]):
            raise ValueError(
                f"{row['file']} asks for torch{row['torch']}, and was built with {record['torch']}"
            )
        built_with = f"built with torch {record['torch']} for CUDA {record['cuda']}"
        return {
            "project": row["project"],
            "version": row["version"],
            "torch_requirement": row["torch"],
            "requirement_state": "pinned" if pinned else "bound",
            "documented_torch": "",
            "pypi_linux_x86_64_cuda": record["cuda"],
            "python_tags": row["python_tags"],
            "requires_python": row["requires_python"],
            "yanked": "all" if row["yanked"] == "yes" else row["yanked"],
            "source": record["source"],
            "note": "" if pinned else f"lower bound only; {built_with}",
        }


class _Pairing:
    """Pairs of a torch and a project: which releases go together, and by what that was decided."""

    def __init__(
        self, builds: list[Row], declared: list[dict[str, str]], built: Built, sources: Sources
    ) -> None:
        self._builds = builds
        self._declared = declared
        self._built = built
        self._sources = sources

    def pairs(self) -> Iterator[Row]:
        for torch in sorted({row["torch"] for row in self._builds}, key=Version):
            for project in COMPANIONS:
                facts = {fact["version"]: fact for fact in self._declared if fact["project"] == project}
                named = self._named(project, torch, facts)
                if named:
                    yield self._pair(torch, project, self._best_first(torch, named, facts), facts)

    def _named(self, project: str, torch: str, facts: dict[str, dict[str, str]]) -> set[str]:
        rows = [row for row in self._builds if row["torch"] == torch]
        if project in _COLUMNS:
            named = {version for row in rows for version in row[project]}
        else:
            # without a column, what a release declares is all that is known
            named = {version for version, fact in facts.items() if _declares(fact, torch)}
        named.update(v for v, fact in facts.items() if _minor(torch) in fact["documented_torch"].split())
        unknown = named - set(facts)
        if unknown:
            raise ValueError(
                f"torch {torch} is paired with {project} {', '.join(sorted(unknown))}, which no row knows"
            )
        return named

    def _best_first(self, torch: str, named: set[str], facts: dict[str, dict[str, str]]) -> list[str]:
        """Order the versions: those made for this torch, newest first, then the nearest of the others.

        A release that only sets a lower bound was built beside the newest torch it names, so for an older
        torch the nearest one fits best; where nothing is compiled (torchdata) the newest does.
        """
        made = sorted((v for v in named if self._is_made_for(facts[v], torch)), key=Version, reverse=True)
        newest = all(facts[v]["project"] == "torchdata" for v in named)
        ranked = made + sorted(named - set(made), key=Version, reverse=newest)
        return sorted(ranked, key=lambda version: facts[version]["yanked"] == "all")

    def _is_made_for(self, fact: dict[str, str], torch: str) -> bool:
        records = self._built.of(fact).values()
        return _pinned(fact, torch) or any(record["torch"] == torch for record in records)

    def _pair(self, torch: str, project: str, versions: list[str], facts: dict[str, dict[str, str]]) -> Row:
        best = facts[versions[0]]
        evidence = "wheel" if self._is_made_for(best, torch) else _pair_evidence(best, torch)
        row: Row = {
            "kind": "pair",
            "torch": torch,
            "project": project,
            "versions": versions,
            "basis": self._basis(best, torch),
            "source": _read_in(self._sources.resolve(best["source"]), evidence),
            "evidence": evidence,
        }
        return row | ({"note": best["note"]} if best["note"] else {})

    def _basis(self, fact: dict[str, str], torch: str) -> str:
        """Tell by what it was decided that a release goes with a torch: BASES in core/knowledge_rows.py."""
        if _pinned(fact, torch):
            return "metadata"
        builds = [row for row in self._builds if row["torch"] == torch and row["cuda"]]
        linked = {_major(record["cuda"]) for record in self._built.of(fact).values()}
        if linked & {_major(row["cuda"]) for row in builds}:
            return "cpp_lib.json"
        own = {row["cuda"] for row in builds if row["index"] == "pypi"}
        if not linked and fact["pypi_linux_x86_64_cuda"] in own:
            return "version.py"
        if {torch, _minor(torch)} & set(fact["documented_torch"].split()):
            return "documented"
        return "metadata" if fact["torch_requirement"] else "number"


def _read_in(source: str, evidence: str) -> str:
    """Say of what was read from wheels in which member it stood."""
    named = evidence != "wheel" or ".whl" in source
    return source if named else f"METADATA of the wheels on {source}"


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


def _major(cuda: str) -> str:
    return cuda.partition(".")[0]


def _minor(torch: str) -> str:
    return ".".join(torch.split(".")[:2])


def _declares(fact: dict[str, str], torch: str) -> bool:
    wanted = fact["torch_requirement"]
    return bool(wanted) and SpecifierSet(wanted).contains(torch)


def _pinned(fact: dict[str, str], torch: str) -> bool:
    return fact["requirement_state"] == "pinned" and _declares(fact, torch)


def _pair_evidence(fact: dict[str, str], torch: str) -> str:
    documented = fact["documented_torch"].split()
    message = torch in documented or _minor(torch) in documented or fact["torch_requirement"]
    return "matrix" if message else "assumed"


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
                "basis": "metadata",
                "source": best["source"],
                "evidence": best["evidence"],
            }


def _release(fact: dict[str, str], sources: Sources, matches: list[Row], built: Built) -> Row:
    SpecifierSet(fact["requires_python"])
    cudas = {platform: record["cuda"] for platform, record in built.of(fact).items()}
    if not cudas and fact["pypi_linux_x86_64_cuda"]:
        cudas = {_LINUX: fact["pypi_linux_x86_64_cuda"]}
    match = _cuda_match(fact, matches)
    source = _read_in(sources.resolve(fact["source"]), "wheel")
    row: Row = {
        "kind": "release",
        "project": fact["project"],
        "version": str(Version(fact["version"])),
        "requires_torch": fact["torch_requirement"] or None,
        "requires_python": fact["requires_python"] or None,
        "pythons": fact["python_tags"].split(),
        "yanked": fact["yanked"] == "all",
        "pypi_cuda": {platform: str(parse_cuda_version(cuda)) for platform, cuda in cudas.items()},
        "cuda_match": match["cuda"],
        **_compiled_for(fact, built),
        "source": "; ".join(filter(None, (source, match.get("source")))),
        "evidence": "wheel",
    }
    return row | ({"note": fact["note"]} if fact["note"] else {})


def _compiled_for(fact: dict[str, str], built: Built) -> Row:
    lists = {tuple(record["architectures"]) for record in built.of(fact).values()}
    if len(lists) > 1:
        raise ValueError(f"{fact['project']} {fact['version']} has other code on other platforms")
    return {"architectures": list(*lists)} if lists else {}


def _cuda_match(fact: dict[str, str], matches: list[Row]) -> Row:
    for match in matches:
        if match["project"] == fact["project"] and SpecifierSet(match["versions"]).contains(fact["version"]):
            return match
    return {"cuda": None if fact["project"] in _WITHOUT_CUDA else "exact"}
