"""`gpuenv matrix inspect`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.i18n.messages import series, tr
from gpuenv.matrix.inspect_wheel import Inspection, SupportedGeneration, inspect_wheel
from gpuenv.resolution.gpu_coverage import DriverNeed

_MOST_NAMES = 6


def inspect(location: str, console: Console, *, thorough: bool) -> int:
    """Print what a wheel is, needs and runs on."""
    with console.working(tr("reading {place}", place=location)):
        inspection = inspect_wheel(location, os.environ, thorough=thorough)
    if console.as_json:
        return console.print_json("matrix inspect", _data(inspection))
    print_data("\n".join(_lines(inspection, verbose=console.verbose)))
    return 0


def _data(inspection: Inspection) -> dict[str, Any]:
    facts = inspection.facts
    return {
        "wheel": inspection.place,
        "project": facts.metadata.name,
        "version": str(facts.version),
        "variant": str(facts.variant) if facts.variant else None,
        "cuda": str(facts.variant.cuda) if facts.variant and facts.variant.cuda else None,
        "cudnn": facts.cudnn,
        "architectures": [str(item) for item in facts.architectures],
        "targets": list(facts.targets),
        "least_macos": facts.least_macos,
        "platform": facts.platform,
        "pythons": list(facts.pythons),
        "tags": list(facts.tags),
        "wheel_tags": list(facts.wheel_tags),
        "requires_python": facts.metadata.requires_python,
        "requires": list(facts.metadata.requires),
        "gpus": [_generation_data(item) for item in inspection.generations],
        "chips": [
            {"kind": row.kind, "architecture": row.architecture, "products": list(row.products)}
            for row in inspection.chips
        ],
        "drivers": [
            {
                "os": item.os,
                "least": str(item.least),
                "native": str(item.native) if item.native else None,
                "source": item.source,
            }
            for item in inspection.drivers
        ],
        "evidence": "assumed" if facts.missing else "wheel",
        "missing": [*facts.missing, *facts.remarks],
        "received": inspection.received,
    }


def _generation_data(item: SupportedGeneration) -> dict[str, Any]:
    return {
        "architecture": item.architecture,
        "compute_capabilities": [str(capability) for capability in item.capabilities],
        "through": item.through,
        "names": list(item.names),
    }


def _lines(inspection: Inspection, *, verbose: bool) -> Iterator[str]:
    facts = inspection.facts
    variant = f" ({facts.variant})" if facts.variant else ""
    yield tr(
        "{project} {version}{variant}", project=facts.metadata.name, version=facts.version, variant=variant
    )
    yield tr("  for Python {pythons} on {tags}", pythons=" ".join(facts.pythons), tags=" ".join(facts.tags))
    if facts.variant and facts.variant.cuda:
        cudnn = facts.cudnn or tr("not listed: it brings its own or needs none")
        yield tr("  CUDA {cuda}, cuDNN {cudnn}", cuda=facts.variant.cuda, cudnn=cudnn)
    if facts.architectures:
        yield tr("  compiled for {list}", list=" ".join(map(str, facts.architectures)))
    yield from _chip_lines(inspection)
    for generation in inspection.generations:
        yield _generation_line(generation, verbose=verbose)
    for driver in inspection.drivers:
        yield _driver_line(driver, ptx=any(item.kind == "compute" for item in facts.architectures))
    for text in (*facts.missing, *facts.remarks):
        yield tr("  could not be determined: {what}", what=text)
    if facts.metadata.requires_python:
        yield tr("  requires Python {specifier}", specifier=facts.metadata.requires_python)
    for line in facts.metadata.requires:
        if "extra ==" in line and not verbose:
            continue
        yield tr("  requires {requirement}", requirement=line)


def _chip_lines(inspection: Inspection) -> Iterator[str]:
    facts = inspection.facts
    if facts.targets:
        yield tr("  compiled for {list}", list=" ".join(facts.targets))
    for row in inspection.chips:
        line = tr(
            "  runs on {architecture} ({capabilities})", architecture=row.chip, capabilities=row.architecture
        )
        yield f"{line}: {', '.join(row.products)}"
    if facts.least_macos:
        yield tr("  needs macOS {least} or newer", least=facts.least_macos)


def _generation_line(item: SupportedGeneration, *, verbose: bool) -> str:
    line = tr(
        "  runs on {architecture} ({capabilities})",
        architecture=item.architecture,
        capabilities=series(map(str, item.capabilities)),
    )
    if item.through == "ptx":
        line = tr("{line} through PTX", line=line)
    return f"{line}: {_names(item, verbose=verbose)}" if item.names else line


def _names(item: SupportedGeneration, *, verbose: bool) -> str:
    """The names people know are short."""
    names = list(item.names) if verbose else sorted(item.names, key=len)[:_MOST_NAMES]
    more = len(item.names) - len(names)
    return series([*names, tr("and {count} more", count=more)] if more else names)


def _driver_line(item: DriverNeed, *, ptx: bool) -> str:
    systems = {"linux": "Linux", "windows": tr("Windows, WSL2")}
    needs = tr("  needs driver {least} or newer on {system}", least=item.least, system=systems[item.os])
    if not ptx or item.native in (None, item.least):
        return needs
    return tr("{needs}; {native} for PTX", needs=needs, native=item.native)
