"""What a shell offers while a command line is typed."""

from __future__ import annotations

from collections.abc import Iterable


def complete_environment(incomplete: str) -> Iterable[str]:
    """Offer the names of the environments that gpuenv made."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415
    from gpuenv.operations.find import list_all  # noqa: PLC0415

    try:
        return [name for item in list_all(os.environ) if (name := item.paths.name).startswith(incomplete)]
    except (GpuenvError, OSError):  # no error in the middle of a command line
        return []


def complete_mirror(incomplete: str) -> Iterable[str]:
    """Offer the names of the mirrors."""
    import os  # noqa: PLC0415 - only while completing

    from gpuenv.indexes.mirrors.load import load_mirrors  # noqa: PLC0415
    from gpuenv.model.errors import GpuenvError  # noqa: PLC0415

    try:
        mirrors = load_mirrors(os.environ).all
    except (GpuenvError, OSError):
        return []
    return [name for mirror in mirrors if (name := mirror.name).startswith(incomplete.lower())]


def complete_table(incomplete: str) -> Iterable[str]:
    """Offer the names of the matrices."""
    from gpuenv import matrices  # noqa: PLC0415 - only while completing

    return [table for table in matrices.TABLES if table.startswith(incomplete)]
