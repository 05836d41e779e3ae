"""Builds for ROCm, XPU, macOS and Ascend as a table of the page, which needs no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from gpuenv.i18n.messages import series, tr
from gpuenv.knowledge.accelerators import AcceleratorBuild, Accelerators


def render_other_builds(accelerators: Accelerators) -> str:
    """Return a closed section with every build that is not for CUDA or the CPU alone, the newest first."""
    builds = [build for build in reversed(accelerators.builds) if build.kind != "cpu"]
    columns = (
        "torch", tr("variant"), tr("platform"), tr("index"), tr("has code for"), tr("needs"), tr("evidence")
    )  # fmt: skip
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in _cells(build))}</tr>" for build in builds
    )
    title = escape(tr("{count} builds for ROCm, XPU, MPS and Ascend NPUs", count=len(builds)))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<details id="others"><summary>{title}</summary>{table}</details>'


def _cells(build: AcceleratorBuild) -> tuple[str, ...]:
    code = " ".join(build.targets)
    if build.extra:
        code = tr("{targets} (by an extra)", targets=code)
    needs = series(_needs(build))
    return str(build.torch), build.variant, build.platform, build.index, code, needs, build.evidence


def _needs(build: AcceleratorBuild) -> Iterator[str]:
    if build.requires.macos:
        yield f"macOS {build.requires.macos}"
    if build.requires.mps and build.requires.mps != build.requires.macos:
        yield tr("macOS {release} for MPS", release=build.requires.mps)
    if build.torch_npu:
        yield f"torch_npu {build.torch_npu}"
    if build.requires.cann:
        yield f"CANN {build.requires.cann}"
