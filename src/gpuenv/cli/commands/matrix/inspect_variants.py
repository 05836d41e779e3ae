"""`gpuenv matrix inspect --preview variants`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.formats.wheel_variants import forced_lines, render_forced
from gpuenv.i18n.messages import tr
from gpuenv.matrix.inspect_variants import VariantInspection, inspect_variants
from gpuenv.resolution.wheel_variants.choose import JudgedVariant


def inspect(location: str, console: Console) -> int:
    """Print the variants of a wheel or a release, those that fit this machine first."""
    with console.working(tr("reading {place}", place=location)):
        inspection = inspect_variants(location, os.environ)
    if console.as_json:
        return console.print_json("matrix inspect", _data(inspection))
    print_data("\n".join(_lines(inspection)))
    return 0


def _data(inspection: VariantInspection) -> dict[str, Any]:
    return {
        "place": inspection.place,
        "variants": [
            {
                "label": item.variant.label,
                "properties": [
                    {"namespace": one.namespace, "feature": one.feature, "values": list(one.values)}
                    for one in item.variant.properties
                ],
                "fits": item.unfit is None,
                "why_not": item.unfit,
            }
            for item in inspection.variants
        ],
        "force": render_forced(inspection.forced),
    }


def _lines(inspection: VariantInspection) -> Iterator[str]:
    for item in inspection.variants:
        yield _line(item)
        for one in item.variant.properties:
            yield f"    {one}"
    yield from forced_lines(inspection.forced)


def _line(item: JudgedVariant) -> str:
    if item.unfit is None:
        return tr("{label} fits this machine", label=item.variant.label)
    return tr("{label} does not fit this machine: {why}", label=item.variant.label, why=item.unfit)
