"""What a repair keeps aside brings back what was there, byte for byte, and touches nothing outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from patients import L4, Patient

from gpuenv.checks.diagnosis import CheckVerdict, Diagnosis
from gpuenv.doctor.examine import Examination
from gpuenv.doctor.repair import PlannedRepair, Repaired, apply_repair
from gpuenv.environments import ledger, snapshot
from gpuenv.environments.ledger import LedgerEntry
from gpuenv.installers.dry_run import PackageChange
from gpuenv.model.errors import InstallFailed, UsageError
from gpuenv.model.plan import Plan, Sources, Step
from gpuenv.on_disk.places import EnvironmentPaths
from gpuenv.operations.interrupted_change import mend, place_at
from gpuenv.verification.locate import LocatedPython

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path).with_gpu(L4).with_torch("2.7.1+cpu", None).with_dist("numpy", "2.1.0")


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "python")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def store(patient: Patient) -> dict[str, str]:
    return {**patient.environ, "GPUENV_DATA_DIR": str(patient.folder / "data")}


def place_of(patient: Patient) -> EnvironmentPaths:
    return place_at(patient.prefix, store(patient))


def keep(patient: Patient, *names: str) -> LedgerEntry:
    return snapshot.take(place_of(patient), (str(patient.site),), names)


def left(patient: Patient) -> list[Path]:
    return list(patient.prefix.glob(".gpuenv-*"))


def test_what_was_replaced_comes_back(patient: Patient) -> None:
    before = contents(patient.prefix)
    entry = keep(patient, "torch", "newcomer")
    for path in patient.site.glob("torch-*/*"):
        path.unlink()
    for path in patient.site.glob("torch-*"):
        path.rmdir()
    (patient.site / "torch/version.py").unlink()
    patient.with_torch("2.7.1+cu126").with_dist("newcomer", "1.0", files={"newcomer/deep/x.py": b"x"})
    snapshot.put_back(place_of(patient), entry)
    assert contents(patient.prefix) == before
    assert not (patient.site / "newcomer").exists()


def test_large_files_that_are_kept_are_no_second_copy(patient: Patient) -> None:
    large = "torch/lib/libtorch_cpu.so"
    patient.with_dist("torch", "2.7.1+cpu", files={large: b"x" * (1 << 20), "torch/small.py": b"x"})
    entry = keep(patient, "torch")
    kept = entry.folder(patient.prefix) / "files" / patient.site.relative_to(patient.prefix)
    assert (kept / large).stat().st_ino == (patient.site / large).stat().st_ino
    assert (kept / "torch/small.py").stat().st_ino != (patient.site / "torch/small.py").stat().st_ino
    ledger.clear(place_of(patient), entry)
    assert left(patient) == []


def test_a_record_that_leads_out_of_the_environment_is_not_followed(patient: Patient) -> None:
    outside = patient.folder / "precious"
    outside.write_text("mine")
    record = next(patient.site.glob("torch-*/RECORD"))
    up = "../" * 4
    record.write_text(f"{record.read_text()}{up}precious,,\n{outside},,\n{up}../../../../etc/hostname,,\n")
    snapshot.put_back(place_of(patient), keep(patient, "torch"))
    assert outside.read_text() == "mine"


def test_what_the_ledger_does_not_know_of_is_left_alone(patient: Patient) -> None:
    entry = keep(patient, "torch")
    ledger.drop(place_of(patient))
    before = contents(patient.prefix)
    assert not mend(place_of(patient))
    ledger.clear(place_of(patient), keep(patient, "torch"))
    assert contents(patient.prefix) == before
    assert left(patient) == [entry.folder(patient.prefix)]


def test_a_repair_that_still_goes_on_is_not_undone(patient: Patient) -> None:
    def look(_: Examination) -> Examination:
        with pytest.raises(UsageError, match="at work"):
            mend(place_of(patient))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(patient, "true", look)


@pytest.mark.parametrize(
    "text", ["{", "", "[" * 100_000, "null", "[]", "1", '{"path": 1}', "9" * 5000, '"\\ud800"']
)
def test_a_garbled_entry_is_told_and_nothing_is_lost(patient: Patient, text: str) -> None:
    entry = keep(patient, "torch")
    (file,) = (patient.folder / "data" / "changes").iterdir()
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        mend(place_of(patient))
    assert raised.value.code == "journal-unreadable"
    assert (entry.folder(patient.prefix) / "files").is_dir()


# apply_repair, with an installer that is a shell script.


def _problem(*ids: str) -> Diagnosis:
    return Diagnosis("e", tuple(CheckVerdict(item, "build", "", "problem", "") for item in ids))


def _plan(python: str) -> Plan:
    sources = Sources(None, (), ())
    return Plan(
        (), python, None, "cu126", "pip", (), ("torch==2.7.1+cu126",), (), (), sources, (), (), (), (), ()
    )  # fmt: skip


def repair(patient: Patient, script: str, look: Callable[[Examination], Examination]) -> Repaired:
    installer = patient.bin / "installer"
    installer.write_text(f"#!/bin/sh\ncd '{patient.site}'\n{script}\n")
    installer.chmod(0o755)
    environ = store(patient)
    examined = Examination(LocatedPython(patient.python, patient.prefix), patient.findings(), _problem("D01"))
    change = PackageChange("torch", "2.7.1+cpu", "2.7.1+cu126")
    planned = PlannedRepair(_plan("3.12"), (Step((str(installer),), "test"),), (change,))
    return apply_repair(examined, planned, lambda: look(examined), environ, show=False, tell=lambda _: None)


def _changed(diagnosis: Diagnosis) -> Callable[[Examination], Examination]:
    return lambda examined: replace(examined, diagnosis=diagnosis)


SPOIL = (
    "echo spoilt > torch/new.py; /bin/rm torch/version.py; "
    "echo 'torch/new.py,,' >> torch-2.7.1+cpu.dist-info/RECORD"
)


def test_what_helped_is_kept(patient: Patient) -> None:
    assert repair(patient, SPOIL, _changed(_problem())).kept
    assert (patient.site / "torch/new.py").exists()
    assert left(patient) == []


@pytest.mark.parametrize("after", [("D01",), ("D40",), ("D54",)])
def test_what_did_not_help_is_undone(patient: Patient, after: tuple[str, ...]) -> None:
    before = contents(patient.prefix)
    assert not repair(
        patient, "echo x > torch/version.py.new; /bin/rm torch/version.py", _changed(_problem(*after))
    ).kept
    assert {
        name: data for name, data in contents(patient.prefix).items() if not name.endswith(".new")
    } == before


def test_an_installer_that_fails_half_way_is_undone(patient: Patient) -> None:
    before = contents(patient.prefix)
    with pytest.raises(InstallFailed):
        repair(patient, f"{SPOIL}; exit 3", _changed(_problem()))
    assert contents(patient.prefix) == before


def test_an_interruption_is_undone(patient: Patient) -> None:
    before = contents(patient.prefix)

    def look(_: Examination) -> Examination:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(patient, SPOIL, look)
    assert contents(patient.prefix) == before
