"""version.py, METADATA and WHEEL of real wheels are read, and garbled ones are a ValueError or pass."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.model.wheel import PLATFORMS, Platform
from gpuenv.wheels.metadata import (
    cudnn_of,
    parse_metadata,
    parse_version_file,
    parse_wheel_tags,
    required_cuda,
    specifier_of,
)

NEW = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.15.0+cu132'
debug = False
cuda: Optional[str] = '13.2'
git_version = 'd0f2af8b66b20da4baa50644c0cd3f887a2eae2e'
hip: Optional[str] = None
"""
OLD = "__version__ = '1.0.0'\ndebug = False\ncuda = '9.0.176'\n"
CPU = "__version__ = '2.15.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
ROCM = (
    "__version__ = '2.8.0+rocm6.3'\ncuda: Optional[str] = None\nhip: Optional[str] = '6.3.42131-fa1d09cbd'\n"
)
VISION = "__version__ = '0.29.1+cu130'\ngit_version = 'abc'\nfrom torchvision import extension\n"
METADATA = """Metadata-Version: 2.4
Name: torch
Version: 2.15.0
Requires-Python: >=3.11
Requires-Dist: filelock
Requires-Dist: cuda-toolkit[cublas,cudart]==13.2.2; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == "Linux"
Requires-Dist: triton~=3.9.0; platform_system == "Linux" and python_version < "3.16"
Requires-Dist: optree>=0.13.0; extra == "optree"
Requires-Dist: this is no requirement
"""
OLD_METADATA = """Metadata-Version: 2.1
Name: torch
Version: 1.13.1
Requires-Dist: nvidia-cuda-runtime-cu11 (==11.7.99) ; platform_system == "Linux"
Requires-Dist: nvidia-cudnn-cu11 (==8.5.0.96) ; platform_system == "Linux"
"""


@pytest.mark.parametrize(
    ("text", "version", "variant"),
    [
        (NEW, "2.15.0+cu132", "cu132"),
        (OLD, "1.0.0", "cu90"),
        (CPU, "2.15.0+cpu", "cpu"),
        (ROCM, "2.8.0+rocm6.3", "rocm6.3"),
        (VISION, "0.29.1+cu130", "cu130"),
        ("__version__ = '2.11.0'\n", "2.11.0", "None"),
        ("__version__ = '2.11.0+abc123'\n", "2.11.0+abc123", "None"),
        ("cuda = '12.6'\r\n", "None", "cu126"),
    ],
)
def test_a_version_file_tells_its_variant(text: str, version: str, variant: str) -> None:
    read = parse_version_file(text)
    assert (str(read.version), str(read.variant)) == (version, variant)


def test_a_cuda_version_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="CUDA"):
        parse_version_file("cuda = 'twelve'\n")


def test_metadata_tells_what_is_required_on_each_platform() -> None:
    read = parse_metadata(METADATA)
    assert (read.name, str(read.version), read.requires_python) == ("torch", "2.15.0", ">=3.11")
    assert cudnn_of(read, "linux-64") == cudnn_of(read, "linux-aarch64") == "9.26.0.51"
    assert cudnn_of(read, "win-64") is None
    assert specifier_of(read, "triton", "linux-64") == "~=3.9.0"
    assert specifier_of(read, "triton", "win-64") is None
    assert specifier_of(read, "optree", "linux-64") is None
    assert str(required_cuda(read, "linux-64")) == "13.2"


def test_requirements_in_brackets_are_read_too() -> None:
    read = parse_metadata(OLD_METADATA)
    assert (cudnn_of(read, "linux-64"), str(required_cuda(read, "linux-64"))) == ("8.5.0.96", "11.7")


def test_what_holds_for_some_python_is_required() -> None:
    read = parse_metadata(f"{METADATA}Requires-Dist: pytorch-triton==1; python_version < '3.8'\n")
    assert specifier_of(read, "pytorch-triton", "linux-64") == "==1"


@pytest.mark.parametrize("text", ["", "Name: torch\n", "Version: 1.0\n", "<html>not found</html>"])
def test_metadata_without_a_name_or_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names no project"):
        parse_metadata(text)


def test_tags_of_a_wheel_file_are_read() -> None:
    text = "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux1_x86_64\nTag: cp312-cp312-linux_x86_64\n"
    assert parse_wheel_tags(text) == ("cp312-cp312-manylinux1_x86_64", "cp312-cp312-linux_x86_64")


@given(st.text(max_size=300), st.sampled_from(PLATFORMS))
def test_any_text_is_read_or_a_value_error(text: str, platform: Platform) -> None:
    parse_wheel_tags(text)
    with contextlib.suppress(ValueError):
        parse_version_file(text)
    with contextlib.suppress(ValueError):
        read = parse_metadata(f"Name: torch\nVersion: 1.0\nRequires-Dist: {text}")
        cudnn_of(read, platform)
        required_cuda(read, platform)
