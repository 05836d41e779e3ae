from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpuenv.model.capability import ComputeCapability
from gpuenv.model.machine import Gpu, Machine, Problem, System
from gpuenv.verification.describe_verdict import describe_failure, describe_verdict
from gpuenv.verification.judge_code import judge_architectures
from gpuenv.verification.report import (
    EMPTY,
    DeviceReport,
    ImportFailure,
    Report,
    RunningStep,
    Stop,
    TestResult,
    TorchReport,
)
from gpuenv.verification.verdict import (
    Expectation,
    Finding,
    Planned,
    VerificationVerdict,
    expect,
    judge,
    variant_of,
)

TORCH = TorchReport("2.14.1+cu126", None, "12.6", None, "9.10.2", ("sm_80", "sm_90"), error=None)
CPU_TORCH = replace(TORCH, version="2.14.1+cpu", cuda=None, cudnn=None, architectures=None)
PASSED = TestResult("matmul", ok=True, ms=1.0, detail="")
FAILED = TestResult("matmul", ok=False, ms=1.0, detail="no kernel image")
L4 = DeviceReport(0, "NVIDIA L4", ComputeCapability(8, 9), (PASSED,))
CPU = DeviceReport(None, "cpu", None, (PASSED,))
GOOD = Report("3.12.1", "/e/bin/python", TORCH, None, (L4,), None, (), complete=True)
ON_CPU = replace(GOOD, torch=CPU_TORCH, devices=(CPU,))
LINUX = System("linux", "x86_64")
BARE = Machine(LINUX)
WITH_GPU = Machine(LINUX, gpus=(Gpu(0, "NVIDIA L4", None),))
BROKEN = Machine(LINUX, problems=(Problem("driver-mismatch", "reboot"),))
WANTS_GPU = Expectation(gpu=True, reason="the plan had cu126")


def _codes(verdict: VerificationVerdict) -> list[str]:
    return [problem.code for problem in verdict.problems]


def _architectures(report: Report) -> TestResult:
    return judge_architectures(report).devices[0].tests[-1]


def test_what_passed_everywhere_is_proven() -> None:
    verdict = judge(GOOD, WANTS_GPU)
    assert verdict.ok
    assert verdict.notes == ()


@pytest.mark.parametrize(
    ("report", "codes"),
    [
        (replace(GOOD, torch=None, failure=ImportFailure(missing=True, errors=(), lines=())), ["no-torch"]),
        (
            replace(GOOD, torch=None, failure=ImportFailure(missing=False, errors=("E: x",), lines=())),
            ["import-failed"],
        ),
        (EMPTY, ["no-report"]),
        (replace(EMPTY, stop=Stop("not-started", "no such file")), ["no-report"]),
        (replace(GOOD, devices=(replace(L4, tests=(FAILED,)),)), ["test-failed"]),
        (replace(GOOD, devices=()), ["nothing-tested"]),
        (replace(GOOD, devices=(replace(L4, tests=()),)), ["nothing-tested"]),
        (replace(GOOD, devices=(CPU,)), ["no-gpu"]),
        (ON_CPU, ["cpu-build"]),
        (replace(GOOD, complete=False), ["crashed"]),
    ],
)
def test_each_lack_has_its_code(report: Report, codes: list[str]) -> None:
    assert _codes(judge(report, WANTS_GPU)) == codes


def test_no_gpu_is_a_note_where_none_was_expected() -> None:
    verdict = judge(ON_CPU, Expectation(gpu=False))
    assert verdict.ok
    assert verdict.notes == ("no GPU available to test",)


def test_many_failures_of_one_gpu_are_one_sentence() -> None:
    broken = replace(L4, tests=(FAILED, replace(FAILED, id="convolution")))
    verdict = judge(replace(GOOD, devices=(broken, replace(broken, index=1))), WANTS_GPU)
    assert [problem.text for problem in verdict.problems] == [
        "`matmul`, `convolution` failed on GPU 0: no kernel image",
        "`matmul`, `convolution` failed on GPU 1: no kernel image",
    ]


def test_a_crash_is_told_once_beside_the_failures_before_it() -> None:
    unfinished = TestResult("nms", ok=False, ms=None, detail="did not end")
    report = replace(
        GOOD,
        devices=(replace(L4, tests=(FAILED, unfinished)),),
        running=RunningStep("nms", 0),
        complete=False,
        stop=Stop("hung", "it timed out after 300 s"),
    )
    assert [problem.text for problem in judge(report, WANTS_GPU).problems] == [
        "torch crashed in `nms` on GPU 0: it timed out after 300 s",
        "`matmul` failed on GPU 0: no kernel image",
    ]


