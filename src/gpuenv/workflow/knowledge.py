"""Hands the rows of the matrices to the core."""

from __future__ import annotations

from functools import cache

from gpuenv import matrices
from gpuenv.core.knowledge import Knowledge, parse_knowledge


@cache
def load_knowledge() -> Knowledge:
    """Read the matrices that decisions need; once, whoever asks."""
    tables = ("torch", "cuda", "gpus", "companions", "known-bad", "libraries")
    return parse_knowledge(*(matrices.load(table) for table in tables))
