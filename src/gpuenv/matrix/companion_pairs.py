"""Which companion releases go with a torch release, by what their wheels say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import PROJECTS


class _Fit(Struct, frozen=True):
    """A release that goes with a torch: its metadata pins it, or a rule says so where that is silent."""

    row: Row
    basis: str
    note: str | None = None

    @property
    def pinned(self) -> bool:
        """Whether its metadata asks for this torch and no other."""
        return self.basis == "metadata"


def pair_rows(
    torches: Iterable[Version], torch_rows: Sequence[Row], companions: Sequence[Row]
) -> Iterator[Row]:
    """Yield the pair rows of these torch releases that say more than the known ones.

    A release whose metadata pins the torch goes with it. Where metadata sets a lower bound only, PyPI's
    builds must be for the same CUDA by their `version.py`. Where it names no torch, the newest release that
    is numbered as torch is and not above it counts. The last two are `assumed`; `basis` tells which it is.
    """
    known = {(row["torch"], row["project"]): row for row in companions if row["kind"] == "pair"}
    releases = [row for row in companions if row["kind"] == "release"]
    for torch in torches:
        rows = [row for row in torch_rows if row["torch"] == str(torch)]
        for project in PROJECTS[1:]:
            fits = _fits(torch, rows, [row for row in releases if row["project"] == project])
            pair = _pair(torch, project, fits, known.get((str(torch), project)))
            if pair:
                yield pair
        if (str(torch), "triton") not in known:
            yield from _triton(torch, rows)


def with_companions(torch_rows: Iterable[Row], pairs: Iterable[Row]) -> Iterator[Row]:
    """Yield the torch rows whose columns of companions change by these pairs, changed."""
    versions = {(row["torch"], row["project"]): list(row["versions"]) for row in pairs if "versions" in row}
    for row in torch_rows:
        named = {project: versions.get((row["torch"], project), row[project]) for project in PROJECTS[1:]}
        if any(row[project] != named[project] for project in named):
            yield {**row, **named}


def _fits(torch: Version, rows: Sequence[Row], releases: Sequence[Row]) -> list[_Fit]:
    kept = [row for row in releases if not row["yanked"]]
    pinned = [row for row in kept if _pins(row) and SpecifierSet(row["requires_torch"]).contains(torch)]
    if pinned:
        return [_Fit(row, "metadata") for row in _newest_first(pinned)]
    bound = [row for row in kept if _bounds(row, torch) and _same_cuda(row, rows)]
    if bound:
        note = tr("its metadata sets a lower bound only; PyPI's builds of both are for the same CUDA")
        return [_Fit(row, "version.py", note) for row in _newest_first(bound)]
    silent = [row for row in kept if row["requires_torch"] is None and _numbered_alike(row, torch)]
    note = tr("its metadata does not mention torch; the newest release that is not above it")
    return [
        _Fit(row, "version.py" if _same_cuda(row, rows) else "number", note)
        for row in _newest_first(silent)[:1]
    ]


def _pins(row: Row) -> bool:
    return (row["requires_torch"] or "").startswith("==")


def _bounds(row: Row, torch: Version) -> bool:
    wanted = row["requires_torch"]
    return bool(wanted) and not _pins(row) and SpecifierSet(wanted).contains(torch)


def _same_cuda(release: Row, torch_rows: Sequence[Row]) -> bool:
    own = {(row["platform"], row["cuda"]) for row in torch_rows if row["index"] == "pypi" and row["cuda"]}
    return any(pair in own for pair in release["pypi_cuda"].items())


def _numbered_alike(row: Row, torch: Version) -> bool:
    version = Version(row["version"])
    return version.major == torch.major and version <= torch


def _newest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: Version(row["version"]), reverse=True)


def _pair(torch: Version, project: str, fits: list[_Fit], known: Row | None) -> Row | None:
    before = list(known.get("versions", ())) if known else []
    added = [fit for fit in fits if fit.row["version"] not in before]
    if not added or (known and known["evidence"] != "assumed" and not added[0].pinned):
        return None  # what a rule says is worth less than what is known
    versions = [fit.row["version"] for fit in added]
    best = added[0]
    return {
        "kind": "pair",
        "torch": str(torch),
        "project": project,
        "versions": [*versions, *before],
        "basis": best.basis,
        "source": best.row["source"],
        "evidence": best.row["evidence"] if best.pinned else "assumed",
        **({"note": best.note} if best.note else {}),
    }


def _triton(torch: Version, rows: Sequence[Row]) -> Iterator[Row]:
    asking = [row for row in rows if row["triton"]]
    if asking:
        best = next((row for row in asking if row["evidence"] == "wheel"), asking[0])
        yield {
            "kind": "pair", "torch": str(torch), "project": "triton", "specifier": best["triton"],
            "basis": "metadata", "source": best["source"], "evidence": best["evidence"],
        }  # fmt: skip


def torches_to_pair(read: Iterable[Row], torch_rows: Iterable[Row]) -> tuple[Version, ...]:
    """Return the torch releases that rows just read are about, or may go with; oldest first."""
    torches = {Version(row["torch"]) for row in torch_rows}
    wanted: set[Version] = set()
    for row in read:
        if "kind" not in row:
            wanted.add(Version(row["torch"]))
        elif row["kind"] == "release":
            specifiers = SpecifierSet(row["requires_torch"] or "")
            wanted.update(torch for torch in torches if specifiers.contains(torch))
    return tuple(sorted(wanted))
