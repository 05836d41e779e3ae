"""Doctor on environments for the CPU: what was requested is well, what was left behind by a move is not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from patients import L4, Patient

from gpuenv.checks.diagnosis import CheckVerdict, Diagnosis
from gpuenv.model.findings import Proof
from gpuenv.model.machine import Machine, System
from gpuenv.model.machine_json import render_machine

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")
REQUESTED = {"variant": "cpu", "packages": [], "asked": {"cuda": "cpu"}}
ON_CPU = Proof(ok=True, gpus=0)


def patient(folder: Path, variant: str, **record: Any) -> Patient:
    """Make an environment of gpuenv's for a machine without a GPU; `record` is what else it notes."""
    made = Patient(folder, proof=ON_CPU)
    planned = {
        "schema_version": 1, "state": "complete", "name": "paper", "created": "", "manager": "uv",
        "plan": {"variant": variant, "packages": []},
        "machine": render_machine(Machine(System("linux", "x86_64"))),
    }  # fmt: skip
    (made.prefix / "gpuenv.json").write_text(json.dumps(planned | record))
    return made


def of(diagnosis: Diagnosis, name: str) -> CheckVerdict:
    return next(verdict for verdict in diagnosis.checks if verdict.id == name)


def test_a_requested_cpu_build_beside_a_gpu_is_a_warning_that_names_it(tmp_path: Path) -> None:
    made = patient(tmp_path, "cpu", plan=REQUESTED).with_gpu(L4).with_torch("2.7.1+cpu", None)
    value = made.diagnosis()
    assert value.root is None
    idle = of(value, "D01")
    assert idle.verdict == "warning"
    assert (
        idle.cause == "NVIDIA L4 is not used: torch 2.7.1+cpu is a CPU build, as was requested (--cuda cpu)"
    )


def test_a_requested_cpu_build_of_conda_is_a_warning_too(tmp_path: Path) -> None:
    made = patient(tmp_path, "cpu", plan=REQUESTED).with_gpu(L4).with_torch("2.7.1", None)
    value = made.with_conda("pytorch-2.7.1-cpu_generic_py312_0").diagnosis()
    assert (of(value, "D01").verdict, of(value, "D47").verdict) == ("warning", "ok")


def test_an_environment_that_moved_to_a_gpu_is_a_problem(tmp_path: Path) -> None:
    made = patient(tmp_path, "cpu").with_gpu(L4).with_torch("2.7.1+cpu", None)
    made.proof = replace(ON_CPU, ok=False, codes=("cpu-build",), errors=("torch 2.7.1+cpu is a CPU build",))
    value = made.diagnosis()
    assert value.root is not None
    assert value.root.id == "D01"


@pytest.mark.parametrize("container", [False, True])
def test_a_cuda_build_that_was_planned_where_no_gpu_is_is_well_there(tmp_path: Path, container: bool) -> None:
    made = patient(tmp_path, "cu126").with_torch("2.7.1", "12.6")
    if container:
        made.write(".dockerenv")
    assert made.diagnosis().problems == ()


def test_a_cuda_build_that_was_planned_for_a_gpu_is_not(tmp_path: Path) -> None:
    made = patient(tmp_path, "cu126", machine=None).with_torch("2.7.1", "12.6")
    assert of(made.diagnosis(), "D53").verdict == "problem"