@pytest.mark.parametrize(
    ("planned", "variant", "codes"),
    [
        ("2.14.1+cu126", "cu126", []),
        ("2.14.1", "cu126", []),  # PyPI's files have no local part
        ("2.14.0+cu126", "cu126", ["wrong-version"]),
        ("2.14.1+cu129", "cu129", ["wrong-variant"]),
        (None, None, []),
        ("not a version", None, ["wrong-version"]),
        (None, "rocm6.3", ["wrong-variant"]),
    ],
)
def test_what_is_installed_must_be_what_was_planned(
    planned: str | None, variant: str | None, codes: list[str]
) -> None:
    assert _codes(judge(GOOD, Expectation(gpu=True, torch=planned, variant=variant))) == codes


@pytest.mark.parametrize(
    ("cuda", "variant"),
    [("12.6", "cu126"), ("10.0.130", "cu100"), ("9.2", "cu92"), (None, "cpu"), ("?", None)],
)
def test_the_variant_is_read_from_torch(cuda: str | None, variant: str | None) -> None:
    assert variant_of(replace(TORCH, cuda=cuda)) == variant


@pytest.mark.parametrize(
    ("built", "variant"),
    [
        ({"hip": "7.2.26015-fc0010cf6a", "kind": "rocm"}, "rocm7.2"),
        ({"hip": "7.14.0", "kind": "rocm"}, "rocm7.14"),
        ({"hip": "of next year", "kind": "rocm"}, None),
        ({"kind": "xpu"}, "xpu"),
        ({"kind": "npu"}, "npu"),
        ({"kind": "cpu"}, "cpu"),
        ({"kind": "mps"}, None),  # the one build for a Mac
    ],
)
def test_builds_for_other_accelerators_have_variants(built: dict[str, str], variant: str | None) -> None:
    """By what torch says of itself."""
    assert variant_of(replace(TORCH, cuda=None, **built)) == variant


@pytest.mark.parametrize(
    ("planned", "codes"), [("rocm7.14.0", []), ("rocm7.14", []), ("rocm7.2", ["wrong-variant"])]
)
def test_a_rocm_is_compared_by_two_numbers(planned: str, codes: list[str]) -> None:
    """AMD's names have three, torch may tell more."""
    report = replace(GOOD, torch=replace(TORCH, cuda=None, hip="7.14.0", kind="rocm"))
    assert _codes(judge(report, Expectation(gpu=True, variant=planned))) == codes


def test_a_build_for_an_accelerator_is_expected_to_have_one() -> None:
    """Without a plan, of a build for ROCm, XPU or an NPU; a Mac's build also serves without."""
    for built, text in ({"hip": "7.2"}, "ROCm 7.2"), ({"kind": "xpu"}, "XPU"), ({"kind": "npu"}, "torch_npu"):
        wanted = expect(None, BARE, replace(ON_CPU, torch=replace(TORCH, cuda=None, **built)))
        assert wanted.gpu
        assert text in wanted.reason
    assert not expect(None, BARE, replace(ON_CPU, torch=replace(TORCH, cuda=None, kind="mps"))).gpu


@pytest.mark.parametrize(
    ("planned", "machine", "report", "gpu"),
    [
        (Planned("2.14.1+cu126", "cu126"), None, ON_CPU, True),
        (Planned("2.14.1+cu126", "cu126", without_gpu=True), BARE, ON_CPU, False),
        (Planned("2.14.1+cu126", "cu126", without_gpu=True), WITH_GPU, GOOD, True),
        (Planned("2.14.1+cu126", "cu126"), BARE, GOOD, True),
        (Planned("2.14.1+cu126", "cu126", cpu_requested=True), WITH_GPU, GOOD, False),
        (Planned("2.14.1+cpu", "cpu"), WITH_GPU, ON_CPU, True),
        (Planned("2.14.1+cpu", "cpu", without_gpu=True), WITH_GPU, ON_CPU, True),
        (Planned("2.14.1+cpu", "cpu", without_gpu=True), BROKEN, ON_CPU, True),
        (Planned("2.14.1+cpu", "cpu", cpu_requested=True), BROKEN, ON_CPU, False),
        (Planned("2.14.1+cpu", "cpu", cpu_requested=True), WITH_GPU, ON_CPU, False),
        (Planned("2.14.1+cpu", "cpu"), None, ON_CPU, False),
        (None, Machine(LINUX, gpus=(Gpu(0, None, None),)), ON_CPU, True),
        (None, Machine(LINUX, problems=(Problem("driver-mismatch", "reboot"),)), ON_CPU, True),
        (None, Machine(LINUX), GOOD, True),  # a CUDA build
        (None, Machine(LINUX), ON_CPU, False),
        (None, None, ON_CPU, False),
        (Planned("2.14.1", None), None, ON_CPU, False),
        (None, None, EMPTY, False),
    ],
)
def test_a_gpu_is_expected_where_plan_machine_or_build_are_for_one(
    planned: Planned | None, machine: Machine | None, report: Report, gpu: bool
) -> None:
    assert expect(planned, machine, report).gpu is gpu


