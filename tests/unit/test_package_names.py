"""Names that mislead are said to, with the right one for torch's CUDA; so are wheels for another CUDA."""

from __future__ import annotations

import pytest
from deciding import NOTHING_CONFIGURED, Asked, machine

from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.resolve import decide


def warnings(driver: str, *words: str) -> dict[str, str]:
    question = Asked((machine({"driver": driver, "gpus": ["9.0"]}),), ("torch", *words)).question()
    decision = decide(question)
    plan = build_plan(question, decision, decision.choices[0], NOTHING_CONFIGURED)
    return {warning.code: warning.message for warning in plan.warnings}


@pytest.mark.parametrize(
    ("driver", "name", "right"),
    [
        ("580.95.05", "cupy", "cupy-cuda13x"),
        ("535.104.05", "cupy>=13", "cupy-cuda12x"),
        ("580.95.05", "apex", "git+https://github.com/NVIDIA/apex"),
        ("580.95.05", "PyG", "torch-geometric"),
        ("580.95.05", "tensorflow_gpu==2.10", "tensorflow[and-cuda]"),
        ("580.95.05", "pytorch3d", "git+https://github.com/facebookresearch/pytorch3d"),
    ],
)
def test_the_right_name_is_told(driver: str, name: str, right: str) -> None:
    assert warnings(driver, name)["package-name"].endswith(f"request `{right}`")


@pytest.mark.parametrize(
    ("driver", "name", "said"),
    [
        ("580.95.05", "cupy-cuda12x", "is for CUDA 12, torch for CUDA 13"),
        ("580.95.05", "cupy-cuda13x", None),
        ("535.104.05", "faiss-gpu-cu12", None),
        ("535.104.05", "nvidia-cusparselt-cu13", "needs a driver for CUDA 13; this one is for CUDA 12.2"),
        ("580.95.05", "numpy", None),
        ("580.95.05", "nvidia-cu12-tools", None),
    ],
)
def test_wheels_for_another_cuda_are_told(driver: str, name: str, said: str | None) -> None:
    message = warnings(driver, name).get("package-cuda")
    assert (message is None) == (said is None)
    assert message is None or (said or "") in message


def test_what_comes_by_address_is_nobodys_mistake() -> None:
    assert "package-name" not in warnings("580.95.05", "apex @ git+https://github.com/NVIDIA/apex")
