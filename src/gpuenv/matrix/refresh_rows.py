"""Rows of the matrices, made of what was read from a wheel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from packaging.version import Version

from gpuenv.i18n.messages import N_, gettext, tr
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import WheelTarget
from gpuenv.model.variant import Variant
from gpuenv.model.wheel import IndexKind, WheelFile
from gpuenv.wheels.metadata import WheelFacts, required_cuda, specifier_of

_KINDS = {"pypi": "PyPI", "pytorch": N_("the PyTorch index")}
_KEPT = ("torchvision", "torchaudio", "torchtext")  # of a row that is read again


class NotEnoughError(Exception):
    """Too little is known of a wheel to make a row of it; the text says what is missing."""


class Borrowed(Struct, frozen=True):
    """What the nearest build has, for a wheel whose own list could not be read."""

    architectures: tuple[str, ...]
    cudnn: str | None
    label: str


def cite(target: WheelTarget, date: str) -> str:
    """Say which file was read, and when: a file on an index can be replaced, its digest can't lie."""
    return cite_file(target.file, target.index, date)


def cite_file(file: WheelFile, index: IndexKind, date: str) -> str:
    """Say the same of a file."""
    location = tr(
        "wheel {name} on {index} ({date})", name=file.filename, index=gettext(_KINDS[index]), date=date
    )
    return f"{location}, sha256 {file.sha256}" if file.sha256 else location


def torch_row(target: WheelTarget, facts: WheelFacts, known: Iterable[Row], date: str) -> Row:
    """Make a row of torch.json; raise NotEnoughError where not even the variant is known.

    `known` are the rows there are: what the wheel did not tell is taken from the nearest, and the row says
    so.
    """
    rows = tuple(known)
    variant = facts.variant or target.variant or _required_variant(facts)
    if variant is None:
        raise NotEnoughError(_why(facts, tr("its CUDA version is not known")))
    if not variant.is_cuda_or_cpu:
        raise NotEnoughError(tr("`{variant}` is not a variant that gpuenv plans", variant=variant))
    before = _same(target, variant, rows)
    borrowed = None
    if variant.cuda and not facts.architectures:
        borrowed = _borrow(target, variant, rows)
        if borrowed is None:
            raise NotEnoughError(_why(facts, tr("no build like it is known")))
    required = required_cuda(facts.metadata, facts.platform) if variant.cuda else None
    return {
        "torch": str(target.version),
        "variant": str(variant),
        "platform": target.platform,
        "index": target.index,
        "cuda": str(variant.cuda) if variant.cuda else None,
        "pythons": list(target.pythons),
        "architectures": list(borrowed.architectures if borrowed else map(str, facts.architectures)),
        "cudnn": _cudnn(facts, variant, before, borrowed),
        **({"requires_cuda": str(required)} if required else {}),
        "tags": list(target.tags),
        "triton": (specifier_of(facts.metadata, "triton", target.platform) or None) if variant.cuda else None,
        **{name: list(before.get(name, [])) for name in _KEPT},
        "source": cite(target, date),
        **_evidence(facts, borrowed, before),
    }


def release_row(target: WheelTarget, facts: WheelFacts, known: Iterable[Row], date: str) -> Row:
    """Make a release row of companions.json."""
    cuda = facts.variant.cuda if facts.variant else None
    requires = specifier_of(facts.metadata, "torch", target.platform)
    return {
        "kind": "release",
        "project": target.project,
        "version": str(target.version),
        "requires_torch": requires or None,
        "requires_python": facts.metadata.requires_python,
        "pythons": list(target.pythons),
        "yanked": target.yanked,
        "pypi_cuda": {target.platform: str(cuda)} if cuda and target.index == "pypi" else {},
        "cuda_match": _cuda_match(target, known),
        "source": cite(target, date),
        **_evidence(facts, None, {}),
    }


def _evidence(facts: WheelFacts, borrowed: Borrowed | None, before: Row) -> dict[str, str]:
    notes = list(facts.missing)
    if borrowed:
        notes.append(tr("architectures as in {build}", build=borrowed.label))
    if notes:
        return {"evidence": "assumed", "note": "; ".join((*notes, *facts.remarks))}
    kept = "; ".join(dict.fromkeys(filter(None, (*facts.remarks, before.get("note")))))
    return {"evidence": "wheel", **({"note": kept} if kept else {})}


def _why(facts: WheelFacts, what: str) -> str:
    return "; ".join((*facts.missing, what))


def _required_variant(facts: WheelFacts) -> Variant | None:
    cuda = required_cuda(facts.metadata, facts.platform)
    return Variant(f"cu{cuda.major}{cuda.minor}") if cuda else None


def _cudnn(facts: WheelFacts, variant: Variant, before: Row, borrowed: Borrowed | None) -> str | None:
    """The cuDNN that is required; one that is bundled is known from elsewhere, or not at all."""
    if variant.cuda is None:
        return None
    known = before.get("cudnn") or (borrowed.cudnn if borrowed else None)
    return facts.cudnn or (str(known) if known else None)


def _same(target: WheelTarget, variant: Variant, rows: tuple[Row, ...]) -> Row:
    key = (str(target.version), str(variant), target.platform, target.index)
    mappings = (row for row in rows if (row["torch"], row["variant"], row["platform"], row["index"]) == key)
    return next(mappings, {})


def _borrow(target: WheelTarget, variant: Variant, rows: tuple[Row, ...]) -> Borrowed | None:
    """Take the list of the nearest release for the same CUDA and platform, older ones first."""
    alike = [row for row in rows if row["variant"] == str(variant) and row["platform"] == target.platform]
    if not alike:
        return None
    nearest = max(alike, key=lambda row: _nearness(Version(row["torch"]), target.version))
    label = f"torch {nearest['torch']}+{variant} {target.platform}"
    return Borrowed(tuple(nearest["architectures"]), nearest["cudnn"], label)


def _nearness(version: Version, wanted: Version) -> tuple[bool, Any]:
    older = version <= wanted
    return older, version if older else tuple(-part for part in version.release)


def _cuda_match(target: WheelTarget, known: Iterable[Row]) -> str | None:
    """Tell how closely its CUDA must be torch's: as for the release before it."""
    releases = [row for row in known if row.get("kind") == "release" and row["project"] == target.project]
    if not releases:
        return "exact"
    newest = max(releases, key=lambda row: Version(row["version"]))
    return None if newest["cuda_match"] is None else str(newest["cuda_match"])
