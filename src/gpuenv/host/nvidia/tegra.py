"""Detect a Jetson: boards before Thor need NVIDIA's own wheels."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuenv import matrices
from gpuenv.host.executables import FileTree, read_text
from gpuenv.model.capability import ComputeCapability, parse_compute_capability
from gpuenv.model.machine import Gpu

RELEASE_FILE = "etc/nv_tegra_release"
_L4T = re.compile(r"#\s*R(\d{1,3}) \(release\), REVISION: (\d{1,3}(?:\.\d{1,3})?)", re.ASCII)
_CHIP = re.compile(r"nvidia,(tegra\d{2,3})")
_RELEASE = re.compile(r"#\s*R(\d{1,3}) \(release\)")


class Tegra(Struct, frozen=True):
    """A Tegra system: its board, and whether it needs NVIDIA's own wheels."""

    board: str
    own_wheels: bool
    source: str
    release: str | None = None  # of L4T
    capability: ComputeCapability | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The GPU that the chip has, whether or not a program names it; None where the chip is not known."""
        return Gpu(0, self.board, self.capability) if self.capability else None


def detect_tegra(root: FileTree) -> Tegra | None:
    """Detect a Tegra by the device tree, or in a container by the L4T release file."""
    tree = "proc/device-tree/compatible"
    rows = matrices.load("tegra")
    text = read_text(root / RELEASE_FILE)
    l4t = parse_l4t(text or "")
    if chip := parse_chip(read_text(root / tree) or ""):
        row = next((row for row in rows if row["chip"] == chip), {})
        capability = parse_compute_capability(row["compute_capability"]) if row else None
        board, own_wheels = row.get("board", chip), row.get("wheels") == "nvidia"
        return Tegra(board, own_wheels, f"/{tree}", l4t, capability)
    if text is None:
        return None
    release = parse_release(text)
    first = min(row["first_release"] for row in rows if "first_release" in row)  # of Thor
    return Tegra("Jetson", release is None or release < first, f"/{RELEASE_FILE}", l4t)


def parse_chip(text: str) -> str | None:
    r"""Parse the device tree's list, `nvidia,p3737-0000\0nvidia,tegra234`, to `tegra234`, if it names one."""
    match = _CHIP.search(text)
    return match[1] if match else None


def parse_release(text: str) -> int | None:
    """Parse `# R35 (release), REVISION: 4.1, GCID: ...` to 35; None for anything else."""
    match = _RELEASE.search(text)
    return int(match[1]) if match else None


def parse_l4t(text: str) -> str | None:
    """Parse `# R36 (release), REVISION: 4.3, GCID: ...` to 36.4.3; None for anything else."""
    match = _L4T.search(text)
    return f"{match[1]}.{match[2]}" if match else None
