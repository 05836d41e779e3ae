"""`--from-lock` for accelerators that are no NVIDIA GPUs: a lock is judged by the rules of its kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gpuenv.locks.choose_lock import choose_lock
from gpuenv.locks.plan_from_lock import plan_from_lock
from gpuenv.model.errors import GpuenvError
from gpuenv.model.plan import Plan
from gpuenv.planning.options import PlanOptions

TORCH = "https://download.pytorch.org/whl"
AMD = "https://repo.amd.com/rocm/whl-multi-arch"
PYPI = "https://pypi.org/simple"
JETSON = "https://pypi.jetson-ai-lab.io/jp6/cu126"
LINUX = "cp312-cp312-manylinux_2_28_x86_64"
XTX = {"gpus": ("gfx1100",)}
H100 = {"gpus": ("9.0",), "driver": "580.65.06"}
MACBOOK: dict[str, Any] = {"gpus": ("Apple M1",), "platform": "osx-arm64", "macos": "15.1", "glibc": None}
ORIN: dict[str, Any] = {"l4t": "36.4.3", "platform": "linux-aarch64"}

Locks = Callable[..., Path]


def package(name: str, version: str, index: str, tag: str = LINUX) -> str:
    filename = f"{name.replace('-', '_')}-{version}-{tag}.whl"
    url = f"{index}/{filename.replace('+', '%2B')}"
    return (
        f'[[packages]]\nname = "{name}"\nversion = "{version}"\nindex = "{index}"\n'
        f'wheels = [{{ name = "{filename}", url = "{url}", size = 9, '
        f'hashes = {{ sha256 = "{sha256(filename.encode()).hexdigest()}" }} }}]\n'
    )


def lock(*packages: str) -> str:
    return "\n".join(('lock-version = "1.0"\ncreated-by = "uv"', *packages))


def of_amd(*devices: str) -> str:
    """A lock from AMD's own index: the code for a device is a package of its own."""
    parts = (
        package(f"amd-torch-device-{device}", "2.11.0", AMD, "cp312-cp312-linux_x86_64") for device in devices
    )
    return lock(package("torch", "2.11.0+rocm7.14.0", AMD, "cp312-cp312-linux_x86_64"), *parts)


LOCKS = {
    "cpu": lock(package("torch", "2.9.1+cpu", f"{TORCH}/cpu")),
    "cu126": lock(package("torch", "2.9.1+cu126", f"{TORCH}/cu126")),
    "rocm6.4": lock(package("torch", "2.9.1+rocm6.4", f"{TORCH}/rocm6.4")),
    "rocm7.2": lock(package("torch", "2.11.0+rocm7.2", f"{TORCH}/rocm7.2")),
    "xpu": lock(package("torch", "2.9.1+xpu", f"{TORCH}/xpu")),
    "mps": lock(package("torch", "2.9.1", PYPI, "cp312-none-macosx_11_0_arm64")),
    "npu": lock(
        package("torch", "2.7.1+cpu", f"{TORCH}/cpu", "cp312-cp312-manylinux_2_28_aarch64"),
        package("torch-npu", "2.7.1.post2", PYPI, "cp312-cp312-manylinux_2_28_aarch64"),
    ),
    "jetson": lock(package("torch", "2.8.0", JETSON, "cp310-cp310-linux_aarch64")),
    "gfx1010": of_amd("gfx1010"),
    "gfx1201": of_amd("gfx1201"),
}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    empty = tmp_path / "bin"
    empty.mkdir()
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")
    return {
        "PATH": str(empty), "HOME": str(tmp_path), "GPUENV_CACHE_DIR": str(tmp_path / "cache"),
        "GPUENV_DATA_DIR": str(tmp_path / "data"), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
        **nowhere,
    }  # fmt: skip


@pytest.fixture
def locks(tmp_path: Path) -> Locks:
    def written(*names: str) -> Path:
        folder = tmp_path / "locks"
        folder.mkdir()
        for name in names:
            (folder / f"pylock.{name.replace('.', '_')}.toml").write_text(LOCKS[name], encoding="utf-8")
        return folder

    return written


