"""Wheels that there are for each CUDA major go by the driver, the GPUs and torch's CUDA."""

from __future__ import annotations

import re

import pytest
from deciding import Asked, Outcome, decided, gpu_machine

OLD, NEW = "535.104.05", "580.95.05"


def asked(driver: str, *words: str, gpu: str = "9.0") -> Asked:
    return Asked((gpu_machine(driver, gpu),), ("torch", *words))


def planned(driver: str, *words: str, gpu: str = "9.0") -> Outcome:
    outcome = decided(asked(driver, *words, gpu=gpu))
    assert outcome.plan is not None, outcome.error
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("cupy-cuda13x", "cupy-cuda12x"),
        ("cupy-cuda13x==13.6.0", "cupy-cuda12x==13.6.0"),
        ("jax[cuda13]>=0.8", "jax[cuda12]>=0.8"),
        ("cudf-cu13==25.10.0", "cudf-cu12==25.10.0"),
        ("tensorrt==11.4.0.106", "tensorrt-cu12==11.4.0.106"),
        ("onnxruntime-gpu==1.31.1", "onnxruntime-gpu<1.27,>=1.19"),
        ("nvidia-dali-cuda130", "nvidia-dali-cuda120"),
        ("tensorrt-cu13", "tensorrt-cu12"),
        ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"),
    ],
)
def test_what_the_driver_does_not_run_is_refused_with_what_it_runs(name: str, instead: str) -> None:
    question = asked(OLD, name)
    error = decided(question).error
    assert error is not None
    assert error.code == "package-cuda"
    assert error.message.startswith(f"`{re.split('[=>]', name, maxsplit=1)[0]}` does not run")
    assert len(error.because) == 1
    assert "needs driver 580.65.06 or newer; this machine has 535.104.05" in error.because[0].text
    fix = next(fix for fix in error.fixes if fix.text.startswith(f"`{instead}` works here"))
    assert fix.command is not None
    again = decided(question.again(fix.command)).plan
    assert again is not None
    assert again.requirements == (instead,)


@pytest.mark.parametrize(
    ("gpu", "name", "why", "instead"),
    [
        ("12.0", "cupy-cuda11x", "is older than", "cupy-cuda13x"),
        ("7.0", "cupy-cuda13x", "no longer supports", "cupy-cuda12x"),
    ],
)
def test_what_has_no_code_for_the_gpu_is_refused_with_what_has(
    gpu: str, name: str, why: str, instead: str
) -> None:
    error = decided(asked(NEW, name, gpu=gpu)).error
    assert error is not None
    assert why in error.because[0].text
    assert any(fix.text.startswith(f"`{instead}` works here") for fix in error.fixes)


@pytest.mark.parametrize(
    ("driver", "name", "requirement"),
    [
        (OLD, "tensorrt", "tensorrt<10.13.2,>=10.0.1"),
        (NEW, "tensorrt", "tensorrt>=10.13.2"),
        (NEW, "tensorrt<10.10", "tensorrt<10.10"),
        (OLD, "tensorrt==8.6.1", "tensorrt==8.6.1"),
        (OLD, "onnxruntime-gpu", "onnxruntime-gpu<1.27,>=1.19"),
        (NEW, "onnxruntime-gpu>=1.20", "onnxruntime-gpu>=1.27"),
        (NEW, "bitsandbytes", "bitsandbytes"),
    ],
)
def test_a_name_for_several_cudas_is_bound_to_that_of_torch(driver: str, name: str, requirement: str) -> None:
    plan = planned(driver, name).plan
    assert plan is not None
    assert plan.requirements == (requirement,)
    told = [item for item in plan.why if "releases are for another CUDA" in item.text]
    assert bool(told) == (requirement != name)


@pytest.mark.parametrize("name", ["jax[cuda12]", "cudf-cu12", "nvidia-cudnn-cu12", "onnxruntime-gpu==1.22.0"])
def test_torch_is_for_the_cuda_of_what_shares_its_libraries(name: str) -> None:
    alone = planned(NEW, "numpy").choice
    chosen = planned(NEW, name)
    assert alone is not None
    assert alone.candidate.cuda is not None
    assert alone.candidate.cuda.major == 13
    assert chosen.choice is not None
    assert chosen.choice.candidate.cuda is not None
    assert chosen.choice.candidate.cuda.major == 12
    assert chosen.plan is not None
    assert not [warning for warning in chosen.plan.warnings if warning.code == "package-cuda"]


def test_what_cannot_be_beside_a_pinned_torch_is_refused_with_what_can() -> None:
    question = Asked((gpu_machine(NEW, "9.0"),), ("torch", "jax[cuda12]"), cuda="13.0")
    error = decided(question).error
    assert error is not None
    assert "files of torch's for CUDA 13" in error.because[0].text
    fix = next(fix for fix in error.fixes if fix.text.startswith("`jax[cuda13]` works here"))
    assert fix.command is not None
    assert decided(question.again(fix.command)).plan is not None


def test_what_has_libraries_of_its_own_may_be_for_another_cuda_and_the_other_is_named() -> None:
    plan = planned(NEW, "cupy-cuda12x").plan
    assert plan is not None
    (warning,) = (item.message for item in plan.warnings if item.code == "package-cuda")
    assert "is for CUDA 12, torch for CUDA 13" in warning
    assert "`cupy-cuda13x`" in warning


def test_without_a_gpu_nothing_is_refused() -> None:
    question = Asked((gpu_machine(NEW, "9.0"),), ("torch", "cupy-cuda13x"), cuda="cpu")
    assert decided(question).plan is not None


def test_a_requirement_of_another_system_and_one_by_address_are_nobodys_mistake() -> None:
    words = ("cupy-cuda13x; sys_platform == 'win32'", "tensorrt-cu13 @ https://x.example/tensorrt_cu13.whl")
    assert planned(OLD, *words).plan is not None
