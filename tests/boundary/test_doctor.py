"""Doctor on environments and machines made of small real pieces: the right root first, no false alarm."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest
from ailments import (
    BROKEN,
    Break,
    an_old_cudnn_of_the_system_first,
    cuda_packages_missing,
    files_missing,
)
from healthy import HEALTHY, SOUND
from msgspec.structs import replace
from patients import (
    H100,
    L4,
    RTX_5090,
    Patient,
)
from sampling import every

from gpuenv.doctor.examine import judge, parse_findings, render_findings
from gpuenv.indexes.mirrors.load import load_mirrors
from gpuenv.model.findings import GpuState, Proof

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are made of links here")


class _NvmlError(Exception):
    pass


@pytest.fixture(autouse=True)
def _without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        raise _NvmlError("NVML Shared Library Not Found")

    module = types.ModuleType("pynvml")
    module.NVMLError = _NvmlError  # type: ignore[attr-defined]
    module.nvmlInit = init  # type: ignore[attr-defined]
    module.nvmlShutdown = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", module)


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("root", "broken"), every(2, BROKEN), ids=[broken.__name__ for _, broken in BROKEN])
def test_the_root_cause_comes_first(patient: Patient, root: str, broken: Break) -> None:
    value = broken(patient).diagnosis()
    assert value.root is not None
    assert value.problems[0].id == root, value.problems
    assert value.root.cause
    assert value.root.needs
    assert value.root.fix
    assert "{" not in value.root.cause + value.root.fix + (value.root.command or "")


@pytest.mark.parametrize("healthy", HEALTHY, ids=[item.__name__ for item in HEALTHY])
def test_nothing_is_said_of_what_is_sound(patient: Patient, healthy: Break) -> None:
    value = healthy(patient).diagnosis()
    assert value.problems == ()
    assert value.warnings == ()


def test_findings_are_judged_alike_after_they_were_saved(patient: Patient) -> None:
    findings = cuda_packages_missing(patient).findings()
    again = parse_findings(render_findings(findings))
    assert again == replace(findings, machine=again.machine)
    data = {"GPUENV_DATA_DIR": str(patient.folder)}
    assert judge(again, data) == judge(findings, data)


def test_every_check_is_told_of_once(patient: Patient) -> None:
    ids = [check.id for check in patient.with_torch().diagnosis().checks]
    assert sorted(ids) == [f"D{number:02}" for number in range(1, 65)]


def test_a_gpu_that_is_reached_through_ptx_alone_is_a_warning(patient: Patient) -> None:
    patient.with_gpu(RTX_5090, driver="580.65.06").with_torch("2.6.0+cu126", "12.6", "sm_80 sm_90 compute_90")
    value = patient.diagnosis()
    assert (value.root, [warning.id for warning in value.warnings]) == (None, ["D16"])


def test_a_torch_that_is_developed_elsewhere_is_not_gone(patient: Patient) -> None:
    patient.with_gpu(L4).with_dist("torch", "2.9.0a0+git1234")
    patient.proof = SOUND
    assert patient.diagnosis().root is None


def test_files_that_were_deleted_to_save_room_are_no_problem_where_torch_works(patient: Patient) -> None:
    files_missing(patient)
    patient.proof = SOUND
    assert patient.diagnosis().root is None


def test_an_exclusive_gpu_that_is_taken_is_told(patient: Patient) -> None:
    findings = patient.with_gpu(L4).with_torch().findings()
    taken = replace(findings, states=(GpuState(0, "Exclusive_Process", 9000, 24000),))
    verdicts = judge(taken, {"GPUENV_DATA_DIR": str(patient.folder)}).warnings
    assert [verdict.id for verdict in verdicts] == ["D25"]


# Hostile input.


def test_garbage_for_metadata_breaks_nothing(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch()
    for number, data in enumerate((b"\xff\xfe\x00garbage", b"", b"\0" * 4096, b"Name: x\n" * 9)):
        info = patient.site / f"odd{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_bytes(data)
        (info / "RECORD").write_bytes(b'"unclosed,' + data)
    (patient.site / "loop-1.0.dist-info").symlink_to("loop-1.0.dist-info")
    (patient.site / "-.dist-info").mkdir()
    assert patient.diagnosis().root is None


def test_pipes_in_place_of_files_are_not_waited_for(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch()
    info = patient.site / "odd-1.0.dist-info"
    info.mkdir()
    os.mkfifo(info / "METADATA")
    (patient.site / "torch/lib/libtorch_python.so").unlink()
    for name in ("libtorch_python.so", "libtorch_cuda.so"):
        os.mkfifo(patient.site / "torch/lib" / name)
    os.mkfifo(patient.root / "proc/modules-of-nobody")
    assert patient.diagnosis().environment == str(patient.prefix)


def test_loops_of_links_and_unreadable_places_are_passed_over(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch()
    (patient.site / "nvidia").symlink_to(patient.site / "nvidia")
    (patient.root / "etc").mkdir()
    (patient.root / "etc/ld.so.conf.d").symlink_to(patient.root / "etc/ld.so.conf.d")
    (patient.root / "lib").mkdir()
    (patient.root / "lib/modules").symlink_to(patient.root / "lib/modules")
    (patient.root / "dev/nvidia-loop").symlink_to("nvidia-loop")
    patient.with_variable("LD_LIBRARY_PATH", f"{patient.root}/dev/nvidia-loop::relative:{'x' * 5000}")
    assert patient.diagnosis().root is None


def test_a_torch_of_garbage_is_damaged(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch()
    (patient.site / "torch/version.py").write_bytes(b"\x93NUMPY" * 1000)
    root = patient.diagnosis().root
    assert root is not None
    assert root.id == "D44"


def test_an_elf_that_points_outside_of_itself_is_passed_over(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch(needs=("libcudart.so.12",))
    library = patient.site / "torch/lib/libtorch_cuda.so"
    data = bytearray(library.read_bytes())
    data[64 + 56 + 8 : 64 + 56 + 16] = b"\xff" * 8
    library.write_bytes(data)
    assert patient.findings().torch is not None


def test_an_interpreter_that_lies_is_not_believed(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch()
    patient.python.unlink()
    patient.python.write_text("#!/bin/sh\necho 'gpuenv-interpreter:[1, 2]'\n")
    patient.python.chmod(0o755)
    findings = patient.findings()
    assert findings.python.problem is not None
    assert findings.torch is not None  # found all the same, where such an environment keeps it


def test_the_shadow_of_a_newer_library_is_no_problem(patient: Patient) -> None:
    an_old_cudnn_of_the_system_first(patient)
    location = patient.root / "opt/cudnn"
    (location / "libcudnn.so.9").unlink()
    (location / "libcudnn.so.9.1.0").rename(location / "libcudnn.so.9.20.0")
    (location / "libcudnn.so.9").symlink_to("libcudnn.so.9.20.0")
    assert patient.diagnosis().root is None


def test_what_verify_proved_outweighs_what_files_suggest(patient: Patient) -> None:
    an_old_cudnn_of_the_system_first(patient)
    patient.proof = SOUND
    assert patient.diagnosis().root is None


# What is configured, and what goes on between GPUs.


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("PIP_INDEX_URL", "https://pypi.douban.com/simple", "was shut down"),
        ("PIP_EXTRA_INDEX_URL", "http://pypi.hustunique.com/simple/", "was shut down"),
        ("UV_DEFAULT_INDEX", "https://user:secret@pypi.doubanio.com/simple", "was shut down"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "does not exist"),
    ],
)
def test_what_keeps_anything_from_being_installed_is_told(
    patient: Patient, variable: str, value: str, told: str
) -> None:
    result = patient.with_gpu(L4).with_torch().with_variable(variable, value).diagnosis()
    assert (result.root, [warning.id for warning in result.warnings]) == (None, ["D45"])
    assert told in str(result.warnings[0].cause)
    assert "secret" not in str(result.warnings[0])


def test_addresses_that_were_never_right_are_told_with_the_right_one(patient: Patient) -> None:
    mirrors = load_mirrors({}).all
    wrong = [(bad, mirror.pypi.simple) for mirror in mirrors if mirror.pypi for bad in mirror.pypi.wrong]
    bogus = [bad for mirror in mirrors for bad in mirror.bogus]
    assert wrong
    assert bogus
    patient.with_gpu(L4).with_torch()
    for address, right in (*wrong, *((bogu, None) for bogu in bogus)):
        answer = patient.with_variable("PIP_FIND_LINKS", address).diagnosis().warnings
        assert [item.id for item in answer] == ["D45"], address
        assert right is None or right in str(answer[0].cause) + str(answer[0].fix), address


def test_a_configured_mirror_that_is_run_is_passed(patient: Patient) -> None:
    patient.with_gpu(L4).with_torch().with_variable(
        "PIP_INDEX_URL", "https://pypi.tuna.tsinghua.edu.cn/simple"
    )
    assert patient.diagnosis().warnings == ()


def test_more_processes_than_gpus_are_told(patient: Patient) -> None:
    value = patient.with_gpu(L4, L4).with_torch().with_variable("LOCAL_WORLD_SIZE", 4).diagnosis()
    assert [warning.id for warning in value.warnings] == ["D50"]
    assert patient.with_variable("LOCAL_WORLD_SIZE", 2).diagnosis().warnings == ()


@pytest.mark.parametrize(("kind", "told"), [("DMA-FQ", ["D50"]), ("identity", [])])
def test_a_hang_between_gpus_behind_an_iommu_is_told(patient: Patient, kind: str, told: list[str]) -> None:
    patient.with_gpu(H100, H100).with_torch()
    for device in (patient.root / "sys/bus/pci/devices").iterdir():
        (device / "iommu_group").mkdir()
        (device / "iommu_group" / "type").write_text(f"{kind}\n")
    assert patient.diagnosis().warnings == ()
    patient.proof = Proof(ok=False, gpus=2, codes=("hung",), errors=("`nccl` did not end",))
    assert [warning.id for warning in patient.diagnosis().warnings] == told
