"""Saved machines: what is not known of them is told, never assumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuenv.model.errors import Unsatisfiable
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.planning.machines import choose_machines, read_machine
from gpuenv.planning.options import PlanOptions
from gpuenv.resolution.target import choose_target

T4 = {"index": 0, "name": "Tesla T4", "compute_capability": "7.5"}


def saved(folder: Path, **facts: Any) -> Path:
    file = folder / "machine.json"
    system = {"os": "linux", "arch": "x86_64", "libc": "glibc", "libc_version": "2.17"}
    file.write_text(json.dumps({"system": system, **facts}), encoding="utf-8")
    return file


def test_gpus_without_a_driver_are_refused(tmp_path: Path) -> None:
    machine = read_machine(saved(tmp_path, driver=None, gpus=[T4]))
    with pytest.raises(Unsatisfiable) as raised:
        choose_target((machine,), (), cpu=False)
    assert raised.value.code == "driver-unknown"


def test_a_machine_without_gpus_needs_no_driver(tmp_path: Path) -> None:
    assert read_machine(saved(tmp_path, driver=None, gpus=[])).problems == ()


@pytest.mark.parametrize(("named", "driver"), [({"driver": "570.1"}, "570.1"), ({"gpus": ("7.5",)}, "None")])
def test_what_is_said_by_hand_counts(tmp_path: Path, named: dict[str, Any], driver: str) -> None:
    options = PlanOptions(machines=(saved(tmp_path, driver=None, gpus=[T4]),), **named)
    target = choose_target(choose_machines(options, {}, load_knowledge()), (), cpu=False)
    reported = target.machines[0].driver
    assert str(reported and reported.version) == driver
