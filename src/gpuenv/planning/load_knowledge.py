"""Loads the matrices, with the overlay's rows over those shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gpuenv import matrices
from gpuenv.knowledge.built_releases import BuiltReleases, parse_built_releases
from gpuenv.knowledge.knowledge import Knowledge
from gpuenv.knowledge.records import Row
from gpuenv.model.plan import PlanWarning
from gpuenv.planning.matrix_overlay import Overlay, load_tables

if TYPE_CHECKING:  # a plan for NVIDIA GPUs has no need of it
    from gpuenv.knowledge.accelerators import Accelerators


def load_knowledge(environ: Mapping[str, str] | None = None) -> Knowledge:
    """Read the matrices that decisions need; without `environ`, those that were shipped alone."""
    return _parsed(load_tables(environ))


@cache
def load_built_releases() -> BuiltReleases:
    """Read what is known of releases beside torch, and of conda's packages; no overlay has rows of it."""
    return parse_built_releases(matrices.load("releases"))


def load_accelerators(environ: Mapping[str, str] | None = None) -> Accelerators:
    """Return the tables of accelerators that are not NVIDIA's on a PC; each is read when first asked for."""
    return load_knowledge(environ).accelerators.tables


def overlay_warnings(environ: Mapping[str, str]) -> tuple[PlanWarning, ...]:
    """Warn of what was ignored in the overlay."""
    return load_tables(environ).warnings


@lru_cache(maxsize=2)
def _parsed(loaded: Overlay) -> Knowledge:
    tables = loaded.tables
    return Knowledge(
        torch_rows=tables["torch"],
        cuda_rows=tables["cuda"],
        gpu_rows=tables["gpus"],
        companion_rows=tables["companions"],
        known_bad_rows=tables["known-bad"],
        library_rows=tables["libraries"],
        ecosystem_rows=tables["ecosystem"],
        tegra_rows=matrices.load("tegra"),
        python_rows=matrices.load("pythons"),
        dependency_rows=lambda: _rows_over(loaded, "dependencies"),
        accelerator_rows=lambda table: _rows_over(loaded, table),
    )


def _rows_over(loaded: Overlay, table: str) -> Sequence[Row]:
    """Return the rows of a table that is read on demand, with the overlay's over them."""
    shipped = matrices.load(table)
    own = loaded.tables.get(table, ())
    if own:
        from gpuenv.matrix_checks.serialise import merge_rows  # noqa: PLC0415 - only where there is an overlay

        return merge_rows(table, shipped, own)
    return shipped
