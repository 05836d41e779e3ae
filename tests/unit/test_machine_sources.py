"""The other sources of detect: parsers read real samples, and turn away all else by ValueError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from gpuenv.host.nvidia.nvml import parse_cuda_number, parse_pci_number
from gpuenv.host.nvidia.proc_driver import parse_information, parse_proc_version
from gpuenv.host.nvidia.tegra import parse_chip, parse_release
from gpuenv.host.nvidia.visible_devices import parse_visible
from gpuenv.host.pci import parse_id
from gpuenv.host.software.cuda_toolkit import parse_nvcc, parse_version_json, parse_version_text
from gpuenv.host.software.package_managers import parse_record
from gpuenv.host.software.pythons import parse_managed_name, parse_pyvenv
from gpuenv.host.system import parse_architecture_name, parse_cgroup, parse_glibc, parse_musl
from gpuenv.model.machine import Gpu

PROC = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  450.80.02  Wed Sep 23 01:13:39 UTC 2020\nGCC version:"
PROC_OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.07  Release Build  (dvs)"
INFORMATION = (
    "Model: \t\t NVIDIA GeForce RTX 3080 Ti\nIRQ:   \t\t 139\n"
    "GPU UUID: \t GPU-5a8b9c0d-1e2f-3a4b-5c6d-7e8f9a0b1c2d\nVideo BIOS: \t 94.02.71.40.6f\n"
    "Bus Location: \t 0000:01:00.0\nDevice Minor: \t 0\n"
)


def test_the_kernel_module_tells_its_version() -> None:
    assert str(parse_proc_version(PROC)) == "450.80.02"
    assert parse_proc_version(PROC_OPEN) == Version("570.133.07")


def test_the_kernel_module_tells_its_gpus() -> None:
    gpu = parse_information(INFORMATION)

    assert (gpu.name, gpu.bus_id) == ("NVIDIA GeForce RTX 3080 Ti", "0000:01:00.0")
    assert gpu.uuid == "GPU-5a8b9c0d-1e2f-3a4b-5c6d-7e8f9a0b1c2d"


def test_toolkit_versions_are_read_in_all_three_forms() -> None:
    assert str(parse_version_json('{"cuda": {"name": "CUDA SDK", "version": "12.4.20240301"}}')) == "12.4"
    assert str(parse_version_text("CUDA Version 10.2.89\n")) == "10.2"
    assert str(parse_nvcc("Cuda compilation tools, release 11.5, V11.5.119\nBuild cuda_11.5")) == "11.5"


def test_c_libraries_are_read() -> None:
    assert parse_glibc("glibc 2.31") == "2.31"
    assert parse_musl("musl libc (x86_64)\nVersion 1.2.4\nDynamic Program Loader\n") == "1.2"


def test_boards_are_told_by_device_tree_or_release() -> None:
    assert parse_chip("nvidia,p3737-0000+p3701-0005\0nvidia,p3701-0005\0nvidia,tegra234\0") == "tegra234"
    assert parse_chip("raspberrypi,4-model-b\0brcm,bcm2711\0") is None
    assert (
        parse_release("# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64") == 35
    )


@pytest.mark.parametrize(
    ("name", "version", "free_threaded"),
    [
        ("cpython-3.12.4-linux-x86_64-gnu", "3.12.4", False),
        ("cpython-3.13.0+freethreaded-linux-x86_64-gnu", "3.13.0", True),
        ("cpython-3.12-windows-x86_64-none", "3.12", False),
        ("3.11.9", "3.11.9", False),
        ("3.13.0t", "3.13.0", True),
    ],
)
def test_managed_pythons_tell_their_version_by_name(name: str, version: str, free_threaded: bool) -> None:
    assert parse_managed_name(name) == (version, free_threaded)


def test_names_that_are_no_pythons_are_turned_away() -> None:
    assert parse_managed_name("pypy3.10-7.3.12") is None
    assert parse_managed_name("miniconda3-latest") is None
    assert parse_record("python-3.11.5-h955ad1f_0.json") == ("python", "3.11.5")
    assert parse_record("history") is None


def test_environments_tell_their_origin() -> None:
    assert parse_pyvenv("home = /usr/bin\nversion = 3.11.4\n") == ("/usr/bin", "11")
    assert parse_pyvenv("home = /opt/python/bin\nuv = 0.8.0\nversion_info = 3.12.1\n") == (
        "/opt/python/bin",
        "12",
    )
    assert parse_pyvenv("") == (None, None)


def test_small_things_are_normalised() -> None:
    assert [parse_architecture_name(name) for name in ("AMD64", "arm64", "ppc64le")] == [
        "x86_64",
        "aarch64",
        "ppc64le",
    ]
    assert parse_cgroup("12:pids:/docker/0a1b2c\n") == "docker"
    assert parse_cgroup("0::/init.scope\n") is None
    assert parse_id("0x10de\n") == "10de"
    assert parse_pci_number(0x220810DE) == "2208"
    assert parse_pci_number(0x22081002) is None
    assert str(parse_cuda_number(12020)) == "12.2"


@given(st.text())
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    strict: tuple[Callable[[str], object], ...] = (
        parse_proc_version, parse_information, parse_version_json, parse_version_text, parse_nvcc,
        parse_glibc, parse_musl,
    )  # fmt: skip
    for parse in strict:
        with suppress(ValueError):
            parse(text)
    for tolerant in (
        parse_chip,
        parse_release,
        parse_managed_name,
        parse_record,
        parse_pyvenv,
        parse_cgroup,
        parse_id,
    ):
        tolerant(text)


@pytest.mark.parametrize(
    "text", ["null", "[]", '{"cuda": []}', '{"cuda": {"version": 12.4}}x', "[" * 100_000]
)
def test_a_broken_version_file_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_version_json(text)


GPUS = (
    Gpu(0, "a", None, uuid="GPU-aaaa1111", mig=False),
    Gpu(1, "b", None, uuid="GPU-aaab2222", mig=True),
    Gpu(2, "c", None, uuid="GPU-cccc3333", mig=None),
)


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        (None, {0, 1, 2}),
        ("", set()),
        ("-1", set()),
        ("NoDevFiles", set()),
        ("0", {0}),
        ("2,0", {0, 2}),
        (" 1 , 2 ", {1, 2}),
        ("0,7,1", {0}),
        ("0,-1,1", {0}),
        ("1,1", set()),
        ("1x", {1}),
        ("GPU-aaab", {1}),
        ("GPU-aaa", set()),
        ("GPU-cccc3333,GPU-aaaa1111", {0, 2}),
        ("GPU-cccc3333,GPU-none,GPU-aaaa1111", {2}),
        ("MIG-GPU-aaab2222/1/0", {1}),
        ("MIG-0b9c8d7e", {1, 2}),
    ],
)
def test_visible_devices_mean_what_they_mean_to_cuda(value: str | None, visible: set[int]) -> None:
    assert parse_visible(value, GPUS) == visible


def test_uuids_that_are_not_known_hide_nothing() -> None:
    assert parse_visible("GPU-aaaa1111", (Gpu(0, "a", None),)) == {0}


@given(st.none() | st.text() | st.text("0123456789,-+ GPUMIG/abc"))
def test_any_value_hides_only_gpus_that_are_there(value: str | None) -> None:
    assert parse_visible(value, GPUS) <= {0, 1, 2}
