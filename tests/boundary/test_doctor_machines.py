"""Doctor on containers, clusters and machines with other toolkits: what only hurts is no problem."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ailments import (
    Break,
    a_gpu_that_can_not_be_started,
    both_onnxruntimes,
    cpu_build,
    the_wrong_library_in_a_container,
    vision_of_pypi_beside_a_torch_of_another_cuda,
    with_srun,
)
from fake_nvidia_smi import fake_nvidia_smi
from healthy import SOUND, a_gpu_that_works
from msgspec.structs import replace
from patients import L4, Patient

from gpuenv.checks.diagnosis import CheckVerdict, Diagnosis
from gpuenv.doctor.examine import judge
from gpuenv.doctor.repair_steps import Repair, what_repairs
from gpuenv.model.findings import MachineLimits, Proof

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")
SMALL = 64 << 20


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def of(diagnosis: Diagnosis, name: str) -> CheckVerdict:
    return next(verdict for verdict in diagnosis.checks if verdict.id == name)


def warned(diagnosis: Diagnosis) -> list[str]:
    assert diagnosis.root is None, diagnosis.problems
    return [verdict.id for verdict in diagnosis.warnings]


# Limits.


@pytest.mark.parametrize("limits", [{"shared_memory": SMALL}, {"open_files": 256}])
def test_what_is_too_little_for_workers_is_a_warning(patient: Patient, limits: dict[str, int]) -> None:
    a_gpu_that_works(patient).write(".dockerenv")
    assert warned(_limited(patient, **limits)) == ["D27"]


@pytest.mark.parametrize("limits", [{"shared_memory": SMALL}, {"open_files": 256}])
def test_what_is_too_little_for_workers_does_not_hinder_a_repair(
    patient: Patient, limits: dict[str, int]
) -> None:
    cpu_build(patient).write(".dockerenv")
    diagnosis = _limited(patient, **limits)
    assert [verdict.id for verdict in (*diagnosis.problems, *diagnosis.warnings)] == ["D01", "D27"]
    assert isinstance(what_repairs(diagnosis, patient.findings()), Repair)


def _limited(patient: Patient, **limits: int) -> Diagnosis:
    findings = patient.findings()
    known = {"shared_memory": 8 << 30, "open_files": 65536, **limits}
    changed = replace(findings, limits=replace(MachineLimits(), **known))  # type: ignore[arg-type]
    return judge(changed, {"GPUENV_DATA_DIR": str(patient.folder)})


# Clusters and containers.


@pytest.mark.parametrize("name", ["SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "GPU_DEVICE_ORDINAL"])
def test_the_first_gpu_is_one_that_a_job_was_given(patient: Patient, name: str) -> None:
    patient.with_torch().with_variable("SLURM_JOB_ID", 7).with_variable(name, "0")
    assert of(patient.diagnosis(), "D09").verdict == "ok"


@pytest.mark.parametrize(
    ("name", "value", "given"),
    [
        ("SLURM_GPUS", "0", False), ("SLURM_GPUS_ON_NODE", "0", False), ("SLURM_GPUS", "a100:0,l4:0", False),
        ("SLURM_GPUS", "a100:2", True), ("SLURM_GPUS_ON_NODE", "1", True), ("SLURM_JOB_GPUS", "", False),
        ("GPU_DEVICE_ORDINAL", "NoDevFiles", False), ("SLURM_JOB_GPUS", "1,3", True),
    ],
)  # fmt: skip
def test_counts_are_told_from_indexes(patient: Patient, name: str, value: str, given: bool) -> None:
    patient.with_torch().with_variable("SLURM_JOB_ID", 7).with_variable(name, value)
    assert of(patient.diagnosis(), "D09").verdict == ("ok" if given else "problem")


def test_a_job_that_was_given_a_gpu_and_has_none_is_a_problem(patient: Patient) -> None:
    patient.with_torch().with_variable("SLURM_JOB_ID", 7).with_variable("SLURM_JOB_GPUS", "0")
    assert [problem.id for problem in patient.diagnosis().problems] == ["D53"]


def test_a_node_without_gpu_is_not_said_to_have_one(patient: Patient) -> None:
    with_srun(patient.with_torch("2.7.1+cpu", None))
    verdict = of(patient.diagnosis(), "D09")
    assert (verdict.verdict, verdict.read) == ("ok", "no job, no GPU")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("SLURM_JOB_ID", "7", "D09"), ("NVIDIA_VISIBLE_DEVICES", "void", "D08")],
)
def test_a_cpu_build_that_was_given_no_gpu_is_a_warning(
    patient: Patient, variable: str, value: str, told: str
) -> None:
    patient.write(".dockerenv")
    patient.with_torch("2.7.1+cpu", None).with_variable(variable, value)
    assert warned(patient.diagnosis()) == [told]


@pytest.mark.parametrize(("variable", "value"), [("SLURM_JOB_ID", "7"), ("NVIDIA_VISIBLE_DEVICES", "void")])
def test_a_cpu_build_beside_hardware_is_a_problem(patient: Patient, variable: str, value: str) -> None:
    patient.write(".dockerenv")
    patient.with_pci(driver="nvidia").with_torch("2.7.1+cpu", None).with_variable(variable, value)
    assert patient.diagnosis().root is not None


def test_what_a_container_lacks_stands_behind_what_nvidia_smi_names(patient: Patient) -> None:
    value = the_wrong_library_in_a_container(patient).diagnosis()
    assert [problem.id for problem in value.problems] == ["D13"]
    assert "D08" in [warning.id for warning in value.warnings]


def test_the_version_that_nvidia_smi_tells_of_its_library_is_read(patient: Patient) -> None:
    root = the_wrong_library_in_a_container(patient).diagnosis().root
    assert root is not None
    assert "535.183" in str(root.cause)
    assert "?" not in str(root.cause)


def test_a_crash_of_nvidia_smi_is_told_with_its_signal(patient: Patient) -> None:
    patient.write(".dockerenv")
    program = patient.with_torch().bin / "nvidia-smi"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    root = patient.diagnosis().root
    assert root is not None
    assert root.id == "D04"
    assert "SIGSEGV" in str(root.cause)


# The driver's library.


def test_a_driver_without_its_library_is_told_where_something_proves_it(patient: Patient) -> None:
    fake_nvidia_smi(patient.bin, "570.133.07", L4)
    patient.with_torch().with_module().with_nodes("nvidia0", "nvidiactl", "nvidia-uvm")
    assert warned(patient.diagnosis()) == ["D03"]


def test_a_missing_runtime_of_cuda_is_not_a_missing_driver(patient: Patient) -> None:
    fake_nvidia_smi(patient.bin, "570.133.07", L4)
    error = "libcudart.so.12: cannot open shared object file: No such file or directory"
    patient.with_torch().proof = Proof(ok=False, gpus=0, codes=("import-failed",), errors=(error,))
    assert "D03" not in [problem.id for problem in patient.diagnosis().problems]


# Toolkits.


@pytest.mark.parametrize("where", ["CUDA_HOME", "CUDA_PATH", "PATH", "/usr/local/cuda"])
def test_a_toolkit_of_another_cuda_is_told_wherever_torch_finds_it(patient: Patient, where: str) -> None:
    location = "usr/local/cuda" if where.startswith("/") else "opt/cuda-11.8"
    patient.write(f"{location}/version.json", '{"cuda": {"version": "11.8.0"}}')
    nvcc = patient.write(f"{location}/bin/nvcc", "#!/bin/sh\nexit 1\n")
    nvcc.chmod(0o755)
    if where == "PATH":
        patient.with_variable("PATH", f"{patient.bin}:{nvcc.parent}")
    elif not where.startswith("/"):
        patient.with_variable(where, nvcc.parent.parent)
    value = patient.with_gpu(L4).with_torch().diagnosis()
    assert warned(value) == ["D42"]
    assert str(nvcc) in str(value.warnings[0].cause)


@pytest.mark.parametrize(
    "text",
    [
        "include", "include /", "include ../../*", "include **/*", "include [", "include ld.so.conf", "\0/x",
        "include ld.so.conf.d", "/" + "x" * 9000, "include pipe", "relative/lib", "#", "hwcap 0 nosegneg",
    ],
)  # fmt: skip
def test_odd_lines_of_the_loaders_configuration_are_passed_over(patient: Patient, text: str) -> None:
    patient.write("etc/ld.so.conf", f"{text}\n/opt/cuda/lib64\n")
    os.mkfifo(patient.root / "etc/pipe")
    patient.write("opt/cuda/lib64/libcudart.so.12")
    value = patient.with_gpu(L4).with_torch(needs=("libcudart.so.12",)).diagnosis()
    assert warned(value) == []


# Companions.


def test_a_vision_of_pypi_that_verify_put_to_work_is_believed(patient: Patient) -> None:
    vision_of_pypi_beside_a_torch_of_another_cuda(patient).proof = SOUND
    assert warned(patient.diagnosis()) == []


# Texts.


def _a_lost_gpu(p: Patient) -> Patient:
    words = "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system"
    return p.with_broken_smi(words, 15).with_pci().with_module().with_library().with_torch()


@pytest.mark.parametrize(("name", "broken"), [("D22", a_gpu_that_can_not_be_started), ("D24", _a_lost_gpu)])
def test_a_failing_gpu_is_told_once(patient: Patient, name: str, broken: Break) -> None:
    root = broken(patient).diagnosis().root
    assert root is not None
    assert root.id == name
    assert root.read not in str(root.cause)
    assert str(root.cause).endswith("`")  # what nvidia-smi said; the repair stands in `fix`


def test_a_package_beside_torch_comes_after_all_that_is_torchs(patient: Patient) -> None:
    both_onnxruntimes(patient)
    patient.proof = Proof(ok=False, gpus=1, codes=("test-failed",), errors=("`matmul` failed on GPU 0",))
    assert [problem.id for problem in patient.diagnosis().problems] == ["D54", "D60"]


def test_a_torch_that_nothing_hides_is_incomplete(patient: Patient) -> None:
    error = "torch cannot be imported: AttributeError: module 'torch' has no attribute '__version__'"
    texts = {"signature": "module-shadowed", "cause": "a file hides it", "fix": "rename it"}
    hidden = Proof(ok=False, gpus=0, codes=("import-failed",), errors=(error,), **texts)
    patient.with_gpu(L4).with_torch().proof = hidden
    root = patient.diagnosis().root
    assert root is not None
    assert (root.id, root.fix) == ("D54", "reinstall it")
    assert "incomplete" in str(root.cause)
    (patient.work / "torch.py").write_text("")
    assert of(patient.diagnosis(), "D54").fix == "rename it"


@pytest.mark.parametrize(
    ("script", "told"),
    [("kill -SEGV $$", "SIGSEGV"), ("echo oh >&2; kill -ABRT $$", "SIGABRT: oh"), ("exit 3", "status 3")],
)
def test_how_an_interpreter_ended_is_told(patient: Patient, script: str, told: str) -> None:
    patient.with_gpu(L4).with_torch()
    patient.python.unlink()
    patient.python.write_text(f"#!/bin/sh\n{script}\n")
    patient.python.chmod(0o755)
    assert told in str(patient.findings().python.problem)
