"""The libraries of CUDA against the builds that bring them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix_checks.keys import Complaints, Row, Rows, compares
from gpuenv.model.capability import parse_compute_capability


@compares("torch", "libraries")
def _cudnn_is_made_for_the_cuda(torch: Rows, libraries: Rows) -> Complaints:
    """Each build's cuDNN is of a family that is made for its CUDA."""
    families = {row["major"]: row for row in _families(libraries)}
    for row in torch:
        wrong = _family_apart(row["cudnn"], row["cuda"], families) if row["cuda"] and row["cudnn"] else None
        if wrong:
            yield row, wrong


@compares("libraries")
def _bundled_are_made_for_the_cuda(libraries: Rows) -> Complaints:
    """So is each that is known to be bundled."""
    families = {row["major"]: row for row in _families(libraries)}
    for row in libraries:
        wrong = _family_apart(row["version"], row["cuda"], families) if row["kind"] == "bundled" else None
        if wrong:
            yield row, wrong


def _families(libraries: Rows) -> Iterator[Row]:
    return (row for row in libraries if row["kind"] == "family" and row["library"] == "cudnn")


def _family_apart(version: str, cuda: str, families: Mapping[int, Row]) -> str | None:
    family = families.get(Version(version).major)
    if family is None or SpecifierSet(family["cuda"]).contains(cuda):
        return None
    facts = {"version": version, "wanted": family["cuda"], "cuda": cuda}
    return tr("cuDNN {version} is built for CUDA {wanted}, not for {cuda}", **facts)


@compares("libraries")
def _libraries_only_drop(libraries: Rows) -> Complaints:
    """A newer release of a library runs on no older GPU than the one before."""
    floors = [row for row in libraries if row["kind"] == "floor"]
    rows = sorted(floors, key=lambda row: (row["library"], row["cuda"] or "", Version(row["from"])))
    for before, row in pairwise(rows):
        least, last = (parse_compute_capability(entry["min_compute_capability"]) for entry in (row, before))
        alike = (before["library"], before["cuda"]) == (row["library"], row["cuda"])
        if alike and least < last:
            yield row, tr("supports older GPUs again than {before}", before=before["from"])


@compares("libraries", "torch")
def _bundled_libraries_are_of_builds(libraries: Rows, torch: Rows) -> Complaints:
    """What is bundled belongs to a build whose metadata leave it open."""
    silent = {(row["torch"], row["cuda"]) for row in torch if not row["cudnn"]}
    for row in libraries:
        if row["kind"] == "bundled" and (row["torch"], row["cuda"]) not in silent:
            yield row, tr("no build of torch.json leaves its cuDNN open")
