"""Tell a Jetson: boards before Thor need NVIDIA's own wheels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuenv import matrices
from gpuenv.host.executables import FileTree, read_text

_CHIP = re.compile(r"nvidia,(tegra\d{2,3})")
_RELEASE = re.compile(r"#\s*R(\d{1,3}) \(release\)")


@dataclass(frozen=True, slots=True)
class Tegra:
    """A Tegra system: its board where it is known, and whether it needs NVIDIA's own wheels."""

    board: str
    own_wheels: bool
    source: str


def detect_tegra(root: FileTree) -> Tegra | None:
    """Tell from the device tree, or from the L4T release file, whether this is a Tegra."""
    tree = "proc/device-tree/compatible"
    chip = parse_chip(read_text(root / tree) or "")
    if chip:
        return _known(chip, f"/{tree}")
    release = read_text(root / "etc/nv_tegra_release")
    return _of_release(parse_release(release), "/etc/nv_tegra_release") if release is not None else None


def parse_chip(text: str) -> str | None:
    r"""Parse the device tree's list, `nvidia,p3737-0000\0nvidia,tegra234`, to `tegra234`, if it names one."""
    match = _CHIP.search(text)
    return match[1] if match else None


def parse_release(text: str) -> int | None:
    """Parse `# R35 (release), REVISION: 4.1, GCID: ...` to 35; None for anything else."""
    match = _RELEASE.search(text)
    return int(match[1]) if match else None


def _known(chip: str, source: str) -> Tegra:
    row = next((row for row in matrices.load("tegra") if row["chip"] == chip), None)
    return (
        Tegra(row["board"], row["wheels"] == "nvidia", source)
        if row
        else Tegra(chip, own_wheels=False, source=source)
    )


def _of_release(release: int | None, source: str) -> Tegra:
    """Without a device tree (in a container) only the release tells: it must be one that Thor has."""
    first = min(row["first_release"] for row in matrices.load("tegra") if "first_release" in row)
    return Tegra("Jetson", release is None or release < first, source)
