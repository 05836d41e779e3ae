"""What a fix leaves to be filled in is filled by what the text says: capability, torch's CUDA, package."""

import pytest

from gpuenv.explanation.explain import explain_text
from gpuenv.signatures.settle import blanks_of, filled, in_its_shell

_RTX = "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0f21d3c0-9a1b-4c55-8a55-3f1f0c1b2d3e)\n"


@pytest.mark.parametrize(
    ("fix", "facts", "told"),
    [
        (
            '`export TORCH_CUDA_ARCH_LIST="X.Y"`',
            {"gpu_capability": "8.9"},
            '`export TORCH_CUDA_ARCH_LIST="8.9"`',
        ),
        ("`/usr/local/cuda-X.Y/bin`", {"build_cuda": "12.4"}, "`/usr/local/cuda-12.4/bin`"),
        ("`apt install cuda-toolkit-X-Y`", {"build_cuda_name": "12-4"}, "`apt install cuda-toolkit-12-4`"),
        ("`pip install PACKAGE`", {"unbuilt_asked": "./submodules/knn"}, "`pip install ./submodules/knn`"),
        ("`pip install PACKAGE==THAT`", {"unbuilt_asked": "apex"}, "`pip install PACKAGE==THAT`"),
        ("`pip install --only-binary :all: PACKAGE`", {"unbuilt_asked": "./knn"}, None),
        ("`pip install PACKAGE`", {}, None),
    ],
)
def test_a_blank_is_filled_by_the_fact_that_has_it(fix: str, facts: dict[str, str], told: str | None) -> None:
    assert filled(fix, facts) == (told or fix)
    assert facts.keys() <= blanks_of(fix) or told is None or told == fix


def test_variables_are_unset_as_the_shell_has_it() -> None:
    fix = "`unset LD_LIBRARY_PATH PYTHONPATH`, then again"
    assert (
        in_its_shell(fix, {"system": "windows"}) == '`set "LD_LIBRARY_PATH=" & set "PYTHONPATH="`, then again'
    )
    assert in_its_shell(fix, {"system": "linux"}) == fix


def test_a_variable_before_a_command_is_set_as_the_shell_has_it() -> None:
    fix = '`TORCH_CUDA_ARCH_LIST="8.6" pip install .`; `A_B=1` alone stays'
    told = '`set "TORCH_CUDA_ARCH_LIST=8.6" & pip install .`; `A_B=1` alone stays'
    assert in_its_shell(fix, {"system": "windows"}) == told
    assert in_its_shell(fix, {"system": "linux"}) == fix


def test_a_build_gets_the_capability_of_the_card_that_a_text_names() -> None:
    text = _RTX + "IndexError: list index out of range\narch_list[-1] += '+PTX'\n"
    fix = explain_text(text, {}).matches[0].fix
    assert 'TORCH_CUDA_ARCH_LIST="8.9"' in fix


def test_a_package_is_built_from_where_it_came() -> None:
    text = "Processing ./submodules/simple-knn\n  ERROR: Failed building wheel for simple_knn\n"
    failed = text + "RuntimeError: Error compiling objects for extension\n"
    assert "./submodules/simple-knn" in explain_text(failed, {}).matches[0].fix
