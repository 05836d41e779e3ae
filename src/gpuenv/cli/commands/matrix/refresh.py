"""`gpuenv matrix refresh`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gpuenv.cli.console import Console
from gpuenv.cli.output import print_data
from gpuenv.cli.progress import Display, display
from gpuenv.i18n.messages import tr
from gpuenv.matrix.refresh import Read, Refreshed, RefreshOptions, refresh
from gpuenv.matrix_checks.refresh_targets import WheelTarget


def run(options: RefreshOptions, console: Console) -> int:
    """Read what the matrices do not have, and print what was found."""
    with display(quiet=console.quiet) as shown:
        refreshed = refresh(options, os.environ, _Reading(shown))
    if console.as_json:
        return console.print_json("matrix refresh", _data(refreshed, options), refreshed.warnings)
    console.warn(refreshed.warnings)
    lines = [*_lines(refreshed, options)]
    if lines:
        print_data("\n".join(lines))
    console.note(_summary(refreshed, options))
    return 0


def _lines(refreshed: Refreshed, options: RefreshOptions) -> Iterator[str]:
    if options.dry_run:
        for target in refreshed.targets:
            yield tr("{label}: {file}", label=target.label, file=target.file.filename)
        return
    for item in refreshed.read:
        yield _read_line(item)


def _read_line(item: Read) -> str:
    if item.row is None:
        return tr("{label}: not read: {problem}", label=item.target.label, problem=item.problem)
    answer = item.row.get("architectures") or item.row.get("targets") or item.row.get("pythons", ())
    line = tr(
        "{label}: {variant} {told}", label=item.target.label, variant=_variant(item), told=" ".join(answer)
    )
    if item.row["evidence"] == "assumed":
        line = tr("{line} (assumed: {note})", line=line, note=item.row.get("note"))
    return line


def _variant(item: Read) -> str:
    row = item.row or {}
    return str(row.get("variant") or " ".join(row.get("pypi_cuda", {}).values()) or "-")


def _summary(refreshed: Refreshed, options: RefreshOptions) -> str:
    if options.dry_run:
        return tr("{count} wheels would be read", count=len(refreshed.targets))
    if not refreshed.targets:
        return tr("the matrices have everything that the indexes list")
    return tr(
        "{count} wheels read, {size:.1f} MB received; written to {place}",
        count=sum(item.row is not None for item in refreshed.read),
        size=refreshed.received / 1e6,
        place=refreshed.directory,
    )


def _data(refreshed: Refreshed, options: RefreshOptions) -> dict[str, Any]:
    return {
        "directory": str(refreshed.directory),
        "dry_run": options.dry_run,
        "targets": [_target_data(target) for target in refreshed.targets],
        "read": [
            {**_target_data(item.target), "row": item.row, "problem": item.problem, "received": item.received}
            for item in refreshed.read
        ],
        "received": refreshed.received,
    }


def _target_data(target: WheelTarget) -> dict[str, Any]:
    return {
        "project": target.project,
        "version": str(target.version),
        "variant": str(target.variant) if target.variant else None,
        "platform": target.platform,
        "index": target.index,
        "filename": target.file.filename,
    }


class _Reading(Struct):
    """A bar of wheels, with the one that came last."""

    shown: Display
    received: int = 0

    def begin(self, count: int) -> None:
        """Draw the bar."""
        self.shown.draw("count", tr("reading wheels"), count)

    def done(self, read: Read) -> None:
        """Move it on."""
        self.received += read.received
        text = tr("{label}, {size:.1f} MB", label=read.target.label, size=self.received / 1e6)
        self.shown.move(1, description=text)
