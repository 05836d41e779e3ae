"""Packs of signatures: what they are about, so that some can be left out, or be the only ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

PackName = Literal[
    "core", "installers", "builds", "machines", "distributed", "training-libraries", "serving", "vision",
    "other-frameworks", "tools", "own-code",
]  # fmt: skip
PACKS: tuple[PackName, ...] = get_args(PackName)


def chosen_packs(only: Sequence[PackName], without: Sequence[PackName]) -> frozenset[PackName] | None:
    """Return the packs to look in: some or all, without others; None for all."""
    if not only and not without:
        return None
    return frozenset(only or PACKS) - frozenset(without)
