"""What a check tells of a text carries the line that mends the text's environment in place."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpuenv.explanation.load_tables import load_reports, load_signatures
from gpuenv.explanation.pip_line import install_line, with_line
from gpuenv.explanation.reported_machine import machine_of
from gpuenv.planning.load_knowledge import load_knowledge
from gpuenv.signatures.match import as_match
from gpuenv.signatures.reported import read_reported

INDEX = "--index-url https://download.pytorch.org/whl"


def fix_of(text: str, check: str, command: str | None = None) -> str:
    knowledge, reported = load_knowledge(), read_reported(text, load_reports())
    match = replace(as_match(load_signatures()[0]), fix="replace it", check=check)
    return with_line(match, command, reported, machine_of(reported, knowledge), knowledge).fix


def test_the_companions_are_those_of_the_torch_that_is_there_from_its_index() -> None:
    assert fix_of("torch 2.2.2+cu121\ntorchvision 0.18.0+cu121\n", "D40") == (
        f"replace it: `python -m pip install torchvision==0.17.2+cu121 {INDEX}/cu121`"
    )
    assert fix_of("torch 2.6.0\ntorchvision 0.20.1\n", "D40") == (
        "replace it: `python -m pip install torchvision==0.21.0`"
    )


def test_another_build_of_the_same_release_is_put_in_by_force() -> None:
    text = "torch 2.4.0\ntorchvision 0.19.0+cpu\n"
    assert fix_of(text, "D40") == (
        "replace it: `python -m pip install --force-reinstall --no-deps torchvision==0.19.0`"
    )
    assert fix_of(f"$ uv pip list\n{text}", "D40") == (
        "replace it: `uv pip install --reinstall-package torchvision torchvision==0.19.0`"
    )


def test_a_torch_whose_cuda_build_was_replaced_comes_back_with_its_companions_variant() -> None:
    text = "C:\\w> pip list\ntorch 2.3.1\ntorchvision 0.18.0+cu121\ntorchaudio 2.3.0+cu121\n"
    assert fix_of(text, "D40") == (
        "replace it: `python -m pip install torch==2.3.1+cu121 torchvision==0.18.1+cu121 "
        f"torchaudio==2.3.1+cu121 {INDEX}/cu121`"
    )


def test_a_mac_has_the_companion_of_its_torch() -> None:
    assert fix_of("OS: macOS 15.5 (arm64)\ntorch 2.9.0\ntorchaudio 2.10.0\n", "D40") == (
        "replace it: `python -m pip install torchaudio==2.9.0`"
    )


def test_the_versions_of_a_plan_are_what_is_typed() -> None:
    plan = "gpuenv plan torch==2.1.2+cu118 torchvision==0.16.2+cu118 --driver 566.03 --gpu 8.6"
    assert fix_of("torch==2.1.2\n", "D01", plan) == (
        f"replace it: `python -m pip install torch==2.1.2+cu118 torchvision==0.16.2+cu118 {INDEX}/cu118`"
    )
    assert fix_of("$ uv pip list\ntorch 2.1.2\n", "D01", plan).startswith("replace it: `uv pip install ")


def test_another_release_than_that_of_the_text_is_said_to_be_one() -> None:
    plan = "gpuenv plan torch==2.7.0+cu128 --gpu 12.0"
    assert fix_of("torch==2.5.1+cu124\n", "D16", plan).startswith("replace it with a build that runs here: `")


def test_without_a_plan_the_driver_tells_which_cuda_build_of_the_release() -> None:
    smi = "| NVIDIA-SMI 526.98       Driver Version: 526.98       CUDA Version: 12.0     |\n"
    assert fix_of(f"{smi}torch==1.13.0\nPython 3.10.4\n", "D01").startswith(
        "replace it: `python -m pip install torch==1.13.0+cu117"
    )


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.1.2\n",
        "pytorch 2.1.0 cpu_generic_py310h1234567_0 conda-forge\n",
        "OS: macOS 15.5 (arm64)\ntorch==2.1.2\n",
        "torch==9.9.9\nDriver Version: 526.98 \n",
    ],
)
def test_where_nothing_tells_the_build_the_fix_stays(text: str) -> None:
    assert fix_of(text, "D01") == "replace it"


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (("torch==1.0.0+cu90",), "--force-reinstall torch==1.0.0 --index-url"),
        (
            ("torch==1.7.1+cu110", "torchaudio==0.7.2+cu110"),
            "torch==1.7.1+cu110 torchaudio==0.7.2 --extra-index-url",
        ),
        (
            ("torch==2.9.1+cu126", "torchvision==0.24.1+cu126"),
            "torch==2.9.1+cu126 torchvision==0.24.1+cu126 --index-url",
        ),
    ],
)
def test_a_release_whose_files_carry_no_local_version_is_asked_for_without_one(
    wanted: tuple[str, ...], line: str
) -> None:
    assert f"pip install {line} https://" in str(install_line(wanted, {}))


def test_a_card_that_no_build_with_its_python_has_code_for_is_told_the_last_one() -> None:
    text = (
        "Python 3.11.9\n$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader\n{}, 470.256.02\n"
    )
    assert fix_of(text.format("Tesla K40m"), "D16").startswith(
        "the last with code for it is torch 1.3.0, for Python 3.6, 3.7: "
    )
    assert fix_of(text.format("GeForce GTX 680"), "D16").startswith(
        "no release of torch has code for it any more"
    )
    assert fix_of(text.format("Tesla V100-SXM2-16GB"), "D16") == "replace it"
