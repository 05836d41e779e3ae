"""What conda-forge's build scripts tell of the architectures that its torch is made for."""

from __future__ import annotations

import importlib

import matrix_workshop  # noqa: F401 - it makes the tools importable
import pytest
from hypothesis import given
from hypothesis import strategies as st

read_architectures = importlib.import_module("read_conda_forge").read_architectures

UNIX = """
if [[ ${cuda_compiler_version} != "None" ]]; then
    if [[ "${arm_variant_type}" == "tegra" ]]; then
        export TORCH_CUDA_ARCH_LIST="8.7+PTX"
    else
        case ${cuda_compiler_version} in
            12.[89])
                export TORCH_CUDA_ARCH_LIST="5.0;9.0;12.0+PTX"
                ;;
            13.0)
                if [[ "${target_platform}" == "linux-aarch64" ]]; then
                    export TORCH_CUDA_ARCH_LIST="7.5;8.7;12.0+PTX"
                else
                    export TORCH_CUDA_ARCH_LIST="7.5;12.0+PTX"
                fi
                ;;
            *)
                exit 1
        esac
    fi
else
    export TORCH_CUDA_ARCH_LIST=""
fi
"""
OLDER_UNIX = """
export TORCH_CUDA_ARCH_LIST="3.5;5.0+PTX"
if [[ ${cuda_compiler_version} == 9.2* ]]; then
    export TORCH_CUDA_ARCH_LIST="$TORCH_CUDA_ARCH_LIST;6.0;7.0"
elif [[ ${cuda_compiler_version} == 11.1* ]]; then
    export TORCH_CUDA_ARCH_LIST="$TORCH_CUDA_ARCH_LIST;8.0;8.6"
fi
"""
WINDOWS = """
if "%cuda_compiler_version:~0,2%"=="12" (
    set "TORCH_CUDA_ARCH_LIST=5.0;9.0;12.0+PTX"
) else if "%cuda_compiler_version%" == "13.0" (
    set "TORCH_CUDA_ARCH_LIST=7.5;12.0+PTX"
) else (
    exit /b 1
)
set "TORCH_CUDA_ARCH_LIST="
"""


@pytest.mark.parametrize(
    ("script", "cuda", "platform", "found"),
    [
        (UNIX, "12.9", "linux-64", ["5.0", "9.0", "12.0+PTX"]),
        (UNIX, "12.8", "linux-aarch64", ["5.0", "9.0", "12.0+PTX"]),
        (UNIX, "13.0", "linux-64", ["7.5", "12.0+PTX"]),
        (UNIX, "13.0", "linux-aarch64", ["7.5", "8.7", "12.0+PTX"]),
        (UNIX, "12.6", "linux-64", None),
        (OLDER_UNIX, "9.2", "linux-64", ["3.5", "5.0+PTX", "6.0", "7.0"]),
        (OLDER_UNIX, "11.1", "linux-64", ["3.5", "5.0+PTX", "8.0", "8.6"]),
        (OLDER_UNIX, "11.2", "linux-64", ["3.5", "5.0+PTX"]),
        (WINDOWS, "12.8", "win-64", ["5.0", "9.0", "12.0+PTX"]),
        (WINDOWS, "13.0", "win-64", ["7.5", "12.0+PTX"]),
        ("", "12.6", "linux-64", None),
    ],
)
def test_a_script_tells_the_architectures_of_each_cuda(
    script: str, cuda: str, platform: str, found: list[str] | None
) -> None:
    assert read_architectures(script, cuda, platform) == found


LINES = st.sampled_from([*UNIX.splitlines(), *OLDER_UNIX.splitlines(), *WINDOWS.splitlines(), "", "x"])


@given(
    st.lists(LINES | st.text(max_size=20), max_size=12).map("\n".join),
    st.sampled_from(["9.2", "11.8", "12.8", "13.0"]),
    st.sampled_from(["linux-64", "linux-aarch64", "win-64"]),
)
def test_any_script_tells_a_list_or_nothing(script: str, cuda: str, platform: str) -> None:
    value = read_architectures(script, cuda, platform)
    assert value is None or (value and all(value))
