"""The script that images carry, run by a Python with a torch of no substance, or under a driver of none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuenv.verification import image_check

SCRIPT = Path(image_check.__file__)
FAKES = Path(__file__).parent / "fake_torch"
BUILT = ("built", "--torch", "2.14.1+cu126", "--cuda", "12.6", "--gpu", "8.6", "--gpu", "9.0")
CU126 = {"version": "2.14.1+cu126", "cuda": "12.6", "architectures": ["sm_80", "sm_90"]}


def check(*arguments: str, torch: object = None, library: Path | None = None) -> tuple[int, str]:
    environ = {"PATH": os.defpath, "PYTHONPATH": str(FAKES), "FAKE_TORCH": json.dumps(torch or {})}
    if library:
        environ["LD_LIBRARY_PATH"] = str(library)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env=environ, capture_output=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_a_torch_as_planned_passes_without_a_gpu() -> None:
    assert check(*BUILT, torch=CU126) == (0, "")


def test_pypis_builds_carry_no_variant_in_the_version_that_was_planned() -> None:
    assert check("built", "--torch", "2.14.1", "--cuda", "12.6", torch=CU126) == (0, "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"architectures": ["sm_80"]}, "GPU 9.0 is not supported: torch 2.14.1+cu126 has code for sm_80"),
        ({"version": "2.13.0+cu126"}, "torch 2.14.1+cu126 was planned, 2.13.0+cu126 is installed"),
        ({"cuda": "12.8"}, "a build for CUDA 12.6 was planned, this one is for CUDA 12.8"),
        ({"cuda": None}, "a build for CUDA 12.6 was planned, this one is for the CPU"),
        ({"faults": [["import", "cpu", "libcudart.so.12: cannot open"]]}, "libcudart.so.12: cannot open"),
    ],
)
def test_another_torch_fails_and_says_what_it_is(change: dict[str, object], told: str) -> None:
    status, text = check(*BUILT, torch={**CU126, **change})
    assert status == 1
    assert told in text
    assert "Traceback" not in text


def test_every_gpu_is_put_to_work() -> None:
    seen = {**CU126, "gpus": [["A100", [8, 0]], ["H100", [9, 0]]]}
    assert check("gpus", torch=seen) == (0, "A100: done\nH100: done\n")
    wrong = {**seen, "faults": [["matmul", "cuda:1", "wrong"]]}
    status, text = check("gpus", torch=wrong)
    assert (status, "H100: a matrix product differs from the CPU" in text) == (1, True)


def test_a_cpu_build_is_put_to_work_on_the_cpu() -> None:
    assert check("gpus", torch={}) == (0, "CPU: done\n")


ROCM = {"version": "2.12.0+rocm7.2", "hip": "7.2.26015", "architectures": ["gfx942", "gfx1100"]}
BUILT_ROCM = ("built", "--torch", "2.12.0+rocm7.2", "--rocm", "--gpu", "gfx1100")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        (
            {"architectures": ["gfx942"]},
            "GPU gfx1100 is not supported: torch 2.12.0+rocm7.2 has code for gfx942",
        ),
        ({"hip": None}, "a build for ROCm was planned, this is none"),
    ],
)
def test_a_build_for_rocm_has_code_for_its_gpus(change: dict[str, object], told: str) -> None:
    status, text = check(*BUILT_ROCM, torch={**ROCM, **change})
    assert (status, told in text) == (1 if told else 0, True)


def test_a_build_for_rocm_where_none_was_planned_is_told() -> None:
    status, text = check("built", "--torch", "2.12.0", torch=ROCM)
    assert (status, "this build is for ROCm" in text) == (1, True)


def test_amds_gpus_are_put_to_work() -> None:
    seen = {**ROCM, "gpus": [["AMD Radeon RX 7900 XTX", [11, 0]]], "gfx": ["gfx1100"]}
    assert check("gpus", torch=seen) == (0, "AMD Radeon RX 7900 XTX: done\n")


def test_no_driver_is_said_with_the_option_that_brings_one(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    status, text = check("driver", "--driver", "525.60.13", library=tmp_path)
    assert status == 1
    assert "start the container with --gpus all" in text


NVML = """
#include <string.h>
int nvmlInit_v2(void) { return %(status)d; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = %(count)d; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "%(driver)s", size); return 0; }
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="wants a C compiler")
@pytest.mark.parametrize(
    ("nvml", "status", "told"),
    [
        ({}, 0, ""),
        ({"driver": "525.60.13"}, 0, ""),
        ({"driver": "470.82.01"}, 1, "driver 470.82.01 is too old: 525.60.13 or newer is required"),
        ({"count": 0}, 1, "no GPU was found"),
        ({"status": 999}, 1, "NVML error 999"),
    ],
)
def test_the_driver_alone_is_asked_for_the_state_of_health(
    nvml: dict[str, object], status: int, told: str, tmp_path: Path
) -> None:
    source = tmp_path / "nvml.c"
    source.write_text(NVML % {"status": 0, "count": 1, "driver": "550.54.14", **nvml})
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run([str(shutil.which("cc")), "-shared", "-fPIC", "-o", library, source], check=True)
    ended, text = check("driver", "--driver", "525.60.13", library=tmp_path)
    assert ended == status
    assert told in text
    command = (sys.executable, "-c", "print('ran', __import__('sys').argv[1:])", "--driver", "--")
    ended, text = check("start", "--driver", "525.60.13", "--", *command, library=tmp_path)
    assert ended == status
    assert told in text
    assert ("ran ['--driver', '--']" in text) == (status == 0)
