"""Rule `library`: cuDNN leaves GPUs behind, and a toolkit has nothing for a generation that came later."""

from __future__ import annotations

import pytest
from building import case, on, target
from deciding import gpu_machine

from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.rules import bundled_libraries

KNOWLEDGE = load_knowledge()


@pytest.mark.parametrize(
    ("cudnn", "gpu", "fits"),
    [
        ("8.7.0.84", "3.7", True),
        ("9.1.0.70", "3.7", False),
        ("9.1.0.70", "5.0", True),
        ("9.10.2.21", "7.0", True),
        ("9.11.0", "7.0", False),
        ("9.11.0", "7.5", True),
        ("9.26.0.51", "6.1", False),
        (None, "3.7", True),
        ("unreadable", "3.7", True),  # what can't be compared rules nothing out
    ],
)
def test_cudnn_leaves_old_gpus_behind(cudnn: str | None, gpu: str, fits: bool) -> None:
    build = case("2.4", "cu118", "sm_37", cudnn=cudnn)
    assert bool(bundled_libraries.check(build, on("580.95.05", gpu), KNOWLEDGE)) is not fits


@pytest.mark.parametrize(
    ("variant", "gpu", "fits"),
    [
        ("cu102", "8.6", False),
        ("cu110", "8.6", True),  # CUDA 11.0 knew the generation, though not this member
        ("cu117", "9.0", False),
        ("cu118", "9.0", True),
        ("cu126", "12.0", False),
        ("cu128", "12.0", True),
        ("cu128", "15.0", False),  # a generation nothing is known of
    ],
)
def test_a_toolkit_serves_no_generation_that_came_after_it(variant: str, gpu: str, fits: bool) -> None:
    build = case("2", variant, "compute_50")
    assert bool(bundled_libraries.check(build, on("610.1", gpu), KNOWLEDGE)) is not fits


def test_the_sentences_name_the_gpu_and_what_it_needs() -> None:
    here = on("580.95.05", "Tesla K80", "RTX 5090")
    failures = [
        failure
        for cudnn in ("9.1.0.70", "9.8.0")
        for failure in bundled_libraries.check(case("2.4", "cu118", "sm_37", cudnn=cudnn), here, KNOWLEDGE)
    ]
    kepler = tuple(failure for failure in failures if failure.kind == "cudnn")
    blackwell = tuple(failure for failure in failures if failure.kind == "cuda")
    assert kepler[0].summarize(kepler) == (
        "the cuDNN in the newer builds supports compute capability 5.0 and later, not Tesla K80 (3.7)"
    )
    assert blackwell[0].summarize(blackwell) == (
        "the libraries of CUDA 11.8 predate NVIDIA GeForce RTX 5090 (12.0), which is supported "
        "since CUDA 12.8"
    )


def test_a_cpu_build_brings_no_such_library() -> None:
    assert not bundled_libraries.check(case("2", "cpu", ""), on("580.95.05", "3.7"), KNOWLEDGE)


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_machines_the_one_that_uses_most_gpus_counts(order: int) -> None:
    """NCCL matters between GPUs: with one GPU of a kind here and two there, there it does."""
    item, two = gpu_machine("580.95.05", "3.7"), gpu_machine("580.95.05", "3.7", "3.7")
    build = case("2.1", "cu121", "sm_37")
    both = {
        failure.kind for failure in bundled_libraries.check(build, target(*(item, two)[::order]), KNOWLEDGE)
    }
    alone = {failure.kind for failure in bundled_libraries.check(build, target(item), KNOWLEDGE)}
    assert both - alone == {"nccl"}
