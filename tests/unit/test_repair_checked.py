"""A repair installs the torch that was checked, and asks no index for it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from patients import Patient
from plans import plan

from gpuenv.checks.diagnosis import Diagnosis
from gpuenv.doctor.examine import Examination
from gpuenv.doctor.repair_steps import Repair, repair_steps
from gpuenv.model.plan import CheckedFile, CheckedStack
from gpuenv.verification.locate import LocatedPython


@pytest.mark.parametrize("manager", ["uv", "pip"])
def test_checked_files_go_in_first_and_are_not_installed_anew_from_an_index(
    tmp_path: Path, manager: str
) -> None:
    patient = Patient(tmp_path)
    examined = Examination(LocatedPython(patient.python, tmp_path), patient.findings(), Diagnosis("e", ()))
    stack = CheckedStack(
        (CheckedFile("torch", "2.14.1+cu126", "/cache/torch.whl", "5d1f"),), "/cache/torch.txt"
    )
    wanted = Repair((("torch",),), "auto", reinstall=("torch",), remove=())
    first, *rest = repair_steps(wanted, plan(manager=manager, checked=stack), examined)
    strictly = {"uv": "--verify-hashes", "pip": "--require-hashes"}[manager]
    assert {"--no-index", strictly, "/cache/torch.txt"} <= set(first.argv)
    assert not any("--reinstall-package" in step.argv or "--force-reinstall" in step.argv for step in rest)
