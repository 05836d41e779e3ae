"""Only variants whose builds would run are asked for, the newest torch's first."""

from __future__ import annotations

import pytest
from building import on
from deciding import Asked

from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.resolution.collect import builds_worth_asking
from gpuenv.resolution.target import Target


def variants(target: Target, *requirements: str, cuda: str | None = None) -> list[str]:
    request = Asked(target.machines, requirements or ("torch",), cuda=cuda).request()
    builds = builds_worth_asking(request, target, load_knowledge())
    return list(dict.fromkeys(str(candidate.variant) for candidate in builds))


@pytest.mark.parametrize(
    ("driver", "gpu", "there", "absent"),
    [
        ("535.104.05", "NVIDIA H100 PCIe", {"cu126", "cu118"}, {"cu130", "cu132", "cpu"}),
        ("580.95.05", "NVIDIA GeForce GTX 1080 Ti", {"cu126"}, {"cpu"}),
        ("570.133.07", "NVIDIA GeForce RTX 5090", {"cu128"}, {"cu118", "cu126", "cu130", "cpu"}),
    ],
)
def test_a_driver_or_a_card_that_a_variant_never_ran_on_leaves_it_out(
    driver: str, gpu: str, there: set[str], absent: set[str]
) -> None:
    values = set(variants(on(driver, gpu)))
    assert there <= values
    assert not absent & values


def test_without_a_gpu_only_the_cpu_is_asked_for_and_with_one_never() -> None:
    assert variants(on()) == ["cpu"]
    assert "cpu" not in variants(on("580.95.05", "9.0"))


def test_a_variant_that_is_asked_for_is_the_only_one() -> None:
    assert variants(on("580.95.05", "9.0"), cuda="cu126") == ["cu126"]
    assert variants(on("535.104.05", "9.0"), cuda="cu130") == []


def test_a_pin_leaves_the_variants_of_that_release() -> None:
    values = variants(on("580.95.05", "9.0"), "torch==2.7.1")
    assert set(values) == {"cu118", "cu126", "cu128"}
    assert variants(on("580.95.05", "9.0"), "torch==2.7.1+cu118") == ["cu118"]
    assert variants(on("580.95.05", "9.0"), "torch==99") == []


def test_the_newest_torch_and_of_it_the_newest_cuda_stand_first() -> None:
    target = on("580.95.05", "9.0")
    request = Asked(target.machines, ("torch",)).request()
    builds = builds_worth_asking(request, target, load_knowledge())
    order = [(candidate.torch, candidate.cuda) for candidate in builds]
    assert order == sorted(order, reverse=True)
    assert {candidate.kind for candidate in builds} == {"pytorch"}
    assert str(builds[0].variant) == variants(target)[0]


def test_every_gpu_of_the_target_counts() -> None:
    both = on("570.133.07", "NVIDIA GeForce GTX 1080 Ti", "NVIDIA GeForce RTX 5090")
    alone = on("570.133.07", "NVIDIA GeForce RTX 5090")
    assert set(variants(both)) < set(variants(alone))
