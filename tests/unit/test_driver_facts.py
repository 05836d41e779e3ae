"""What a text says of its driver tells the newest torch that the driver runs."""

from __future__ import annotations

import pytest

from gpuenv.explanation.card_facts import driver_facts
from gpuenv.explanation.explain import load_reports
from gpuenv.explanation.text_facts import facts_of
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.signatures.reported import read_reported

TOO_OLD = "The NVIDIA driver on your system is too old (found version {number})."


def facts(text: str) -> dict[str, str]:
    reported = read_reported(text, load_reports())
    return driver_facts(reported, reported.values.get("torch_release"), load_knowledge())


@pytest.mark.parametrize(
    ("number", "cuda", "variant"),
    [(11040, "11.4", "cu118"), (12020, "12.2", "cu126"), (10020, "10.2", "cu102")],
)
def test_the_newest_torch_for_the_cuda_of_the_driver_by_minor_version_compatibility_too(
    number: int, cuda: str, variant: str
) -> None:
    found = facts(TOO_OLD.format(number=number))
    assert found["driver_cuda"] == cuda
    assert found["driver_line"].endswith(f"+{variant} --index-url https://download.pytorch.org/whl/{variant}")


def test_the_python_and_the_companions_of_the_text_count() -> None:
    text = f"Python 3.8.10\ntorch==2.4.1\ntorchvision==0.19.1\n{TOO_OLD.format(number=11040)}"
    line = facts(text)["driver_line"]
    assert "torch==2.4.1+cu118" in line
    assert "torchvision==0.19.1+cu118" in line


@pytest.mark.parametrize(
    ("torch", "taken"),
    [("2.9.0+cu130", "2.9.0+cu129"), ("2.1.0+cu121", "2.1.0+cu121"), ("0.4.1", "1.0.0")],
)
def test_the_torch_that_is_there_stays_where_it_has_a_build_for_the_driver(torch: str, taken: str) -> None:
    line = facts(f"torch=={torch}\n{TOO_OLD.format(number=12040)}")["driver_line"]
    assert f"torch=={taken} " in line


@pytest.mark.parametrize(
    "text", ["", TOO_OLD.format(number=999999), "OS: macOS 15.5 (arm64)\nDriver Version: 566.03"]
)
def test_without_a_driver_that_is_known_nothing_is_said(text: str) -> None:
    assert "driver_line" not in facts(text)


@pytest.mark.parametrize(
    ("asked", "number", "line"),
    [
        (
            "conda install pytorch==1.7.1 torchvision==0.8.2 cudatoolkit=10.2 -c pytorch",
            10010,
            "conda install pytorch=1.7.1 torchvision=0.8.2 cudatoolkit=10.1 -c pytorch",
        ),
        ("conda install pytorch=2.1.0 pytorch-cuda=12.1 -c pytorch -c nvidia", 11080, "pytorch-cuda=11.8"),
        (
            "conda install pytorch=1.9.0 cudatoolkit=10.2 -c pytorch",
            10010,
            "pytorch=1.8.1",
        ),  # 1.9 has no 10.1
        ("conda install pytorch=0.4.1 cuda92 -c pytorch", 9000, "pytorch=1.0.0 cuda90"),  # the oldest known
    ],
)
def test_conda_is_given_the_build_for_the_driver_of_the_same_release_or_the_nearest(
    asked: str, number: int, line: str
) -> None:
    text = f"{asked}\n{TOO_OLD.format(number=number)}"
    told = facts_of(read_reported(text, load_reports()), {}, {"conda_driver_line"})
    assert line in told["conda_driver_line"]
