"""What other vendors' files and programs tell is read, or left out: no text makes a reader fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuenv.formats.machine import render_machine_text
from gpuenv.host.accelerators.amd import gfx_of, parse_node
from gpuenv.host.accelerators.apple import parse_sysctl, read_apple
from gpuenv.host.accelerators.ascend import parse_cann, parse_npu_smi
from gpuenv.host.accelerators.windows import parse_controllers
from gpuenv.host.nvidia.tegra import parse_l4t
from gpuenv.host.pci import parse_modalias
from gpuenv.host.system import parse_kernel
from gpuenv.model.accelerator import Accelerator
from gpuenv.model.machine import Machine, System


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (110000, "gfx1100"), (90010, "gfx90a"), (90402, "gfx942"), (80003, "gfx803"), (120001, "gfx1201"),
        (100306, "gfx1036"), (110501, "gfx1151"), (0, None), (9, None), (91699, None),
    ],
)  # fmt: skip
def test_the_kernels_number_is_an_architecture(target: int, name: str | None) -> None:
    assert gfx_of(target) == name


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("version=8.2.RC1\n", "8.2.RC1"), ("a=1\nversion=8.0.0.alpha003\n", "8.0.0.alpha003"),
        ("version=7.0.1.1\n", None), ("version=8\n", None), ("", None),
    ],
)  # fmt: skip
def test_the_release_of_cann_is_read(text: str, release: str | None) -> None:
    assert parse_cann(text) == release


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("# R36 (release), REVISION: 4.3, GCID: 38968081", "36.4.3"),
        ("# R35 (release), REVISION: 4.1, GCID: 33958178", "35.4.1"),
        ("# R39 (release), REVISION: 2, GCID: 1", "39.2"),
        ("R36", None),
    ],
)
def test_the_release_of_jetson_linux_is_read(text: str, release: str | None) -> None:
    assert parse_l4t(text) == release


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.8.0-45-generic\n", "6.8.0-45-generic"),
        ("5.15.133.1-microsoft-standard-WSL2", "5.15.133.1-microsoft-standard-WSL2"),
        ("Linux version 5.4.0-1 (gcc)", "5.4.0-1"),
        ("\x1b[31m", None),
    ],
)
def test_the_kernel_is_read(text: str, release: str | None) -> None:
    assert parse_kernel(text) == release


PARSERS: tuple[Callable[[str], object], ...] = (
    parse_node, lambda text: list(parse_npu_smi(text)), parse_cann, parse_l4t, parse_kernel, parse_modalias,
    parse_controllers, lambda text: read_apple(parse_sysctl(text)),
)  # fmt: skip
PIECES = st.sampled_from(
    ["simd_count ", "vendor_id 4098\n", "gfx_target_version ", "| 0 ", "910B4", " | OK | ", "0000:C1:00.0",
     "/", "hw.optional.arm64: 1\n", "machdep.cpu.brand_string: Apple M", '{"PNPDeviceID": "PCI',
     "version=", "\n", "9"]
)  # fmt: skip


@given(st.text() | st.lists(PIECES | st.text(max_size=5)).map("".join), st.sampled_from(PARSERS))
def test_no_text_makes_a_reader_fail(text: str, parse: Callable[[str], object]) -> None:
    parse(text)


def test_the_devices_of_all_vendors_are_in_the_text() -> None:
    machine = Machine(
        System("linux", "x86_64", macos="15.1"),
        accelerators=(
            Accelerator("rocm", "AMD", 0, "AMD Radeon RX 7900 XTX", "gfx1100", 24560),
            Accelerator("rocm", "AMD", 1, "AMD Radeon RX 7900 XTX", "gfx1100", visible=False),
            Accelerator("mps", "Apple", 0, "Apple M1", "M1"),
            Accelerator(None, "Google", 0, pci_id="0063"),
        ),
        amdgpu="6.12.12",
        l4t="36.4.3",
        cann="8.2.RC1",
    )
    devices = "2 x AMD Radeon RX 7900 XTX (gfx1100), Apple M1, Google device (PCI id 0063)"
    assert render_machine_text(machine).splitlines() == [
        f"{devices}, no NVIDIA GPU, linux x86_64",
        "  AMD 0: AMD Radeon RX 7900 XTX (gfx1100), rocm, 24560 MiB",
        "  AMD 1: AMD Radeon RX 7900 XTX (gfx1100), rocm, hidden by a variable",
        "  Apple 0: Apple M1, mps",
        "  Google 0: Google device (PCI id 0063), nothing is planned for it",
        "linux 15.1 x86_64",
        "AMD's kernel driver 6.12.12",
        "Jetson Linux (L4T) 36.4.3",
        "CANN 8.2.RC1",
    ]
