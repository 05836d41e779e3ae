"""Doctor on AMD's, Intel's, Apple's and Huawei's devices: what is set, and what may be opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from patients import Patient

from gpuenv.checks.diagnosis import CheckVerdict, Diagnosis
from gpuenv.doctor.examine import judge
from gpuenv.model.machine import System

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "accelerators"
NODE = "sys/class/kfd/kfd/topology/nodes/1/properties"


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def of(diagnosis: Diagnosis, name: str) -> CheckVerdict:
    return next(verdict for verdict in diagnosis.checks if verdict.id == name)


def a_radeon(patient: Patient) -> Patient:
    patient.write(NODE, (FIXTURES / "kfd-navi31.txt").read_text())
    return patient.with_nodes("kfd").with_torch("2.13.0+rocm7.2", None, "", hip="7.2.26015")


def test_an_override_is_told_where_the_build_has_code_for_the_card_itself(patient: Patient) -> None:
    """A known-bad: kernels of another chip run where the right ones lie beside."""
    a_radeon(patient)
    assert of(patient.diagnosis(), "D61").verdict == "ok"
    verdict = of(patient.with_variable("HSA_OVERRIDE_GFX_VERSION", "10.3.0").diagnosis(), "D61")
    assert (verdict.verdict, verdict.command) == ("warning", "unset HSA_OVERRIDE_GFX_VERSION")
    assert "gfx1100" in str(verdict.cause)


def test_an_override_without_code_for_the_card_is_called_unsupported(patient: Patient) -> None:
    a_radeon(patient).write(NODE, (FIXTURES / "kfd-navi31.txt").read_text().replace("110000", "100100"))
    verdict = of(patient.with_variable("HSA_OVERRIDE_GFX_VERSION", "10.3.0").diagnosis(), "D61")
    assert (verdict.verdict, verdict.command) == ("warning", "gpuenv plan")
    assert "gfx1010" in str(verdict.cause)


def test_variables_that_hide_every_radeon_are_named(patient: Patient) -> None:
    verdict = of(a_radeon(patient).with_variable("HIP_VISIBLE_DEVICES", "-1").diagnosis(), "D61")
    assert (verdict.verdict, verdict.command) == ("problem", "unset HIP_VISIBLE_DEVICES")


def test_intels_device_must_be_there_and_the_wheels_runtime_come_first(patient: Patient) -> None:
    """Without a device file, with one, with an empty mask, and where setvars.sh was sourced."""
    patient.with_torch("2.13.0+xpu", None, "")
    missing = of(patient.diagnosis(), "D62")
    assert missing.verdict == "problem"
    assert "no /dev/dri/renderD*" in str(missing.cause)
    patient.with_nodes("dri/renderD128")
    assert of(patient.diagnosis(), "D62").verdict == "ok"
    sourced = of(patient.with_variable("SETVARS_COMPLETED", "1").diagnosis(), "D62")
    assert sourced.verdict == "warning"
    hidden = of(patient.with_variable("ZE_AFFINITY_MASK", "").diagnosis(), "D62")
    assert (hidden.verdict, hidden.command) == ("problem", "unset ZE_AFFINITY_MASK")


@pytest.mark.parametrize(("macos", "verdict"), [("13.6", "problem"), ("14.0", "ok")])
def test_macos_below_what_mps_of_this_torch_needs_is_told(patient: Patient, macos: str, verdict: str) -> None:
    """The wheel of torch 2.9 installs on macOS 11, and finds no GPU before 14."""
    findings = patient.with_torch("2.9.1", None, "").findings()
    system = System("macos", "aarch64", macos=macos)
    findings = replace(findings, machine=replace(findings.machine, system=system))
    assert of(judge(findings, patient.environ), "D63").verdict == verdict


def test_torch_npu_needs_the_devices_and_the_variables_of_cann(patient: Patient) -> None:
    patient.with_torch("2.6.0", None, "").with_dist("torch-npu", "2.6.0")
    assert "no /dev/davinci*" in str(of(patient.diagnosis(), "D64").cause)
    verdict = of(patient.with_nodes("davinci0").diagnosis(), "D64")
    assert verdict.verdict == "warning"
    assert verdict.command == "source /usr/local/Ascend/ascend-toolkit/set_env.sh"
    sourced = patient.with_variable("ASCEND_TOOLKIT_HOME", "/usr/local/Ascend/ascend-toolkit/latest")
    assert of(sourced.diagnosis(), "D64").verdict == "ok"
