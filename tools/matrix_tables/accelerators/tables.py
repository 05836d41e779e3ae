"""The tables of accelerators, by name."""

from __future__ import annotations

from collections.abc import Callable

from matrix_tables.accelerators.architectures import build_architectures
from matrix_tables.accelerators.builds import build_builds
from matrix_tables.accelerators.devices import build_devices
from matrix_tables.accelerators.indexes import build_indexes
from matrix_tables.accelerators.known_bad import build_accelerator_known_bad
from matrix_tables.accelerators.machines import build_jetson, build_kernel_drivers
from matrix_tables.accelerators.sources import FOLDER
from matrix_tables.facts import Facts, Row


def accelerator_builders(facts: Facts, builds: list[Row]) -> dict[str, Callable[[], list[Row]]]:
    """Return what makes each table; none where the facts have no such folder."""
    if not (facts.directory / FOLDER).is_dir():
        return {}
    return {
        "accelerator-devices": lambda: build_devices(facts),
        "accelerator-architectures": lambda: build_architectures(facts),
        "accelerator-builds": lambda: build_builds(facts, builds),
        "accelerator-indexes": lambda: build_indexes(facts),
        "accelerator-known-bad": lambda: build_accelerator_known_bad(facts),
        "kernel-drivers": lambda: build_kernel_drivers(facts),
        "jetson": lambda: build_jetson(facts),
    }
