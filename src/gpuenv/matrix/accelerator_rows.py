"""Rows of accelerator-builds.json, made of what was read from a wheel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuenv.i18n.messages import tr
from gpuenv.matrix.refresh_rows import NotEnoughError, cite
from gpuenv.matrix_checks.keys import Row
from gpuenv.matrix_checks.refresh_targets import WheelTarget
from gpuenv.model.wheel import CUDA_PLATFORMS
from gpuenv.wheels.metadata import WheelFacts, requirements_on, targets_of_extras

_ARM = "osx-arm64"


def accelerator_row(
    target: WheelTarget, facts: WheelFacts, known: Iterable[Row], torch_rows: Iterable[Row], date: str
) -> Row:
    """Make a row of accelerator-builds.json; raise NotEnoughError where it is not known what it has code for.

    `known` are its rows, `torch_rows` those of torch.json, which tell what goes with a release.
    """
    mac = target.platform not in CUDA_PLATFORMS
    specific = _mac(target, facts, known) if mac else _with_code(target, facts)
    return {
        "torch": str(target.version),
        **specific,
        "platform": target.platform,
        "pythons": list(target.pythons),
        "tags": list(target.tags),
        **_companions(target, torch_rows),
        **({"yanked": True} if target.yanked else {}),
        "source": cite(target, date),
        "evidence": "wheel",
    }


def _with_code(target: WheelTarget, facts: WheelFacts) -> Mapping[str, Any]:
    variant = target.variant or facts.variant
    if variant is None or not facts.targets:
        raise NotEnoughError("; ".join((*facts.missing, tr("what it has code for is not known"))))
    by_extras = bool(targets_of_extras(facts.metadata))
    return {
        "kind": variant.kind,
        "variant": str(variant),
        "index": "amd" if by_extras else target.index,
        "targets": list(facts.targets),
        "targets_how": "wheel",
        "extra": by_extras,
        "requires": {},
        "triton": _triton(target, facts),
    }


def _triton(target: WheelTarget, facts: WheelFacts) -> str | None:
    names = (canonicalize_name(item.name) for item in requirements_on(facts.metadata, target.platform))
    return next((name for name in names if "triton" in name), None)


def _mac(target: WheelTarget, facts: WheelFacts, known: Iterable[Row]) -> Mapping[str, Any]:
    """What a wheel for macOS tells; from which macOS on MPS works is told by the release before."""
    least = facts.least_macos
    if least is None:
        raise NotEnoughError(tr("its tags name no macOS"))
    floor = _mps_floor(target, known) if target.platform == _ARM else None
    kind = "mps" if floor else "cpu"
    return {
        "kind": kind,
        "variant": kind,
        "index": target.index,
        "targets": [],
        "targets_how": "wheel",
        "extra": False,
        "requires": {"macos": least, **({"mps": floor} if floor else {})},
        "triton": None,
    }


def _mps_floor(target: WheelTarget, known: Iterable[Row]) -> str | None:
    before = [row for row in known if row["platform"] == _ARM and Version(row["torch"]) <= target.version]
    newest = max(before, key=lambda row: Version(row["torch"]), default=None)
    return newest["requires"].get("mps") if newest else None


def _companions(target: WheelTarget, torch_rows: Iterable[Row]) -> Row:
    paired = (row for row in torch_rows if row["torch"] == str(target.version) and row["variant"] == "cpu")
    row = next(paired, {})
    return {name: list(row.get(name, ())) for name in ("torchvision", "torchaudio")}
