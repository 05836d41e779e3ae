"""A repository that was written for CUDA, adapted to machines with other accelerators."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import Program

WRITTEN = """\
--extra-index-url https://download.pytorch.org/whl/cu118
torch==2.1.0+cu118
torchvision==0.16.0+cu118
numpy<2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "requirements.txt").write_text(WRITTEN, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("machine", "lines", "gone"),
    [
        (
            ("--gpu", "RX 7900 XTX"),
            ("torch==2.1.0+rocm5.6", "torchvision==0.16.0+rocm5.6", "whl/pytorch-triton-rocm/"),
            ("cu118",),
        ),
        (("--gpu", "Arc B580"), ("torch==2.7.0+xpu", "whl/pytorch-triton-xpu/"), ("cu118",)),
        (("--gpu", "M2", "--macos", "14.5"), ("torch==2.1.0\n",), ("cu118", "--find-links")),
        (("--gpu", "RX 580"), ("torch==2.1.0+cpu",), ("cu118",)),
        (("--gpu", "RTX 3090"), (WRITTEN,), ()),
    ],
    ids=("rocm", "xpu", "mps", "without-a-build", "cuda"),
)
def test_the_torch_of_the_machine_s_kind_stands_in_for_cuda_s(
    program: Program, project: Path, machine: tuple[str, ...], lines: tuple[str, ...], gone: tuple[str, ...]
) -> None:
    done = program.run("plan", "--adapt", project, "--write", "--offline", *machine)
    assert done.status == 0, done.err
    text = (project / "requirements.txt").read_text(encoding="utf-8")
    assert all(line in text for line in lines), text
    assert not any(word in text for word in gone), text