def options(**given: Any) -> PlanOptions:
    return PlanOptions(**{"platform": "linux-64", "glibc": "2.39", "offline": True, **given})


def planned(locks: Locks, environ: dict[str, str], name: str, **given: Any) -> Plan:
    (file,) = locks(name).iterdir()
    return plan_from_lock(file, options(**given), environ, target="/tmp/there")  # noqa: S108 - never made


@pytest.mark.parametrize(
    ("name", "machine", "variant"),
    [
        ("rocm6.4", XTX, "rocm6.4"),
        ("xpu", {"gpus": ("Arc B580",)}, "xpu"),
        ("mps", MACBOOK, "mps"),
        ("npu", {"gpus": ("Ascend 910B",), "platform": "linux-aarch64", "cann": "8.5.0"}, "npu"),
        ("jetson", ORIN, "cu126"),
        ("gfx1201", {"gpus": ("gfx1201",)}, "rocm7.14.0"),
        ("cpu", {"gpus": ("gfx1100",), "cuda": "cpu"}, "cpu"),
    ],
    ids=str,
)
def test_a_lock_of_a_kind_is_installed_where_that_kind_is(
    locks: Locks, environ: dict[str, str], name: str, machine: dict[str, Any], variant: str
) -> None:
    made = planned(locks, environ, name, **machine)
    assert made.variant == variant
    assert made.hashed is not None
    lines = Path(made.hashed).read_text(encoding="utf-8").splitlines()
    assert len(lines) == LOCKS[name].count("[[packages]]")
    assert all("--hash=sha256:" in line for line in lines)
    assert lines[0].startswith(f"torch @ {JETSON}/" if name == "jetson" else "torch==")


@pytest.mark.parametrize(
    ("name", "machine", "word"),
    [
        ("cpu", XTX, "CPU build; this machine has"),
        ("cu126", XTX, "build for cu126; this machine has"),
        ("rocm6.4", H100, "build for rocm6.4; this machine has"),
        ("rocm6.4", {"gpus": ("Arc B580",)}, "build for rocm6.4; this machine has"),
        ("xpu", XTX, "build for xpu; this machine has"),
        ("rocm6.4", {"gpus": ("gfx1150",)}, "gfx1150"),  # native from rocm7 on
        ("rocm6.4", {**XTX, "accelerator": "cuda"}, "no device that it is for"),
        ("gfx1201", XTX, "no code for gfx1100"),
        ("npu", {"platform": "linux-aarch64", "accelerator": "cpu"}, "torch_npu"),
        ("npu", {"gpus": ("gfx1100",), "platform": "linux-aarch64"}, "torch_npu"),
        ("mps", {**MACBOOK, "macos": "13.6", "accelerator": "mps"}, "14"),
        ("mps", {**MACBOOK, "macos": "10.15"}, "macosx"),
    ],
    ids=str,
)
def test_a_lock_of_another_kind_is_refused_with_the_facts(
    locks: Locks, environ: dict[str, str], name: str, machine: dict[str, Any], word: str
) -> None:
    with pytest.raises(GpuenvError) as caught:
        planned(locks, environ, name, **machine)
    error = caught.value
    assert (error.exit_code, error.code) == (3, "lock-unfit")
    assert word in " | ".join([error.message, *(reason.text for reason in error.because)])


@pytest.mark.parametrize(
    ("machine", "build"),
    [
        (XTX, "torch 2.11.0+rocm7.2"),
        ({"gpus": ("Arc B580",)}, "torch 2.9.1+xpu"),
        (H100, "torch 2.9.1+cu126"),
        ({"gpus": ("gfx1010",)}, "torch 2.11.0+rocm7.14.0"),
    ],
    ids=str,
)
def test_of_a_folder_the_lock_of_the_machines_kind_is_taken(
    locks: Locks, environ: dict[str, str], machine: dict[str, Any], build: str
) -> None:
    folder = locks("cpu", "cu126", "rocm6.4", "rocm7.2", "xpu", "gfx1010")
    chosen = choose_lock(folder, options(**machine), environ)
    assert chosen.build == build
    assert len(chosen.passed_over) == 5
