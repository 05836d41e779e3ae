"""What the matrices add to the facts of a text: the torch that it names, and what conda was asked for."""

import pytest

from gpuenv.explanation.load_tables import load_reports
from gpuenv.explanation.text_facts import facts_of
from gpuenv.signatures.reported import read_reported

FLASH = (
    "/v/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _Z"
)
CONDA = "$ conda install pytorch={0} pytorch-cuda=12.8 -c pytorch -c nvidia\n$ conda create -n x python={1}\n"


def facts(text: str, *asked: str) -> dict[str, str]:
    return facts_of(read_reported(text, load_reports()), {}, asked)


@pytest.mark.parametrize(
    ("torch", "wheel"),
    [
        ("2.6.0+cu124", "v2.7.4.post1/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux"),
        ("2.6.0+cu126", "v2.7.4.post1/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiTRUE-cp311-cp311-linux"),
        (
            "2.8.0",
            "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp311-cp311-linux",
        ),  # PyPI's build is cu128
        ("2.15.0", None),
    ],
)
def test_a_compiled_package_has_the_wheel_for_the_torch_of_the_text(torch: str, wheel: str | None) -> None:
    text = f"PyTorch version: {torch}\nflash-attn==2.7.4.post1\nImportError: {FLASH}"
    line = facts(text, "extension_line").get("extension_line")
    assert (line is None) == (wheel is None)
    assert wheel is None or wheel in (line or "")


def test_the_matrices_are_left_alone_where_no_condition_asks_for_them() -> None:
    text = f"PyTorch version: 2.8.0\nImportError: {FLASH}"
    assert "torch_build" not in facts(text)
    assert facts(text, "torch_build")["build_cuda_name"] == "12-8"


def test_a_driver_tells_the_newest_build_of_the_torch_that_it_runs() -> None:
    text = "torch==2.9.0+cpu\nPyTorch version: 2.9.0+cpu\nDriver Version: 570.133.20"
    found = facts(text, "driver_index")
    assert (found["driver_runs"], found["driver_index"]) == ("12.8", "cu128")


def test_conda_is_answered_by_what_its_channels_have() -> None:
    found = facts(CONDA.format("2.7.0", "3.12"), "conda_last")
    assert found["conda_last"] == "2.5.1"
    assert found["conda_pip_line"].endswith("torch==2.7.0 --index-url https://download.pytorch.org/whl/cu128")
    assert found["conda_forge_line"].endswith('"pytorch-gpu=2.7.0" "cuda-version=12.6"')
    assert "conda_python" not in found
    older = facts(CONDA.format("2.4.1", "3.13"), "conda_python")
    assert (older["conda_python"], older["conda_pythons"]) == ("3.12", "3.9–3.12")


def test_a_companion_of_another_pytorch_is_told_before_the_cuda_that_it_wants() -> None:
    text = "  - pytorch=2.1.0\n  - pytorch-cuda=12.1\n  - torchvision=0.16.0\n  - torchaudio=2.0.2\n"
    found = facts(text, "conda_wrong")
    assert (found["conda_wrong"], found["conda_right"]) == ("torchaudio 2.0.2", "torchaudio=2.1.0")


@pytest.mark.parametrize(
    ("project", "torch", "release"),
    [("vllm", "2.5.1", "0.7.3"), ("xformers", "2.6.0", "0.0.29.post3"), ("nothing-known", "2.6.0", None)],
)
def test_of_two_pins_the_release_for_the_torch_that_was_asked_for_is_named(
    project: str, torch: str, release: str | None
) -> None:
    text = f"    The user requested torch=={torch}\n    {project} 0.6.3 depends on torch==2.4.0\n"
    assert facts(text, "conflict_release").get("conflict_release") == release