def test_an_environment_that_moved_to_a_gpu_says_where_it_was_made() -> None:
    moved = expect(Planned("2.14.1+cpu", "cpu", without_gpu=True), WITH_GPU, ON_CPU)
    (problem,) = judge(ON_CPU, moved).problems
    assert problem.code == "cpu-build"
    assert (
        "this machine has NVIDIA L4, and the environment was made for a machine without a GPU" in problem.text
    )


@pytest.mark.parametrize(("machine", "gpu"), [(WITH_GPU, "NVIDIA L4"), (BROKEN, "an NVIDIA GPU")])
def test_a_requested_cpu_build_names_the_gpu_that_stays_idle(machine: Machine, gpu: str) -> None:
    verdict = judge(ON_CPU, expect(Planned("2.14.1+cpu", "cpu", cpu_requested=True), machine, ON_CPU))
    assert verdict.ok
    assert verdict.notes == (f"{gpu} is not used: a CPU build was requested (--cuda cpu)",)


def test_machine_code_that_fits_is_named() -> None:
    assert _architectures(GOOD) == TestResult(
        "architectures", ok=True, ms=None, detail="runs its code for sm_80"
    )


def test_ptx_is_a_note() -> None:
    report = judge_architectures(replace(GOOD, torch=replace(TORCH, architectures=("sm_70", "compute_70"))))
    assert judge(report, WANTS_GPU).notes == ("no machine code for 8.9: the driver compiles compute_70",)


def test_a_build_without_code_for_the_gpu_fails() -> None:
    broken = replace(L4, compute_capability=ComputeCapability(12, 0), tests=(FAILED,))
    test = _architectures(replace(GOOD, devices=(broken,)))
    assert not test.ok
    assert test.detail == "has code for sm_80 sm_90, none of which runs on 12.0"


def test_kernels_that_ran_are_a_better_proof_than_the_rule() -> None:
    report = replace(GOOD, devices=(replace(L4, compute_capability=ComputeCapability(12, 0)),))
    assert _architectures(report).ok
    assert "yet its kernels ran" in _architectures(report).detail


def test_an_old_torch_that_lists_nothing_is_not_judged() -> None:
    test = _architectures(replace(GOOD, torch=replace(TORCH, architectures=None)))
    assert test.ok
    assert test.detail.startswith("skipped")


def test_the_cpu_has_no_architectures() -> None:
    assert judge_architectures(ON_CPU) == ON_CPU


def test_a_person_reads_what_was_proven() -> None:
    report = judge_architectures(GOOD)
    assert describe_verdict(report, judge(report, WANTS_GPU)) == (
        "torch 2.14.1+cu126 · CUDA 12.6 · cuDNN 9.10.2 · Python 3.12.1",
        "NVIDIA L4 (8.9): 1 tests passed",
    )


def test_a_person_reads_what_failed() -> None:
    report = replace(GOOD, devices=(replace(L4, tests=(PASSED, replace(FAILED, id="fp16"))),))
    assert describe_verdict(report, judge(report, WANTS_GPU))[1:] == (
        "NVIDIA L4 (8.9): 1 of 2 tests passed",
        "`fp16` failed on GPU 0: no kernel image",
    )


@pytest.mark.parametrize(
    ("code", "commands"),
    [("crashed", []), ("hung", [None]), ("no-gpu", ["gpuenv detect"]), ("import-failed", [])],
)
def test_every_failure_leads_to_doctor(code: str, commands: list[str | None]) -> None:
    verdict = VerificationVerdict(problems=(Finding(code, "it broke"),), notes=())
    error = describe_failure(verdict, "/home/me/my env", {})
    assert [fix.command for fix in error.fixes] == [*commands, "gpuenv doctor '/home/me/my env'"]
