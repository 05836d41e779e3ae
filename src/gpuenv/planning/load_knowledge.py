"""Loads the matrices, with the overlay's rows over those shipped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gpuenv import matrices
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.matrix_overlay import Overlay, load_tables

_TABLES = ("torch", "cuda", "gpus", "companions", "known-bad", "libraries", "ecosystem")


def load_knowledge(environ: Mapping[str, str] | None = None) -> Knowledge:
    """Read the matrices that decisions need; without `environ`, those that were shipped alone."""
    return _parsed(load_tables(environ))


def overlay_warnings(environ: Mapping[str, str]) -> tuple[PlanWarning, ...]:
    """Warn of what was ignored in the overlay."""
    return load_tables(environ).warnings


@lru_cache(maxsize=2)
def _parsed(loaded: Overlay) -> Knowledge:
    tables = (*(loaded.tables[table] for table in _TABLES), matrices.load("tegra"), matrices.load("pythons"))
    return Knowledge(*tables)
