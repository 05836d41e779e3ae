"""The tables of accelerators that were shipped: what they say, and that it is the facts'."""

from __future__ import annotations

import pytest
from packaging.version import Version

from gpuenv import matrices
from gpuenv.knowledge.accelerators import AcceleratorBuild, Accelerators
from gpuenv.matrix_checks.run import check_matrices

TABLES = Accelerators(matrices.load)


def builds(torch: str, variant: str, platform: str, index: str) -> list[AcceleratorBuild]:
    """The builds of one release, variant, platform and index."""
    wanted = (Version(torch), variant, platform, index)
    return [row for row in TABLES.builds if (row.torch, row.variant, row.platform, row.index) == wanted]


def test_they_agree_with_each_other() -> None:
    """No row of one contradicts one of another."""
    assert not check_matrices({table: matrices.load(table) for table in matrices.ACCELERATORS})


@pytest.mark.parametrize(
    ("pci", "revision", "name", "architecture"),
    [
        ("744c", "c8", "AMD Radeon RX 7900 XTX", "gfx1100"),
        ("744c", "cc", "AMD Radeon RX 7900 XT", "gfx1100"),
        ("67df", "e7", "AMD Radeon RX 580 Series", "gfx803"),
        ("7550", "c0", "AMD Radeon RX 9070 XT", "gfx1201"),
    ],
)
def test_an_amd_card_is_known_by_id_and_revision(
    pci: str, revision: str, name: str, architecture: str
) -> None:
    """The revision tells products of one id apart."""
    device = TABLES.device("1002", pci, revision)
    assert device is not None
    assert (device.name, device.architecture) == (name, architecture)


def test_a_card_of_an_unknown_revision_is_still_of_its_chip() -> None:
    """Of a revision without a row the chip is known."""
    device = TABLES.device("1002", "744c", "ff")
    assert device is not None
    assert device.architecture == "gfx1100"


@pytest.mark.parametrize(
    ("pci", "architecture", "supported"),
    [("e20b", "20.1.0", True), ("56a0", "12.55.8", True), ("4680", "12.2.0", False), ("3e92", "gen9", False)],
)
def test_an_intel_gpu_is_told_from_older_graphics(pci: str, architecture: str, supported: bool) -> None:
    """Arc has builds, UHD has none."""
    device = TABLES.device("8086", pci, None)
    assert device is not None
    assert device.architecture == architecture
    assert TABLES.architectures[architecture].supported is supported


def test_a_product_is_called_as_people_call_it() -> None:
    """A name without the vendor's and without `Series` leads to the same card."""
    named = {name: row for row in TABLES.devices for name in (row.name, *row.names)}
    assert named["Radeon RX 580"].architecture == "gfx803"
    assert named["Arc B580"].architecture == "20.1.0"
    assert named["M1"].architecture == "M1"
    assert named["Ascend 910B3"].architecture == "Ascend910B"
    assert named["Instinct MI50"].architecture == "gfx906"


def test_rocm_releases_sort_as_numbers() -> None:
    """ROCm 7.14 is newer than 7.2: of torch 2.14.1 its build comes last."""
    assert [
        row.variant for row in TABLES.builds if row.torch == Version("2.14.1") and row.kind == "rocm"
    ] == [
        "rocm7.2",
        "rocm7.14",
    ]


@pytest.mark.parametrize(
    ("torch", "variant", "gfx", "has_code"),
    [
        ("2.6.0", "rocm6.2.4", "gfx1201", False),
        ("2.7.1", "rocm6.2.4", "gfx1201", True),
        ("2.12.1", "rocm7.2", "gfx1103", False),
        ("2.13.0", "rocm7.2", "gfx1103", True),
        ("2.13.0", "rocm7.2", "gfx906", True),
        ("2.14.0", "rocm7.14", "gfx906", False),
        ("2.14.0", "rocm7.2", "gfx1032", False),
    ],
)
def test_code_is_told_by_release_and_rocm(torch: str, variant: str, gfx: str, has_code: bool) -> None:
    """Neither the release nor the folder alone tells for which chips there is code."""
    (build,) = builds(torch, variant, "linux-64", "pytorch")
    assert build.has_code_for(TABLES.architectures[gfx]) is has_code


def test_amds_own_index_has_chips_by_extras() -> None:
    """AMD's index has code for the RX 6600 by an extra, on Linux and on Windows."""
    for platform in ("linux-64", "win-64"):
        (build,) = builds("2.12.0", "rocm7.14.0", platform, "amd")
        chip = TABLES.architectures["gfx1032"]
        assert build.extra
        assert build.has_code_for(chip)
        assert chip.extra == "device-gfx1032"


def test_code_of_intels_base_chip_runs_on_its_kin() -> None:
    """Lunar Lake runs code of Battlemage; Meteor Lake-U has none in Linux builds."""
    (linux,) = builds("2.13.0", "xpu", "linux-64", "pytorch")
    assert linux.has_code_for(TABLES.architectures["20.4.4"])
    assert not linux.has_code_for(TABLES.architectures["12.70.4"])
    (windows,) = builds("2.13.0", "xpu", "win-64", "pytorch")
    assert windows.has_code_for(TABLES.architectures["12.70.4"])


def test_macos_has_two_floors() -> None:
    """Of torch 2.11 a wheel installs on macOS 11, and MPS works from 14; x86_64 ends at 2.2.2."""
    (build,) = builds("2.11.0", "mps", "osx-arm64", "pypi")
    assert (build.requires.macos, build.requires.mps) == ("11.0", "14.0")
    (build,) = builds("2.8.0", "mps", "osx-arm64", "pypi")[:1]
    assert (build.requires.macos, build.requires.mps) == ("11.0", "13.0")
    assert max(row.torch for row in TABLES.builds if row.platform == "osx-64") == Version("2.2.2")


def test_torch_npu_goes_with_one_torch_and_cann() -> None:
    """torch_npu 2.6.0.post3 is for torch 2.6.0 and CANN 8.3.RC1."""
    found = [row for row in builds("2.6.0", "npu", "linux-aarch64", "pypi") if row.requires.cann == "8.3.RC1"]
    assert [str(row.torch_npu) for row in found] == ["2.6.0.post3"]


def test_the_kernel_module_counts_otherwise_than_rocm() -> None:
    """/sys/module/amdgpu/version 6.2.4 is the driver of ROCm 5.7."""
    assert TABLES.driver_modules["6.2.4"] == ("5.7",)
    windows = {row.driver: row for row in TABLES.driver_windows}
    assert "6.1" in windows["5.7"].rocm


def test_jetson_linux_leads_to_an_index() -> None:
    """L4T 36.4.3 is JetPack 6.2, whose torch is on the community's index for CUDA 12.6."""
    release = next(row for row in TABLES.jetsons if row.l4t == "36.4.3")
    assert (release.jetpack, release.cuda, release.python) == ("6.2", "12.6", "3.10")
    assert release.torch_from[0].folder == "jp6/cu126"


def test_known_bad_conditions_are_values() -> None:
    """gfx906 is kept from ROCm 6.4 on, where BLAS has no code for it."""
    row = next(row for row in TABLES.known_bad if row.id == "gfx906-rocm64")
    assert row.forbid
    assert row.when[0].architectures == ("gfx906",)
    assert row.when[0].rocm == ">=6.4"
