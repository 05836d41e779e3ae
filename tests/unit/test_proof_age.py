"""A proof is of a driver and of GPUs: what tells that they are others now, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuenv.environments.record import Record
from gpuenv.operations.proof_age import outdated_proof, proven, read_driver_facts
from gpuenv.verification.proof_age import DriverFacts, machine_driver_facts, parse_proof

L4, H100 = "NVIDIA L4", "NVIDIA H100 PCIe"
RECORD = Record("paper", "2026-11-20T10:00:00+00:00", "uv", {})


def tree(root: Path, driver: str | None, *gpus: str) -> Path:
    """Lay out /proc/driver/nvidia as the kernel module does."""
    path = root / "proc" / "driver" / "nvidia"
    if driver is not None:
        path.mkdir(parents=True)
        line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Sat Aug 19 01:15:15 UTC 2023\n"
        (path / "version").write_text(line, encoding="utf-8")
    for number, gpu in enumerate(gpus):
        folder = path / "gpus" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t {gpu}\n", encoding="utf-8")
    return root


def moved(tmp_path: Path, before: tuple[str | None, ...], now: tuple[str | None, ...]) -> str | None:
    """Return what is said of an environment that was verified on one machine and is entered on another."""
    record = proven(RECORD, {}, ok=True, root=tree(tmp_path / "before", *before))  # type: ignore[arg-type]
    return outdated_proof(record, "my env", tree(tmp_path / "now", *now))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (("570.133.07", L4), ("580.65.06", L4), ("driver 570.133.07", "driver 580.65.06")),
        (("570.133.07", L4), ("570.133.07", H100), (L4, H100)),
        (("570.133.07", L4), ("570.133.07", L4, H100), (L4, H100)),
        ((None,), ("570.133.07", L4), ("without an NVIDIA GPU", L4)),
    ],
)
def test_other_hardware_is_noticed(
    tmp_path: Path, before: tuple[str | None, ...], now: tuple[str | None, ...], words: tuple[str, ...]
) -> None:
    said = moved(tmp_path, before, now)
    assert said is not None
    assert all(word in said for word in (*words, "`gpuenv verify 'my env'`"))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (("570.133.07", L4), ("570.133.07", L4)),
        (("570.133.07", L4, L4), ("570.133.07", L4)),  # a container that was lent fewer
        (("570.133.07", L4), ("570.133.07",)),
        (("570.133.07", L4), (None,)),  # a node without a GPU, WSL2
        ((None,), (None,)),
        (("570.133.07",), ("570.133.07", L4)),  # which ones it was verified on was not told
    ],
)
def test_what_is_the_same_or_not_known_is_passed_over(
    tmp_path: Path, before: tuple[str | None, ...], now: tuple[str | None, ...]
) -> None:
    assert moved(tmp_path, before, now) is None


def test_what_was_never_verified_has_no_proof(tmp_path: Path) -> None:
    machine = {"driver": {"version": "535.104.05"}, "gpus": [{"name": L4}], "facts": {"gpus": "nvidia-smi"}}
    record = replace(RECORD, machine=machine)
    now = tree(tmp_path, "580.65.06", L4)
    assert outdated_proof(record, "paper", now) is None
    said = outdated_proof(replace(record, verified=True), "paper", now)
    assert said is not None
    assert "535.104.05" in said


@pytest.mark.parametrize(
    "machine",
    [
        None, [], {}, {"gpus": 3}, {"gpus": [], "facts": {"gpus": "option --gpu"}},
        {"gpus": [], "driver": {"version": "1.2"}, "facts": {"driver.version": "option --driver"}},
    ],
)  # fmt: skip
def test_a_machine_that_was_described_proves_nothing(machine: Any) -> None:
    assert machine_driver_facts(machine) is None


def test_names_of_old_drivers_are_the_same_models(tmp_path: Path) -> None:
    before = ("460.32.03", "GeForce RTX 3090")
    assert moved(tmp_path, before, ("460.32.03", "NVIDIA GeForce RTX 3090")) is None


@pytest.mark.parametrize(
    "data", [None, 3, [], {}, {"driver": 3, "gpus": []}, {"driver": "570.1", "gpus": "L4"}]
)
def test_a_proof_of_another_kind_is_none(data: Any) -> None:
    assert parse_proof(data) is None


def test_a_kernel_without_the_driver_tells_of_none(tmp_path: Path) -> None:
    assert read_driver_facts(tmp_path) == DriverFacts(None, ())
